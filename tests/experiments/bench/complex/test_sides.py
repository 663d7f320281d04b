"""The comparisons of complex networks in a tiny form: what they run, refuse and say. No time is judged."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from psitext.encoders.qbert import QbertConfig
from psitext.experiments.bench import pretraining, racing, suite
from psitext.experiments.bench.complex import heads, layers, peers, steps
from psitext.experiments.bench.complex.layers import Setup
from psitext.experiments.bench.complex.sides import Side, agree
from psitext.experiments.bench.timing import Measured
from psitext.nn.numerics import Precision

TINY = QbertConfig(vocab_size=1, width=8, layers=1, heads=2, hidden=12, max_len=1, dropout=0, attention_dropout=0)


def check(found: list[Measured], count: int) -> None:
    assert len({one.name for one in found}) == len(found) == count
    assert all(min(one.ours, one.theirs, one.ratio) > 0 for one in found)


def test_known_a_pass_has_all_gradients_and_leaves_none() -> None:
    layer = torch.nn.Linear(3, 2)
    seen: list[torch.Tensor] = []
    for parameter in layer.parameters():
        parameter.register_hook(seen.append)
    x = torch.ones(4, 3)
    passes = Side(layer, layer, x).passes()
    passes()
    first = [grad.clone() for grad in seen]
    passes()
    assert len(seen) == 4 and all(grad.any() for grad in first)
    assert all(torch.equal(one, two) for one, two in zip(first, seen[2:], strict=True)), "gradients do not add up"
    assert layer.weight.grad is None and x.grad is None and not x.requires_grad


def test_known_a_side_runs_in_its_precision() -> None:
    seen: list[torch.dtype] = []

    def call(x: torch.Tensor) -> torch.Tensor:
        out = x @ x.T
        seen.append(out.dtype)
        return out.float()

    Side(torch.nn.Identity(), call, torch.ones(2, 2), "bf16").passes()()
    assert seen == [torch.float32, torch.bfloat16], "the value is float32, the passes are not"


def test_known_different_values_are_not_timed() -> None:
    z = torch.ones(2, dtype=torch.complex64)
    agree("the same", z, z)
    for other in (z + 0.01j, z * torch.nan):
        with pytest.raises(RuntimeError, match=r"this: the two sides differ by .* say nothing"):
            agree("this", z, other)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_smoke_layers(precision: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "installed", lambda: False)
    told: list[str] = []
    setup = Setup(1, precision=precision, shape=TINY, rows=2, tokens=5)
    found = list(layers.layer_speed(setup, told.append))
    check(found, 3)
    assert all(f"({precision}, complex width 8, 2 x 5 tokens)" in one.name for one in found)
    assert told == ["complextorch is not installed (pip install complextorch), so its layer is left out"]


def test_known_the_real_layer_has_as_many_numbers() -> None:
    setup = Setup(1, shape=layers.BASE.model_copy(update={"width": 96, "hidden": 192}), rows=1, tokens=2)
    assert "0.11M for 0.11M real numbers" in layers.against_real(setup).name


def test_smoke_and_parity_with_complextorch() -> None:
    pytest.importorskip("complextorch")
    found = layers.against_complextorch(Setup(1, shape=TINY, rows=2, tokens=5))  # refuses values that differ
    check([found], 1)


def test_smoke_unitaries() -> None:
    check(list(heads.unitary_speed(1, 0, width=6, kets=3)), len(heads.DEVIATIONS))


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_parity_pre_training_is_the_same_on_both_sides(tmp_path: Path, precision: Precision) -> None:
    text = pretraining.read_text(None, tmp_path, "bert-tiny", "toy:60")
    course = racing.Course(rounds=2, steps=3, sequences=4)
    found = steps.pretraining_speed(text, text.tokenizer.vocab_size + 10, course, precision, "qbert-tiny")
    check([found], 1)
    assert found.losses is not None and found.rows == 24
    assert found.losses[0] == pytest.approx(found.losses[1], abs=1e-3 if precision == "fp32" else 0.05)


def test_known_the_suite_has_them_without_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "find_spec", lambda name: None)
    made = Measured("made", "s", 1.0, 2.0, 2.0)
    asked: list[object] = []

    def layer_speed(setup: Setup, tell: object) -> list[Measured]:
        asked.append(setup)
        return [made]

    monkeypatch.setattr(layers, "layer_speed", layer_speed)
    monkeypatch.setattr(heads, "unitary_speed", lambda rounds, seed: [made])
    names = ("complex-layer", "complex-layer-bf16", "unitary-head")
    told: list[str] = []
    assert len(list(suite.run(suite.Settings(rounds=3, only=names), told.append))) == 3
    assert told == [f"{name} ..." for name in names]
    assert asked == [Setup(3, 0, "fp32"), Setup(3, 0, "bf16")]
