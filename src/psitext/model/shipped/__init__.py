"""The models that come with psitext: folders below ``psitext/shipped``, each named by what it is called.

Nothing here loads torch: a name is looked up, and a list is printed, from file names and ``config.json`` alone.
"""

from psitext.model.shipped.catalog import Entry, card, entries, located, missing, names

__all__ = ["Entry", "names", "located", "missing", "entries", "card"]
