"""Several processes on the CPU: the loss curve of one, the files of one, and nothing said twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file
from torch.testing import assert_close

import door
import toys

# accelerate offers FSDP2 on accelerators only; torch's works on a CPU too, so the test says that this is one.
SHARDED = """
from accelerate import FullyShardedDataParallelPlugin
from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import DistributedType
from psitext.experiments.runs import ranks
make = ranks.accelerator
def sharding():
    found = make()
    for state in (AcceleratorState, PartialState):
        state._shared_state["distributed_type"] = DistributedType.FSDP
    AcceleratorState._shared_state["fsdp_plugin"] = FullyShardedDataParallelPlugin(
        fsdp_version=2, auto_wrap_policy="no_wrap", cpu_ram_efficient_loading=False,
        state_dict_type="FULL_STATE_DICT",
    )
    return found
ranks.accelerator = sharding
import psitext.train.checkpoint
from torch.distributed.tensor import DTensor
save = psitext.train.checkpoint.save
def save_sharded(folder, network, *others, **named):
    path = save(folder, network, *others, **named)
    assert all(isinstance(parameter, DTensor) for parameter in network.parameters())
    return path
psitext.train.checkpoint.save = save_sharded
"""
# Without dropout, and without Adam's making steps of full size out of slopes that are nothing but rounding.
STILL = ["encoder.dropout=0", "encoder.attention_dropout=0", "train.optim.eps=1e-4", "head.dropout=0"]


@pytest.fixture(scope="module", params=["pretrain", "finetune"])
def verb(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def place(verb: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the verb's recipe and a run ``one`` of one process."""
    folder = tmp_path_factory.mktemp(verb)
    recipe = toys.PRETRAIN if verb == "pretrain" else f'task = "{toys.task_file(folder, "sentiment")}"' + toys.FINETUNE
    (folder / f"{verb}.toml").write_text(recipe, encoding="utf-8")
    done = door.run(*order(verb, "one"), "--set", "train.accumulation=4", cwd=folder)
    assert done.code == 0, done.err
    return folder


def order(verb: str, out: str) -> list[str]:
    settings = STILL if verb == "finetune" else STILL[:3]
    return [verb, "--config", f"{verb}.toml", "-o", out, *(part for value in settings for part in ("--set", value))]


def assert_close_runs(run: Path, other: Path, atol: float = 2e-4) -> None:
    ours, theirs = toys.events(run), toys.events(other)
    assert [(event["kind"], event["step"]) for event in ours] == [(event["kind"], event["step"]) for event in theirs]
    for mine, other_event in zip(ours, theirs, strict=True):
        for name, value in mine.items():
            assert value == pytest.approx(other_event[name], abs=atol), (mine["step"], name)
    mine, others = (load_file(folder / "model" / "model.safetensors") for folder in (run, other))
    assert mine.keys() == others.keys()
    for name, tensor in mine.items():
        assert_close(tensor, others[name], rtol=0, atol=atol)
    assert sorted(door.files(run)) == sorted(door.files(other))


def done(children: list[door.Child], code: int = 0) -> door.Done:
    """What the main process said, after all have ended as they should."""
    ended = [child.wait() for child in children]
    assert [one.code for one in ended] == [code] * len(ended), [one.err for one in ended]
    assert [one.out for one in ended[1:]] == [""] * (len(ended) - 1)
    return ended[0]


def stopped_and_resumed(verb: str, place: Path, out: str, before: str = "") -> Path:
    """A run of two processes of which one gets a signal, and which then goes on."""
    children = door.ranks(2, *order(verb, out), cwd=place, before=before)
    door.until(lambda: (place / out / "metrics.jsonl").exists())
    children[1].kill(signal.SIGINT)
    assert f"`psitext resume {out}` goes on from there" in done(children, code=130).err
    done(door.ranks(2, "resume", out, cwd=place, before=before))
    return place / out


def test_law_two_processes_give_the_loss_curve_of_one(verb: str, place: Path) -> None:
    said = done(door.ranks(2, *order(verb, "two"), cwd=place))
    assert "model: two/model" in said.out
    assert_close_runs(place / "two", place / "one")
    if verb == "pretrain":
        again = stopped_and_resumed(verb, place, "stopped")
        assert door.files(again / "model") == door.files(place / "two" / "model")
        assert toys.events(again) == toys.events(place / "two")


def test_law_fully_sharded_processes_give_the_loss_curve_of_one(verb: str, place: Path) -> None:
    assert_close_runs(stopped_and_resumed(verb, place, "sharded", SHARDED), place / "one")


def test_law_torchrun_finds_the_processes(tmp_path: Path) -> None:
    """The launcher itself, once: the command of the README."""
    (tmp_path / "recipe.toml").write_text(toys.PRETRAIN, encoding="utf-8")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*launcher, "-m", "psitext", "pretrain", "--config", "recipe.toml", "-o", "run", "--set", "train.steps=3"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("model: run/model") == 1
    assert [event["step"] for event in toys.events(tmp_path / "run")] == [3, 3]


QBERT = """
[[corpus]]
files = ["toy:60"]
[tokenizer]
vocab_size = 120
[encoder]
family = "qbert"
width = 8
layers = 1
heads = 2
hidden = 12
max_len = 32
dropout = 0
attention_dropout = 0
[samples]
max_len = 32
[train]
steps = 4
batch_tokens = 400
accumulation = 2
log_every = 1
evaluate_every = 4
precision = "fp32"
optim.kind = "cadamw"
optim.lr = 3e-3
optim.eps = 1e-4
"""


def test_law_two_processes_train_a_complex_encoder_as_one_does(tmp_path: Path) -> None:
    (tmp_path / "qbert.toml").write_text(QBERT, encoding="utf-8")
    command = ["pretrain", "--config", "qbert.toml", "-o"]
    one = door.run(*command, "one", "--set", "train.accumulation=4", cwd=tmp_path)
    assert one.code == 0, one.err
    said = done(door.ranks(2, *command, "two", cwd=tmp_path))
    assert "model: two/model" in said.out
    assert_close_runs(tmp_path / "two", tmp_path / "one")
