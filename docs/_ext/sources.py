"""Links from pages to files of the repository: on the site each such file is a page of its own, with line numbers."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.util import logging

logger = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parents[2]
LIGHT, DARK = HtmlFormatter(style="friendly"), HtmlFormatter(style="monokai")
STYLE = f"""{LIGHT.get_style_defs(".highlight")}
body {{ margin: 1.5rem; font-family: system-ui, sans-serif; }}
pre {{ overflow-x: auto; font-size: .875rem; line-height: 1.45; }}
@media (prefers-color-scheme: dark) {{
body {{ background: #131416; color: #ddd; }} a {{ color: #8ab4f8; }}
{DARK.get_style_defs(".highlight")}
}}
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{name}</title>
<link rel="stylesheet" href="{up}_static/source.css">
</head><body><p><a href="{up}index.html">psitext</a> / {name}</p>{code}</body></html>
"""


def linked(app: Any, doctree: nodes.document) -> None:
    """Point links to files and folders at their pages, before Sphinx makes downloads of them, or misses them."""
    docname = app.env.docname
    missed = [node for node in doctree.findall(addnodes.pending_xref) if str(node["reftarget"]).startswith("../")]
    for node in [*doctree.findall(addnodes.download_reference), *missed]:
        there = (Path(app.srcdir) / docname).parent.joinpath(str(node["reftarget"])).resolve()
        folder = isinstance(node, addnodes.pending_xref)
        if not there.is_relative_to(ROOT) or not (there.is_dir() if folder else there.is_file()):
            continue
        files = [file for file in sorted(there.iterdir()) if file.is_file()] if folder else [there]
        names = [file.relative_to(ROOT).as_posix() for file in files]
        app.env.psitext_sources.setdefault(docname, set()).update(names)
        page = f"{there.relative_to(ROOT).as_posix()}/index" if folder else names[0]
        uri = "../" * docname.count("/") + f"source/{page}.html"
        node.replace_self(nodes.reference("", "", *node.children, refuri=uri, internal=True))


def write(app: Any, exception: Exception | None) -> None:
    """A page for every file that some page links."""
    if exception is not None or app.builder.format != "html":
        return
    (Path(app.outdir) / "_static" / "source.css").write_text(STYLE, encoding="utf-8")
    formatter = HtmlFormatter(linenos="inline", lineanchors="line")
    listed: dict[str, list[str]] = {}
    for name in sorted(set().union(*app.env.psitext_sources.values())):
        if not (ROOT / name).is_file():  # taken away since the page that links it was read
            logger.warning("%s is linked by a page and is gone", name)
            continue
        try:
            lexer = get_lexer_for_filename(name)
        except ClassNotFound:
            lexer = TextLexer()
        put(app, name, highlight((ROOT / name).read_text(encoding="utf-8"), lexer, formatter))
        folder, _, last = name.rpartition("/")
        listed.setdefault(folder, []).append(f'<li><a href="{escape(last)}.html">{escape(last)}</a></li>')
    for folder, rows in listed.items():
        put(app, f"{folder}/index", f"<ul>{''.join(rows)}</ul>")


def put(app: Any, name: str, body: str) -> None:
    """Write one page."""
    file = Path(app.outdir) / "source" / f"{name}.html"
    file.parent.mkdir(parents=True, exist_ok=True)
    up = "../" * (name.count("/") + 1)
    file.write_text(PAGE.format(name=escape(name), up=up, code=body), encoding="utf-8")


def begin(app: Any, env: Any, docnames: object) -> None:
    """Keep what is linked with the environment, so that a second build knows the links of pages it does not read."""
    if not hasattr(env, "psitext_sources"):
        env.psitext_sources = {}


def forget(app: Any, env: Any, docname: str) -> None:
    """A page that is read anew tells its links anew."""
    getattr(env, "psitext_sources", {}).pop(docname, None)


def setup(app: Any) -> dict[str, bool]:
    """Before the collectors of downloads (500)."""
    app.connect("env-before-read-docs", begin)
    app.connect("env-purge-doc", forget)
    app.connect("doctree-read", linked, priority=400)
    app.connect("build-finished", write)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
