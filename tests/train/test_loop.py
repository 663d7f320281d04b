"""The loop: exact resumption, sums however a batch is cut, early stopping, losses that are no number."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from fits import Bench, same, weights
from psitext.errors import UserError
from psitext.score.losses import Score, classification
from psitext.text.batches import plan
from psitext.train.loop import Validation
from psitext.train.network import Network


def told(values: list[float]) -> Validation:
    """A validation that gives these values, whatever the network."""
    left = iter(values)
    return Validation(lambda network: {"value": next(left)}, "value")


def changed(score: Score, step: Callable[[], int], at: int, factor: Callable[[torch.Tensor], torch.Tensor]) -> Score:
    """A score whose total is passed through ``factor`` at one step."""
    term = score["label"]
    return {
        "label": replace(
            term,
            total=lambda predicted, batch, state: (factor if step() == at else lambda x: x)(
                term.total(predicted, batch, state)
            ),
        )
    }


def test_known_it_learns(bench: Bench) -> None:
    outcome = bench.run(bench.network(dropout=0.1), bench.config(steps=60))
    assert outcome.finished
    assert outcome.counters.step == 60
    losses = bench.curve()
    assert losses[0] > 0.4
    assert max(losses[-5:]) < 0.1


@pytest.mark.parametrize("accumulation", [2, 4])
def test_law_accumulation_equals_one_big_batch(bench: Bench, accumulation: int) -> None:
    # The bias of the keys has no slope but rounding, which Adam would blow up to steps of full size.
    whole, cut, optim = bench.network(), bench.network(), {"eps": 1e-3}
    bench.run(whole, bench.config(optim=optim), out="whole")
    losses = bench.curve()
    bench.run(cut, bench.config(optim=optim, accumulation=accumulation), out="cut")
    assert bench.curve() == pytest.approx(losses, rel=1e-4)
    assert_close(weights(cut), weights(whole), rtol=0, atol=1e-4)
    assert not same(weights(whole), weights(bench.network()))


@pytest.mark.parametrize("at", [1, 3, 4, 9])
def test_law_a_stop_and_a_resume_change_nothing(bench: Bench, at: int) -> None:
    config = bench.config(log_every=4, accumulation=2)
    whole, first, second = (bench.network(dropout=0.3) for _ in range(3))

    def judged() -> Validation:
        return Validation(lambda network: {"value": next(network.parameters()).sum().item()}, "value")

    reference = bench.run(whole, config, out="whole", validation=judged())
    events = bench.events
    seen = count(1)
    batches = bench.source.build

    def interrupting(samples: object, epoch: int) -> object:
        if next(seen) == 2 * at:  # the last micro-step of step ``at``
            os.kill(os.getpid(), signal.SIGINT)
        return batches(samples, epoch)

    object.__setattr__(bench.source, "build", interrupting)
    try:
        stopped = bench.run(first, config, validation=judged())
    finally:
        object.__delattr__(bench.source, "build")
    assert not stopped.finished
    assert stopped.counters.step == at
    before = bench.events
    torch.manual_seed(99)  # what else draws random numbers is of no account
    resumed = bench.run(second, config, validation=judged())
    assert resumed.finished
    assert same(weights(second), weights(whole))
    assert replace(resumed.counters, seconds=0) == replace(reference.counters, seconds=0)
    without_clock = [[{**event, "seconds": 0} for event in found] for found in (before + bench.events, events)]
    assert without_clock[0] == without_clock[1]


def test_law_dropout_is_keyed_and_the_caller_keeps_his_random_state(bench: Bench) -> None:
    ends = []
    for seed, out in ((0, "a"), (0, "b"), (1, "c")):
        network = bench.network(dropout=0.3)
        torch.manual_seed(len(ends))
        before = torch.get_rng_state()
        bench.run(network, bench.config(seed=seed, pool=1), out=out)
        assert torch.equal(torch.get_rng_state(), before)
        ends.append(weights(network))
    assert same(ends[0], ends[1])
    assert not same(ends[0], ends[2])


def test_law_a_logged_loss_is_the_mean_since_the_line_before(bench: Bench) -> None:
    bench.run(bench.network(), bench.config(), out="each")
    each, rates = bench.curve(), bench.curve("lr")
    bench.run(bench.network(), bench.config(log_every=4, checkpoint_every=5), out="some")
    assert bench.curve("step") == [4, 5, 8, 10]
    means = [sum(each[:4]) / 4, each[4], sum(each[5:8]) / 3, sum(each[8:]) / 2]
    assert bench.curve() == pytest.approx(means, rel=1e-6)
    assert bench.curve("lr") == [rates[step - 1] for step in (4, 5, 8, 10)]
    tokens = bench.curve("tokens")
    lengths = bench.source.lengths()
    batches = plan(lengths, seed=0, epoch=0, sequences=8)
    assert tokens[0] == sum(int(lengths[batch].sum()) for batch in batches[:4])
    assert bench.curve("epoch")[-1] == 1


def test_law_checkpoints_by_the_clock_change_nothing(bench: Bench) -> None:
    """A run that is killed an hour into its epoch has lost minutes; and which ones decides about no number."""
    config = bench.config(log_every=4, checkpoint_every=100)
    whole, killed, again = (bench.network(dropout=0.3) for _ in range(3))
    bench.run(whole, config, out="whole")
    events = bench.events
    often = config.model_copy(update={"checkpoint_minutes": 1e-9})

    class Killed(Exception):
        pass

    def kill(event: object) -> None:
        if len(bench.events) == 2:  # at step 8
            raise Killed

    with pytest.raises(Killed):
        bench.run(killed, often, hooks=[kill])
    before = bench.events[:1]
    names = sorted(path.name for path in (bench.folder / "run" / "checkpoints").iterdir())
    assert names == ["step-00000006", "step-00000007"]
    bench.run(again, config)
    without_clock = [[{**event, "seconds": 0} for event in found] for found in (before + bench.events, events)]
    assert without_clock[0] == without_clock[1]
    assert same(weights(again), weights(whole))


def test_law_best_weights_come_back_and_patience_ends_a_run(bench: Bench) -> None:
    network, seen = bench.network(), []
    values = iter([0.1, 0.5, 0.4, 0.5, 0.3, 0.9])

    def evaluate(judged: torch.nn.Module) -> dict[str, float]:
        seen.append(weights(judged))
        return {"value": next(values)}

    config = bench.config(steps=40, evaluate_every=2, patience=3)
    outcome = bench.run(network, config, validation=Validation(evaluate, "value"))
    assert outcome.finished
    assert (outcome.counters.step, outcome.counters.best, outcome.counters.best_step) == (10, 0.5, 4)
    assert same(weights(network), seen[1])
    assert not same(weights(network), seen[-1])
    again = bench.network()
    same_end = bench.run(again, config, validation=told([]))
    assert replace(same_end.counters, seconds=0) == replace(outcome.counters, seconds=0)
    assert bench.events == []
    assert same(weights(again), seen[1])


@pytest.mark.parametrize(
    ("values", "low", "step"),
    [
        ([3.0, 1.0, 2.0, 1.0, 5.0], True, 4),
        ([3.0, 1.0, 2.0, 1.0, 5.0], False, 10),
        ([float("nan"), 1.0, float("nan"), 0.5, 0.1], False, 4),
        ([1.0, float("nan"), float("nan"), 1.0, 1.0], False, 2),
    ],
)
def test_known_what_is_best(bench: Bench, values: list[float], low: bool, step: int) -> None:
    validation = replace(told(values), low_is_good=low)
    outcome = bench.run(bench.network(), bench.config(evaluate_every=2), validation=validation)
    assert outcome.counters.best_step == step


def steps_of(bench: Bench) -> Callable[[], int]:
    """The number, from 1, of the step that is being done."""
    return lambda: len(bench.curve()) + 1


@pytest.mark.parametrize(
    ("what", "factor"),
    [
        ("loss is nan", lambda total: total * float("nan")),
        ("loss is inf", lambda total: total + float("inf")),
        # The value is finite, its slope is not: the square root of nothing.
        ("gradient's norm is (nan|inf)", lambda total: total + (total - total.detach()).abs().sqrt()),
    ],
)
@pytest.mark.parametrize("clip", [0.0, 1.0])
def test_law_what_is_not_finite_stops_the_run_before_it_does_harm(
    bench: Bench, what: str, factor: Callable[[torch.Tensor], torch.Tensor], clip: float
) -> None:
    config = bench.config(optim={"clip": clip})
    score = changed(classification(), steps_of(bench), 8, factor)
    network = bench.network()
    with pytest.raises(UserError, match=rf"the {what} at step 8 \(samples \[\d+, .* lower train.optim.lr"):
        bench.run(network, config, score=score)
    assert all(torch.isfinite(value).all() for value in weights(network).values())
    kept = sorted(path.name for path in (bench.folder / "run" / "checkpoints").iterdir())
    assert kept == ["step-00000003", "step-00000006"]
    assert [event["step"] for event in bench.events] == [1, 2, 3, 4, 5, 6, 7]
    assert bench.run(bench.network(), config).finished  # the run goes on once the cause is gone


def test_law_without_clipping_means_gradients_as_they_are(bench: Bench) -> None:
    ends = []
    for clip in (0.0, 1e9):
        network = bench.network()
        bench.run(network, bench.config(optim={"clip": clip}), out=str(clip))
        ends.append(weights(network))
    assert same(*ends)
    bench.run(bench.network(), bench.config(optim={"clip": 1e-4}), out="clipped")


def test_law_a_frozen_encoder_stays_as_it_was_and_does_not_drop_out(bench: Bench) -> None:
    network = bench.network(dropout=0.5)
    network.encoder.requires_grad_(False)
    before, head = weights(network.encoder), weights(network.head)
    modes = []
    network.head.register_forward_hook(lambda *_: modes.append((network.encoder.training, network.head.training)))
    bench.run(network, bench.config())
    assert same(weights(network.encoder), before)
    assert not same(weights(network.head), head)
    assert set(modes) == {(False, True)}
    moments = json.loads((bench.folder / "run/checkpoints/step-00000010/checksums.json").read_text())
    assert "optimizer.safetensors" in moments


def test_law_every_sample_is_seen_once_an_epoch(bench: Bench) -> None:
    seen: list[int] = []

    class Watching(Network):
        def forward(self, batch):  # type: ignore[no-untyped-def]
            seen.extend(batch.samples.tolist())
            return super().forward(batch)

    network = bench.network()
    bench.run(Watching(network.encoder, network.head), bench.config(steps=16, accumulation=2))
    assert sorted(seen[:64]) == sorted(seen[64:]) == list(range(64))
    assert seen[:64] != seen[64:]


@pytest.fixture(autouse=True)
def default_handler() -> Iterator[None]:
    """A stray signal must not end the session of tests."""
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


def test_law_files_stay_few(bench: Bench, tmp_path: Path) -> None:
    bench.run(bench.network(), bench.config(evaluate_every=1), validation=told([float(step) for step in range(10)]))
    names = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    assert names == ["best-00000009", "best-00000010", "step-00000009", "step-00000010"]
