"""A tiny trial of what is installed: that it loads and computes what it should on this machine."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from math import isclose

from psitext.experiments.doctor.finding import Finding


def attention() -> str:
    """Attention in bfloat16 beside float32."""
    import torch

    random = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, 2, 8, 16, generator=random)
    exact = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    short = torch.nn.functional.scaled_dot_product_attention(*(x.bfloat16() for x in (q, k, v)))
    gap = float((short.float() - exact).abs().max())
    _expect(gap < 0.1, f"it is {gap:.2g} away from float32")
    return f"{gap:.2g} away from float32"


def tokens() -> str:
    """A tokenizer in Rust."""
    from tokenizers import Tokenizer, models

    found = Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]")).encode("a").ids
    _expect(found == [0], f"it gives {found} for [0]")
    return "works"


def circuit() -> str:
    """One qubit turned half way, on qiskit's simulator."""
    import numpy as np

    from psitext.nn.unitary.born import Outcomes
    from psitext.quantum import from_gates, ideal
    from psitext.quantum.circuits.build import whole

    head = from_gates([("h", (0,), None)], 2, 1, Outcomes(2), np.eye(2), None)
    (counts,) = ideal().counts([whole(head)], 1_000, 0)
    share = float(counts[0] / counts.sum())
    _expect(isclose(share, 0.5, abs_tol=0.1), f"half a turn is read as 0 in {share:.0%} of the shots")
    return f"half a turn is read as 0 in {share:.0%} of 1,000 shots"


def graph() -> str:
    """An addition in onnxruntime."""
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
    made = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "twice", [x], [y])
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": np.array([1, 2], dtype=np.float32)})
    _expect(found.tolist() == [2, 4], f"twice (1, 2) is {found.tolist()}")
    return "works"


def picture() -> str:
    """A curve as SVG."""
    from matplotlib.figure import Figure

    figure, file = Figure(figsize=(1, 1)), io.BytesIO()
    figure.subplots().plot([0, 1])
    figure.savefig(file, format="svg")
    _expect(len(file.getvalue()) > 500, "an empty picture")
    return "works"


# What is tried, of which packages, in the order of what is most needed.
TRIALS: dict[str, tuple[Callable[[], str], tuple[str, ...]]] = {
    "attention in bfloat16": (attention, ("torch",)),
    "tokenizer": (tokens, ("tokenizers",)),
    "pictures": (picture, ("matplotlib",)),
    "ONNX session": (graph, ("onnx", "onnxruntime")),
    "circuit on a simulator": (circuit, ("qiskit", "qiskit_aer")),
}


def trials() -> Iterator[Finding]:
    """Every trial of what is installed."""
    for what, (trial, needs) in TRIALS.items():
        if any(find_spec(name) is None for name in needs):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield Finding("usable", what, trial())
        except Exception as error:  # whatever keeps a package from working is what this is about
            why = (str(error).strip().splitlines() or [""])[0]
            install = f"install {' and '.join(needs)} again"
            yield Finding("usable", what, f"fails: {type(error).__name__}: {why}", install, broken=True)


def _expect(good: bool, otherwise: str) -> None:
    if not good:
        raise ArithmeticError(otherwise)
