"""Sentence kets measured: written and drawn for a user, and an experiment on their entanglement and bonds."""
