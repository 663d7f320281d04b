"""Sentence spaces: how fast they are judged (``iwae``)."""
