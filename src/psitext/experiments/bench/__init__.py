"""Speed against transformers and torch, as ratios that hold on the machine they are measured on.

Read in this order: ``timing`` (what is measured, and how), ``using`` (starts, and encoding against
sentence-transformers), ``racing`` (two trainings side by side), ``pretraining``, ``finetuning``, ``optimiser``,
``complex`` (QBERT against torch's complex tensors), ``latents`` (sentence spaces against the original scheme),
``tensors`` (circuits), ``suite`` (all of them, and their result lines).
"""
