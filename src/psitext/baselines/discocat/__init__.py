"""DisCoCat on lambeq: sentences as tensor networks or circuits that grammar wires up. The only importer of lambeq.

Importing ``settings`` is light; everything else loads lambeq, which takes seconds and comes with the extra ``qnlp``.
"""

from __future__ import annotations

from importlib.util import find_spec

from psitext.errors import UserError


def require() -> None:
    """Say what to install where lambeq is missing."""
    if find_spec("lambeq") is None:
        raise UserError("DisCoCat needs lambeq: pip install 'psitext[qnlp]'")
