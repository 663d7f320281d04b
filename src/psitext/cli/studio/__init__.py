"""The verb that opens the studio."""

from psitext.cli.studio.opening import COMMANDS

__all__ = ["COMMANDS"]
