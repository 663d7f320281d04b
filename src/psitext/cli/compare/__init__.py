"""The verb that sets everything side by side on a table of one's own: ``psitext compare``."""

from psitext.cli.compare.command import COMMANDS

__all__ = ["COMMANDS"]
