"""The pages are true to the tree: links lead somewhere, code compiles, dependencies are those declared."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_law_links_lead_somewhere(page: Path) -> None:
    targets = [target.partition("#")[0] for target in LINK.findall(page.read_text(encoding="utf-8"))]
    local = [target for target in targets if target and "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


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


def bare(requirement: str) -> str:
    """``torch>=2.9`` -> ``torch``; case, dots and underscores count as pip counts them."""
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=!~\[ ]", requirement)[0]).lower()
