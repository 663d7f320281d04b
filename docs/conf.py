"""The site of the docs: ``make docs`` builds it from these pages and from the docstrings, without a network."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(Path(__file__).parent / "_ext")]
os.environ.setdefault("SOURCE_DATE_EPOCH", "0")  # no page says when it was built
os.environ.pop("PSITEXT_DATA", None)

project = "psitext"
author = "The psitext authors"
project_copyright = author
version = re.findall(r'^__version__ = "(.+)"', (ROOT / "src/psitext/__init__.py").read_text(), re.MULTILINE)[0]
release = version

extensions = ["myst_parser", "sphinx.ext.autodoc", "docstrings", "reference", "sources"]
exclude_patterns = ["_build", "_ext"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_heading_anchors = 4
myst_dmath_double_inline = False
suppress_warnings = [
    "myst.header",  # api pages begin with what a module says of itself
    "misc.highlighting_failure",  # a console block may show an error that is no line of a shell
]

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_inherit_docstrings = False  # what torch and pydantic say of themselves is theirs
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["psitext.css"]
html_title = f"psitext {version}"
html_copy_source = False
html_show_sphinx = False
html_last_updated_fmt = None
html_use_index = True
html_domain_indices = False
html_theme_options = {"navigation_with_keys": True, "footer_icons": []}
pygments_style = "friendly"
pygments_dark_style = "monokai"
