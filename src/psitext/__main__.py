"""``python -m psitext`` is the command ``psitext``; launchers of several processes start it this way."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being loaded ends it in one sentence, like one later on."""
    try:
        from psitext.cli import main as command

        command()
    except KeyboardInterrupt:
        print("psitext: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
