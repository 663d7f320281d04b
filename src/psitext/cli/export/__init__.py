"""The verb that writes a model in another library's form: ``psitext export``."""

from psitext.cli.export.command import COMMANDS

__all__ = ["COMMANDS"]
