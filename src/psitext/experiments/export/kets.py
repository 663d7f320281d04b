"""A sentence's ket as a matrix product state in arrays: of any family, with the lines of Python as of circuits.

    ket[s_1 ... s_n] = A_1[s_1] A_2[s_2] ... A_n[s_n],    s_1 the most significant bit

(Schollwoeck 2011, section 4.1.) The tensors are those of ``nn/kets/product.py``: isometries from the left, of norm 1 in
all. Letters: n qubits, l and r the bonds of a site, D the width of the state.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from psitext.errors import UserError
from psitext.experiments.export.tensors import TENSORS, written
from psitext.model import Model

# numpy has no object of a state; these lines give its amplitudes.
_AMPLITUDES = """import numpy
f = numpy.load({path!r})
ket = numpy.ones((1, 1))
for name in sorted(f):
    if name.startswith("site_"):
        ket = numpy.einsum("sl,lqr->sqr", ket, f[name]).reshape(-1, f[name].shape[2])
ket = ket[: f["width"], 0]
"""
KETS: dict[str, str] = {**TENSORS, "numpy": _AMPLITUDES}


def write_ket(model: Model, text: str, to: str, path: Path, bond: int | None = None) -> tuple[str, str]:
    """Write the ket of a text as an .npz of arrays for one of ``KETS``; what it is in words, and the lines that read
    it, come back.

    The file holds ``site_01`` to ``site_n``, (l, 2, r) complex128; ``width`` D, beyond which amplitudes are padding;
    ``fidelity`` with the exact ket; and ``text``. ``bond`` None is exact. Errors: an empty text; a bond below 1; a
    state that is no ket; one of a single qubit for another library than numpy.
    """
    if not text.strip():
        raise UserError("the text is empty; a ket is made from at least one word")
    state = model.encode([text])
    product = state.to_product(1 << (state.qubits // 2) if bond is None else bond)
    if product.qubits < 2 and to != "numpy":
        raise UserError("a ket of one qubit is no matrix product; other libraries want two or more")
    fidelity = float(product.fidelity[0])
    arrays = {f"site_{number:02}": array[0] for number, array in enumerate(product.numpy(), 1)}
    facts = {"width": np.array(product.width), "fidelity": np.array(fidelity), "text": np.array(text)}
    written({**arrays, **facts}, path)
    zeros = f", padded with zeros to {1 << product.qubits}" if product.padded else ""
    width = f"width {product.width}{zeros}"
    says = f"a ket of {product.qubits} qubits ({width}), bond {product.bond}, fidelity {fidelity:.4f}"
    return says, KETS[to].format(path=str(path))
