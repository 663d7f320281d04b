"""Tensors in, tensors out: layers and formulas that know nothing of sentences."""
