"""Speed of complex networks: planar layers against torch's own complex tensors, and against complextorch.

Read in this order: ``native`` (a QBERT as torch's complex64 lets one write it), ``layers`` (one layer), ``peers`` (what
complextorch can express of it), ``heads`` (the unitary of the measurement head), ``steps`` (a step of pre-training).
"""
