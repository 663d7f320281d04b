"""The pages are true to the tree: links lead somewhere, code compiles, dependencies are those declared."""

from __future__ import annotations

import ast
import re
import runpy
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from docutils import nodes
from docutils.core import publish_doctree

import psitext
from docs_blocks import DOCS, ROOT, SITE, below, called

PAGES = sorted([*ROOT.glob("*.md"), *SITE])
NAMES = [called(page) for page in PAGES]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_law_links_lead_somewhere(page: Path) -> None:
    targets = [target.partition("#")[0] for target in LINK.findall(page.read_text(encoding="utf-8"))]
    local = [target for target in targets if target and "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_law_anchors_lead_to_headings(page: Path) -> None:
    missing = []
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        file, _, anchor = target.partition("#")
        there = page.parent / file if file else page
        if anchor and "://" not in target and there.suffix == ".md" and anchor not in anchors(there):
            missing.append(target)
    assert missing == []


def test_law_every_page_is_reached_from_the_index() -> None:
    found, ahead = set(), [DOCS / "index.md"]
    while ahead:
        page = ahead.pop()
        assert page not in found, f"{called(page)} stands in two toctrees"
        found.add(page)
        ahead += below(page)
    assert found == set(SITE)


def test_law_the_reference_has_every_public_name_and_modules_that_are_there() -> None:
    shown = set(re.findall(r"^\.\. auto\w+:: psitext\.(\w+)$", (DOCS / "api" / "index.md").read_text(), re.MULTILINE))
    assert shown | {"quantum"} == set(psitext.__all__)
    rooms = runpy.run_path(str(DOCS / "_ext" / "reference.py"))["ROOMS"]
    paths = [name.replace(".", "/") for _, names in rooms.values() for name in names.split()]
    assert [path for path in paths if not (ROOT / "src" / "psitext" / f"{path}.py").is_file()] == []
    pages = re.findall(r"^generated/(\w+)$", (DOCS / "api" / "index.md").read_text(), re.MULTILINE)
    assert pages == list(rooms)


def test_known_docstrings_become_restructured_text() -> None:
    restructured = runpy.run_path(str(DOCS / "_ext" / "docstrings.py"))["restructured"]
    text = "A ket |psi>, a* and x_t:\n\n    U = exp(iH)\n\n- one ``a_b``\n  goes on\n- two"
    found = "\n".join(restructured(text.split("\n")))
    assert "A ket \\|psi>, a\\* and x\\_t:" in found
    assert "::\n\n        U = exp(iH)\n" in found
    assert "- one ``a_b``\n  goes on\n- two" in found
    tree = publish_doctree(found, settings_overrides={"report_level": 1, "halt_level": 1})
    assert [node.astext() for node in tree.findall(nodes.literal_block)] == ["    U = exp(iH)".strip()]
    assert [node.astext() for node in tree.findall(nodes.list_item)] == ["one a_b\ngoes on", "two"]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_law_the_tests_that_a_page_names_are_there(page: Path) -> None:
    named = set(re.findall(r"`(test_(?:known|law|parity|smoke)_\w+)`", page.read_text(encoding="utf-8")))
    assert sorted(named - all_tests()) == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_law_python_on_a_page_compiles(page: Path) -> None:
    for code in FENCE.findall(page.read_text(encoding="utf-8")):
        ast.parse(code)


def test_law_every_module_has_its_place_in_the_reading_order() -> None:
    page = (ROOT / "docs" / "reading.md").read_text(encoding="utf-8")
    linked = {(ROOT / "docs" / target).resolve() for target in LINK.findall(page)}
    modules = {path for path in (ROOT / "src").rglob("*.py") if path.name not in ("__init__.py", "__main__.py")}
    assert sorted(str(path.relative_to(ROOT)) for path in modules - linked) == []


def test_known_dependencies_have_their_reasons() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = {(bare(line), "") for line in project["dependencies"]}
    declared |= {(bare(line), extra) for extra, lines in extras.items() for line in lines}
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in page.splitlines()]
    rows = [row for row in rows if len(row) > 1 and row[0] not in ("package", "---")]
    assert {(row[0], row[1] if len(row) == 3 else "") for row in rows} == declared


def test_law_everything_that_is_imported_has_its_reason() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    imported = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module)
    others = {name.partition(".")[0] for name in imported} - sys.stdlib_module_names - {"psitext"}
    named = {{"sklearn": "scikit-learn"}.get(name, name) for name in others}
    assert "torch" in named
    assert sorted(name for name in named if f"`{name}`" not in page) == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_law_make_has_the_targets_that_a_page_names(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = re.findall(r"(?:`|^\$ |^ {4})make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(set(named) - targets) == []


def test_law_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pins = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9A-Za-z.]*", pin)] == []
    assert {bare(line) for line in lines} - {bare(pin) for pin in pins} == set()


@cache
def all_tests() -> frozenset[str]:
    """The names of all tests."""
    files = (ROOT / "tests").rglob("*.py")
    return frozenset(name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE))


@cache
def anchors(page: Path) -> frozenset[str]:
    """The headings of a page as GitHub and the site name them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = [
        re.sub(r"[`*]", "", heading).strip().lower() for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    ]
    return frozenset(re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings)


def bare(requirement: str) -> str:
    """``torch>=2.9`` -> ``torch``; case, dots and underscores count as pip counts them."""
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=!~\[ ]", requirement)[0]).lower()
