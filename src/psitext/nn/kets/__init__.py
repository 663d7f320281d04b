"""Kets as vectors: distances and geodesics, entanglement at cuts between qubits, matrix-product approximations.

Tensors in, tensors out, in double: (..., D) amplitudes of any norm but 0. What reads the index of an amplitude as
qubits is big-endian, and pads a width that is no power of two with zeros.
"""
