"""Circuits: states and heads as gates, their forms as files, and their order of bits.

Read in this order: ``order`` (which wire is which qubit), ``mps`` (a ket as a chain of small maps), ``build`` (states
and heads as circuits), ``synthesis`` (gates that machines have, counted), ``files`` and ``pennylane`` (other forms).
"""
