"""Sentence spaces: how fast they are judged (``iwae``) and written from (``generation``)."""
