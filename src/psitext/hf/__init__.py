"""Checkpoints of others, in and out: the only part of psitext that may import transformers.

Read in this order: ``checkpoints`` (a folder or hub id becomes settings and tensors), ``names`` (which tensor
is which), ``settings`` (which setting is which), ``pooling`` and ``tokenizer_files`` (what lies beside),
``bert``.
"""
