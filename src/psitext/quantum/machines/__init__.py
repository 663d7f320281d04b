"""What runs circuits: exactly, with shots, with noise, or on any backend of qiskit; and the correction of readings."""
