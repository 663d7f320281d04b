"""Checkpoints: whole or passed over, exact, few; wrong shapes are refused before anything is changed."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.optim import Optimizer

import tiny
from disk import largest_file
from fits import same, weights
from psitext.errors import UserError
from psitext.heads.affine import AffineConfig, SequenceHead
from psitext.heads.pretraining import PretrainingConfig, PretrainingHead
from psitext.train import checkpoint
from psitext.train.checkpoint import Counters
from psitext.train.network import Network
from psitext.train.optim import OptimConfig, build_optimizer

COUNTERS = Counters(
    step=7, epoch=1, batch=3, tokens=900, seconds=1.5, best=0.1 + 0.2, best_step=4, stale=1, loss=1 / 3,
    unlogged=2, sums={"words": 0.7, "next": 1e-17},
)  # fmt: skip


def made(seed: int = 0) -> tuple[Network, Optimizer]:
    """A network with a tied decoder and a buffer, after one step of its optimiser."""
    encoder = tiny.bert(seed=seed)
    network = Network(encoder, PretrainingHead(encoder, PretrainingConfig()))
    network.register_buffer("kept", torch.arange(3.0) + seed)
    network.register_buffer("passing", torch.ones(2), persistent=False)
    optimizer = build_optimizer(network.encoder, network.head, OptimConfig())
    torch.manual_seed(seed)
    for parameter in network.parameters():
        parameter.grad = torch.randn_like(parameter)
    optimizer.step()
    optimizer.zero_grad()
    return network, optimizer


def moments(network: Network, optimizer: Optimizer) -> dict[str, torch.Tensor]:
    return {
        f"{key}/{name}": value
        for name, parameter in network.named_parameters()
        for key, value in optimizer.state[parameter].items()
    }


def test_law_what_is_saved_comes_back_bit_for_bit(tmp_path: Path) -> None:
    network, optimizer = made()
    path = checkpoint.save(tmp_path, network, optimizer, COUNTERS)
    assert path == tmp_path / "step-00000007"
    other, fresh = made(seed=1)
    assert checkpoint.restore(path, other, fresh) == COUNTERS
    assert same(weights(other), weights(network))
    assert torch.equal(other.kept, network.kept)
    assert same(moments(other, fresh), moments(network, optimizer))
    assert other.head.words.decoder.weight is other.encoder.token.weight, "no longer tied"
    tensors = checkpoint.read_tensors(path / checkpoint.MODEL)
    assert "kept" in tensors and "passing" not in tensors
    assert sum("token.weight" in name or "decoder.weight" in name for name in tensors) == 1
    # The next step is the same, too.
    for each, steps in ((network, optimizer), (other, fresh)):
        for parameter in each.parameters():
            parameter.grad = torch.ones_like(parameter)
        steps.step()
    assert same(weights(other), weights(network))


@pytest.mark.parametrize("name", [checkpoint.MODEL, checkpoint.OPTIMIZER, checkpoint.COUNTERS, checkpoint.CHECKSUMS])
@pytest.mark.parametrize("harm", ["cut", "changed", "gone"])
def test_law_the_newest_good_checkpoint_is_found(tmp_path: Path, name: str, harm: str) -> None:
    network, optimizer = made()
    checkpoint.save_best(tmp_path, network, COUNTERS.best_step)
    good = checkpoint.save(tmp_path, network, optimizer, COUNTERS)
    bad = checkpoint.save(tmp_path, network, optimizer, replace(COUNTERS, step=9))
    assert checkpoint.latest(tmp_path) == bad
    content = bytearray((bad / name).read_bytes())
    content[len(content) // 2] ^= 1
    (bad / name).write_bytes(content[:-3] if harm == "cut" else content)
    if harm == "gone":
        (bad / name).unlink()
    assert checkpoint.latest(tmp_path) == good
    # When the run comes to that step again, it is written again.
    assert checkpoint.whole(checkpoint.save(tmp_path, network, optimizer, replace(COUNTERS, step=9)))
    assert checkpoint.latest(tmp_path) == bad


def test_known_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    assert checkpoint.latest(tmp_path / "absent") is None
    (tmp_path / "step-00000001").mkdir()
    assert checkpoint.latest(tmp_path) is None


def test_law_only_the_newest_and_what_they_need_stays(tmp_path: Path) -> None:
    network, optimizer = made()
    for step in (2, 4, 6):
        checkpoint.save_best(tmp_path, network, step)
    for step, best in ((2, 2), (4, 2), (6, 6)):
        assert checkpoint.whole(tmp_path / f"best-{best:08d}")
        path = checkpoint.save(tmp_path, network, optimizer, replace(COUNTERS, step=step, best_step=best))
    # Left by an earlier life: a damaged checkpoint that lies ahead, half-written folders.
    shutil.copytree(path, tmp_path / "step-00000099")
    for name in (".step-00000008.77.part", ".best-00000008.77.part", ".step-00000002.3.old"):
        shutil.copytree(path, tmp_path / name)
    (tmp_path / "else.txt").write_text("kept")
    checkpoint.prune(tmp_path, path, keep=2)
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == ["best-00000002", "best-00000006", "else.txt", "step-00000004", "step-00000006"]
    checkpoint.prune(tmp_path, path, keep=1)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["best-00000006", "else.txt", "step-00000006"]


def test_law_the_best_weights_come_back(tmp_path: Path) -> None:
    network, _ = made()
    before = weights(network)
    checkpoint.save_best(tmp_path, network, 3)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    checkpoint.load_best(tmp_path, network, 3)
    assert same(weights(network), before)
    with pytest.raises(UserError, match=r"best-00000004.* is missing or damaged"):
        checkpoint.load_best(tmp_path, network, 4)


def harm(folder: Path, how: str) -> None:
    """Damage a folder's weights, or lose them, or their checksums."""
    path = folder / (checkpoint.CHECKSUMS if how == "unsealed" else checkpoint.MODEL)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    if how == "unsealed":
        path.unlink()
    if how == "gone":
        shutil.rmtree(folder)


HARM = ["changed", "unsealed", "gone"]


@pytest.mark.parametrize("how", HARM)
def test_law_a_checkpoint_without_its_best_weights_is_passed_over(tmp_path: Path, how: str) -> None:
    network, optimizer = made()
    for step, best in ((2, None), (4, 3), (6, 5), (8, 5)):
        if best:
            checkpoint.save_best(tmp_path, network, best)
        value = None if best is None else 0.5
        checkpoint.save(tmp_path, network, optimizer, replace(COUNTERS, step=step, best=value, best_step=best or 0))
    assert checkpoint.latest(tmp_path) == tmp_path / "step-00000008"
    harm(tmp_path / "best-00000005", how)
    with pytest.raises(UserError, match=r"best-00000005 is missing or damaged; when the run goes on"):
        checkpoint.load_best(tmp_path, network, 5)
    checkpoint.mend(tmp_path)  # there is no step-00000005 to mend it from
    assert checkpoint.latest(tmp_path) == tmp_path / "step-00000004"
    harm(tmp_path / "best-00000003", how)
    assert checkpoint.latest(tmp_path) == tmp_path / "step-00000002"
    shutil.rmtree(tmp_path / "step-00000002")
    with pytest.raises(UserError, match=r"best-0000000\d is missing or damaged, .*put a copy of it back, or delete"):
        checkpoint.latest(tmp_path)


@pytest.mark.parametrize("how", HARM)
def test_law_best_weights_are_made_again_from_the_checkpoint_of_their_step(tmp_path: Path, how: str) -> None:
    network, optimizer = made()
    for step in (4, 6):
        if step == 4:
            checkpoint.save_best(tmp_path, network, step)
        path = checkpoint.save(tmp_path, network, optimizer, replace(COUNTERS, step=step, best_step=4))
    best = tmp_path / "best-00000004"
    before = {file.name: file.read_bytes() for file in best.iterdir()}
    harm(best, how)
    checkpoint.mend(tmp_path)
    assert {file.name: file.read_bytes() for file in best.iterdir()} == before
    assert checkpoint.latest(tmp_path) == path
    checkpoint.load_best(tmp_path, network, 4)
    harm(best, how)
    harm(tmp_path / "step-00000004", "changed")
    checkpoint.mend(tmp_path)
    assert not checkpoint.whole(best), "mended from what is damaged itself"


def test_law_every_file_follows_the_umask(tmp_path: Path) -> None:
    network, optimizer = made()
    checkpoint.save_best(tmp_path, network, 3)
    checkpoint.save(tmp_path, network, optimizer, COUNTERS)
    (tmp_path / "other").touch()
    modes = {file.stat().st_mode for file in tmp_path.rglob("*") if file.is_file()}
    assert modes == {(tmp_path / "other").stat().st_mode}


def test_law_tensors_that_do_not_fit_are_refused_and_change_nothing() -> None:
    network, _ = made()
    before = weights(network)
    good = checkpoint.tensors_of(network)
    name = "encoder.blocks.1.up.bias"
    lacking = {key: value for key, value in good.items() if key != name}
    cases = {
        rf"lacks '{name}' \(1 missing, 0 unknown\)": lacking,
        r"holds 'x', which it has no place for \(0 missing, 1 unknown\)": good | {"x": torch.ones(1)},
        r"'encoder.segment.weight' is \(3, 16\), not \(2, 16\)": good | {"encoder.segment.weight": torch.ones(3, 16)},
    }
    for sentence, tensors in cases.items():
        with pytest.raises(UserError, match=f"it came from here does not fit this model: .*{sentence}"):
            checkpoint.load_tensors(network, {key: value + 1 for key, value in tensors.items()}, "it came from here")
        assert same(weights(network), before)


@pytest.mark.parametrize("size", [0, 5, 200, -1])
def test_known_a_damaged_file_is_named(tmp_path: Path, size: int) -> None:
    path = tmp_path / "model.safetensors"
    checkpoint.write_tensors({"a": torch.ones(99)}, path)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(UserError, match=rf"{path} is missing or damaged \(.*fresh copy is needed"):
        checkpoint.read_tensors(path)


def test_law_a_full_disk_leaves_the_checkpoints_before(tmp_path: Path) -> None:
    network, optimizer = made()
    checkpoint.save_best(tmp_path, network, COUNTERS.best_step)
    good = checkpoint.save(tmp_path, network, optimizer, COUNTERS)
    with largest_file(3_000), pytest.raises(UserError) as caught:
        checkpoint.save(tmp_path, network, optimizer, replace(COUNTERS, step=9))
    sentence = str(caught.value)
    assert (
        sentence.startswith(f"cannot write {tmp_path / 'step-00000009'}: ")
        and "what was there is as it was" in sentence
    )
    assert "\n" not in sentence
    assert sorted(tmp_path.iterdir()) == [tmp_path / "best-00000004", good]
    assert checkpoint.latest(tmp_path) == good


def test_law_a_run_without_moments_yet_can_be_saved(tmp_path: Path) -> None:
    network = Network(nn.Linear(2, 2), SequenceHead(2, 2, AffineConfig()))
    optimizer = build_optimizer(network.encoder, network.head, OptimConfig())
    path = checkpoint.save(tmp_path, network, optimizer, Counters())
    assert checkpoint.restore(path, network, optimizer) == Counters()
