"""Models in other libraries' forms.

Read in this order: ``checks`` (what is refused before anything is made), ``huggingface`` (folders of transformers),
``tensors`` and ``kets`` (matrix product states of circuits and of sentences, as arrays), ``plain`` (complex layers as
their formulas stand), ``recurrence`` (circuits as a scan), ``graph`` (what of a model becomes a graph of tensors),
``onnx`` (that graph as a file, beside its tokenizer, checked against the model).
"""

from collections.abc import Callable
from pathlib import Path

from psitext.experiments.export.checks import PLACES
from psitext.experiments.export.huggingface import to_hf
from psitext.experiments.export.kets import write_ket
from psitext.experiments.export.onnx import to_onnx
from psitext.experiments.export.tensors import TENSORS, write_tensors
from psitext.model import Model

# Folders: a model and a path in, what is to be told of it out.
EXPORTS: dict[str, Callable[[Model, Path], str]] = {"hf": to_hf, "onnx": to_onnx}

__all__ = ["EXPORTS", "PLACES", "TENSORS", "to_hf", "to_onnx", "write_ket", "write_tensors"]
