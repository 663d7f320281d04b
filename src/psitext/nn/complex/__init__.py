"""Complex layers on planar tensors: a complex value is one real tensor with a leading axis of 2, real part first.

Complex parameters are two real ones, ``name_re`` and ``name_im``, so that optimisers, sharding, bfloat16 and
safetensors need not know about complex numbers; an optimiser that does pairs them by name.
"""
