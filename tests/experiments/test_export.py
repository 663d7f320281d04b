"""Matrix product states as files: they come back, and the printed lines make the library's own object of them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import racs
from psitext.errors import UserError
from psitext.experiments.export import TENSORS, write_tensors
from psitext.explain.mps import formats
from psitext.text.examples import Example

NEEDS = {"numpy": "numpy", "quimb": "quimb", "tenpy": "tenpy", "tensorkrowch": "tensorkrowch"}
READ = {"quimb": formats.from_quimb, "tenpy": formats.from_tenpy, "tensorkrowch": formats.from_tensorkrowch}


def bits_of(to: str, mps: Any) -> list[float]:
    """The entropies in bits at all cuts as a library itself has them, of the object that the printed lines made."""
    if to == "quimb":
        return [float(mps.entropy(cut)) for cut in range(1, mps.L)]
    return [float(nats) / np.log(2) for nats in mps.entanglement_entropy()]


def test_law_every_library_has_its_lines() -> None:
    assert TENSORS.keys() == NEEDS.keys()


@pytest.mark.parametrize("metric, pad", [("paper", "none"), ("data", "none"), ("data", "word")])
@pytest.mark.parametrize("to", TENSORS)
def test_law_out_and_back(tmp_path: Path, to: str, metric: str, pad: str) -> None:
    model = racs.model(pad=pad)
    held = model.to_mps(length=6, metric=metric)  # type: ignore[arg-type]
    path = tmp_path / "state.npz"
    lines = write_tensors(model, held, to, path)
    with np.load(path, allow_pickle=False) as arrays:
        again = formats.from_numpy(arrays)
        assert ("word_vectors" in arrays) == (metric == "paper")
    sites = again if isinstance(again, formats.Sites) else formats.sites(again)
    for ours, theirs in zip(held.sites().arrays, sites.arrays, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    if not find_spec(NEEDS[to]):
        pytest.skip(f"{to} is not installed")
    names: dict[str, object] = {}
    exec(lines, names)
    if to == "numpy":
        assert "last" in names["f"] or "log_scale" in names["f"]  # type: ignore[operator]
        return
    if to in ("quimb", "tenpy"):
        assert bits_of(to, names["mps"]) == pytest.approx(held.entropy_bits().tolist(), abs=1e-9)
    if to == "quimb":  # the norm that was taken out is the state's
        assert np.log(float(names["norm"])) + held.sites().log_scale == pytest.approx(held.sites().log_norm())  # type: ignore[arg-type]
    squares = [np.square(each[each > 0]) for each in READ[to](names["mps"]).schmidt()]
    bits = [-float((each * np.log2(each)).sum()) for each in squares]
    assert bits == pytest.approx(held.entropy_bits().tolist(), abs=1e-9)


def test_known_numpy_alone_reads_a_text(tmp_path: Path) -> None:
    """The file has all that the log-odds take."""
    model = racs.model()
    path = tmp_path / "state.npz"
    write_tensors(model, model.to_mps(), "numpy", path)
    with np.load(path, allow_pickle=False) as f:
        words = dict(zip(f["vocabulary"], f["word_vectors"], strict=True))
        h = f["first"]
        for word in "not a fine film".split():
            h = np.einsum("l,lsr,s->r", h, f["site"], words[word])
        odds = f["last"] @ h
    (logits,) = model.logits([Example("not a fine film")])
    assert odds == pytest.approx(logits[1] - logits[0], rel=1e-4)


@pytest.mark.parametrize("to", ["quimb", "tenpy", "tensorkrowch"])
def test_law_a_state_of_one_site_is_none_elsewhere(tmp_path: Path, to: str) -> None:
    model = racs.model()
    with pytest.raises(UserError, match="a chain of one word has no bond to cut"):
        write_tensors(model, model.to_mps(length=1), to, tmp_path / "state.npz")
    assert list(tmp_path.iterdir()) == []
