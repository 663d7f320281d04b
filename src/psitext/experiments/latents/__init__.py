"""Sentence spaces judged: while they train (``monitor``), and by bounds on their likelihood afterwards."""
