"""Heads: a state in, a prediction out. A head reads any family's state through ``to_real`` or ``to_ket``.

A prediction is a mapping of names to tensors; which names is part of each head's contract.
"""
