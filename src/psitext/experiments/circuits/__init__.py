"""Finished models on quantum machines: scored beside their exact selves, and trained there."""
