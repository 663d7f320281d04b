"""``python -m psitext`` is the command ``psitext``; launchers of several processes start it this way."""

from __future__ import annotations

from psitext.cli import main

if __name__ == "__main__":
    main()
