"""Sentences' kets as files: the printed lines make each library's own state of them, and it is the ket."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import kets
import racs
import tiny
import vaes
from psitext.errors import UserError
from psitext.experiments.export import TENSORS, write_ket
from psitext.model import TEXT, Model, Sentences, load
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import train
from psitext.train.network import Network

SENTENCE = "a fine film"


def bare(encoder: Any) -> Model:
    words = train("words", racs.TEXTS, tiny.VOCAB)
    return Model(Network(encoder, Sentences()).eval(), {TEXT: words}, TextConfig(max_len=16))


MODELS = {
    "bert": lambda: kets.model(24),  # padded to 32
    "qbert": lambda: bare(tiny.qbert().float()),
    "rac": racs.model,  # 5 numbers on 3 qubits
}


def amplitudes(to: str, names: dict[str, Any]) -> npt.NDArray[Any]:
    if to == "numpy":
        return np.asarray(names["ket"])
    if to == "quimb":
        return np.asarray(names["mps"].to_dense()).ravel()
    if to == "tenpy":
        return np.asarray(names["mps"].get_theta(0, names["mps"].L).to_ndarray()).ravel()
    whole = np.ones((1, 1))
    for tensor in names["mps"].tensors:
        array = np.atleast_3d(tensor.numpy(force=True))
        array = array if len(whole) > 1 or array.shape[0] == 1 else tensor.numpy(force=True)[None]
        whole = np.einsum("sl,lqr->sqr", whole, array).reshape(-1, array.shape[2])
    return whole.ravel()


def bits(to: str, names: dict[str, Any], qubits: int) -> list[float]:
    if to == "quimb":
        return [float(names["mps"].entropy(cut)) for cut in range(1, qubits)]
    return [float(nats) / np.log(2) for nats in names["mps"].entanglement_entropy()]


@pytest.mark.parametrize("to", TENSORS)
@pytest.mark.parametrize("family", MODELS)
def test_parity_what_the_lines_make_is_the_ket(tmp_path: Path, family: str, to: str) -> None:
    if not find_spec(to):
        pytest.skip(f"{to} is not installed")
    model = MODELS[family]()
    state = model.encode([SENTENCE])
    says, lines = write_ket(model, SENTENCE, to, tmp_path / "ket.npz")
    names: dict[str, Any] = {}
    exec(lines, names)
    found, exact = amplitudes(to, names), state.amplitudes()[0].numpy()
    assert abs(np.vdot(exact, found[: len(exact)])) == pytest.approx(1, abs=1e-9)  # TeNPy's form drops the phase
    assert np.allclose(found[len(exact) :], 0, atol=1e-9)
    assert f"{state.qubits} qubits (width {state.width}" in says and says.endswith("fidelity 1.0000")
    if to != "tenpy":
        np.testing.assert_allclose(found[: len(exact)], exact, atol=1e-9)
    if to in ("quimb", "tenpy"):
        assert bits(to, names, state.qubits) == pytest.approx(state.entropy_bits()[0].tolist(), abs=1e-9)


def test_parity_of_a_bond_the_state_is_the_product(tmp_path: Path) -> None:
    pytest.importorskip("quimb")
    model = kets.model(24)
    product = model.encode([SENTENCE]).to_product(2)
    says, lines = write_ket(model, SENTENCE, "quimb", tmp_path / "ket.npz", bond=2)
    names: dict[str, Any] = {}
    exec(lines, names)
    np.testing.assert_allclose(amplitudes("quimb", names), product.vectors()[0].numpy(), atol=1e-9)
    assert f"bond 2, fidelity {float(product.fidelity[0]):.4f}" in says and "padded with zeros to 32" in says
    with np.load(tmp_path / "ket.npz", allow_pickle=False) as f:
        assert (int(f["width"]), str(f["text"])) == (24, SENTENCE)
        assert float(f["fidelity"]) == pytest.approx(float(product.fidelity[0]))


def test_known_a_sentence_space_has_kets_of_its_means(tmp_path: Path) -> None:
    model = load(vaes.space())
    _, lines = write_ket(model, SENTENCE, "numpy", tmp_path / "ket.npz")
    names: dict[str, Any] = {}
    exec(lines, names)
    np.testing.assert_allclose(names["ket"], model.encode([SENTENCE]).amplitudes()[0].numpy(), atol=1e-9)


def test_known_what_is_no_ket_is_refused(tmp_path: Path) -> None:
    model = racs.model()
    for text, bond, why in (("", None, "the text is empty"), (SENTENCE, 0, "a bond of 0 holds nothing")):
        with pytest.raises(UserError, match=why):
            write_ket(model, text, "quimb", tmp_path / "ket.npz", bond)
    assert list(tmp_path.iterdir()) == []
