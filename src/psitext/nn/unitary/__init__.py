"""Unitary maps of kets that can be trained, and what is measured after them.

Kets are complex (B, D), one a row, of unit norm; an amplitude's index is big-endian in qubits. A map takes U to a ket
as ``U ket``, which for rows reads ``ket @ U.T``.
"""
