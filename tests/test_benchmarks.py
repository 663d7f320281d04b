"""The benchmarks in a tiny form: that both sides do the same work, that results become lines. No time is judged."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from psitext.assemble import build_encoder
from psitext.errors import UserError
from psitext.experiments.bench import finetuning, pretraining, suite
from psitext.experiments.bench.racing import Course
from psitext.experiments.bench.timing import Measured, Timing, compare
from psitext.experiments.bench.using import encoding, startup
from psitext.experiments.results import lines
from psitext.experiments.results.pages import measurements
from psitext.heads.affine import AffineConfig
from psitext.model import load
from psitext.nn.numerics import Precision

RESULTS = Path(__file__).parents[1] / "results"
TINY = Course(rounds=1, steps=2, sequences=4)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> pretraining.Text:
    return pretraining.read_text(None, tmp_path_factory.mktemp("store"), "bert-tiny", "toy:60")


@pytest.fixture(scope="module")
def data() -> finetuning.Classified:
    """The embedded reviews and a small BERT without dropout, so that both sides must agree."""
    found = finetuning.read_task(None, None, examples=200)
    shape = {"width": 32, "layers": 2, "heads": 2, "hidden": 64, "dropout": 0.0, "attention_dropout": 0.0}
    recipe = found.recipe.model_copy(update={"head": AffineConfig(dropout=0.0)})
    encoder = build_encoder(found.encoder.config.model_copy(update=shape))
    return finetuning.Classified(found.name, found.task, recipe, found.source, encoder)


def test_known_ratios_are_medians_over_rounds_after_the_first() -> None:
    now, done = [0.0], []

    def step(name: str, seconds: float) -> Callable[[], None]:
        def run() -> None:
            now[0] += seconds
            done.append(name)

        return run

    ours = [1.0, 1.0, 2.0, 4.0]
    theirs = [9.0, 3.0, 4.0, 4.0]
    rounds = [
        ([step(f"{n}a", o / 2), step(f"{n}b", o / 2)], [step(f"{n}x", t)])
        for n, (o, t) in enumerate(zip(ours, theirs, strict=True))
    ]
    assert compare(rounds, clock=lambda: now[0]) == Timing(ours=2.0, theirs=4.0, ratio=2.0)
    assert [name for name in done if name[1] != "x"] == [f"{n}{letter}" for n in range(4) for letter in "ab"]
    assert sorted(name for name in done if name[1] == "x") == [f"{n}x" for n in range(4)]
    with pytest.raises(ValueError, match="warm up"):
        compare(rounds[:1])


def test_law_every_sample_comes_once_before_any_comes_again() -> None:
    chunks = list(Course(rounds=4, steps=2, sequences=5).chunks(33))
    assert [len(chunk) for chunk in chunks] == [10] * 5
    first = np.concatenate(chunks[:3])
    assert len(set(first.tolist())) == 30
    assert not np.array_equal(chunks[0], chunks[3])
    with pytest.raises(ValueError, match="do not fill"):
        next(Course(rounds=1, steps=2, sequences=5).chunks(9))


def test_parity_fine_tuning_is_the_same_on_both_sides(data: finetuning.Classified) -> None:
    before = data.encoder.token.weight.detach().clone()
    found = finetuning.training_speed(data, Course(rounds=2, steps=3, sequences=8))
    assert found.losses is not None and found.rows == 48
    assert found.losses[0] == pytest.approx(found.losses[1], abs=1e-4)
    assert torch.equal(data.encoder.token.weight, before), "the next benchmark starts from the same weights"
    again = finetuning.training_speed(data, Course(rounds=2, steps=3, sequences=8, pool=3, their_pool=3), "fp32")
    assert again.losses is not None and "grouped" in again.name
    assert again.losses[0] == pytest.approx(again.losses[1], abs=1e-4)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_smoke_pretraining(text: pretraining.Text, precision: Precision) -> None:
    found = pretraining.training_speed(text, text.tokenizer.vocab_size + 100, TINY, precision)
    assert found.losses is not None and precision in found.name
    assert found.losses[0] == pytest.approx(found.losses[1], abs=0.5)  # masks differ, and hardly anything is learned
    assert min(found.ours, found.theirs, found.ratio) > 0


def test_law_their_rows_are_our_samples(text: pretraining.Text) -> None:
    rows, source = pretraining.rows(text.source), text.source
    lengths, ids, segments = source.texts(np.arange(len(rows)), 0)
    assert [len(row["input_ids"]) for row in rows] == lengths.tolist()
    assert [id for row in rows for id in row["input_ids"]] == ids.tolist()
    assert [segment for row in rows for segment in row["token_type_ids"]] == segments.tolist()
    follows = source.table(0).next
    assert [row["next_sentence_label"] for row in rows] == np.where(follows < 0, -100, follows).tolist()
    special = [bool(mark) for row in rows for mark in row["special_tokens_mask"]]
    assert np.array_equal(special, np.isin(ids, [text.tokenizer.cls, text.tokenizer.sep]))


def test_smoke_batches(text: pretraining.Text, data: finetuning.Classified, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (pretraining, finetuning):
        monkeypatch.setattr(module, "BUILDS", 2)
        monkeypatch.setattr(module, "BUILT", 4)
    for found in (pretraining.building_speed(text, 1, 0), finetuning.building_speed(data, 1, 0)):
        assert "batches of 4" in found.name and found.ratio == pytest.approx(found.ours / found.theirs)


def test_smoke_startup(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HELP", "IMPORT", "MODEL", "THEIR_IMPORT", "THEIR_MODEL"):
        monkeypatch.setattr(startup, name, ("-c", "sum(range(1_000_000))"))
    found = startup.startup(rounds=1, seed=0)
    assert len(found) == 3 and all(one.ours > 0 and one.theirs > 0 for one in found)


def test_parity_both_sides_encode_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.setattr(encoding.shipped, "names", list)
    found = encoding.read(None, None, sentences=40)
    assert found.named == "toy-sentiment, 2 layers of 128" and len(found.texts) == 40
    monkeypatch.setattr(encoding, "POOLS", {"cls": "[CLS]"})
    (measured,) = encoding.encoding_speed(found, rounds=1, seed=0)
    assert measured.name == "encoding toy-sentiment, 2 layers of 128, [CLS], against sentence-transformers"
    assert measured.ratio == pytest.approx(measured.ours / measured.theirs)
    found.write(tmp_path / "ours", tmp_path / "theirs")
    ours = load(tmp_path / "ours").encode([startup.SENTENCE]).numpy()[0].tolist()
    names: dict[str, object] = {"print": lambda value: said.append(value)}
    said: list[list[float]] = []
    exec(startup.THEIR_ENCODING.format(folder=str(tmp_path / "theirs"), sentence=startup.SENTENCE), names)
    assert said[0] == pytest.approx(ours, abs=1e-5)

    def wrong(folder: Path, pool: str) -> Callable[[list[str]], np.ndarray]:
        return lambda texts: np.zeros((len(texts), 128))

    monkeypatch.setattr(encoding, "sentence_encoder", wrong)
    with pytest.raises(AssertionError, match="the vectors of the two sides differ by"):
        next(encoding.encoding_speed(found, rounds=1, seed=0))


def test_smoke_one_sentence_from_the_shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[startup.Arguments] = []
    monkeypatch.setattr(startup, "start", ran.append)
    monkeypatch.setattr(startup, "children_seconds", iter(range(100)).__next__)
    found = startup.encoding("tiny", tmp_path / "ours", tmp_path / "theirs", rounds=1, seed=0)
    assert found.name == "`psitext encode` of one sentence, tiny, against the same in transformers"
    assert {arguments[0] for arguments in ran} == {"-m", "-c"} and (found.ours, found.theirs) == (1, 1)


# Which benchmark makes a committed line, by how its name begins.
MAKES = {
    "`psitext": "startup",
    "`import": "startup",
    "encoding ": "encoding",
    "building ": "batches",
    "pre-training on .* fp32": "pretraining",
    "pre-training on .* bf16": "pretraining-bf16",
    "fine-tuning on .* fp32": "finetuning",
    "fine-tuning on .* bf16": "finetuning-bf16",
    "a CAdamW step": "cadamw",
    "QBERT's .*fp32": "complex-layer",
    "QBERT's .*bf16": "complex-layer-bf16",
    "exp.iH. of": "unitary-head",
    "a step of .* fp32": "qbert-pretraining",
    "a step of .* bf16": "qbert-pretraining-bf16",
    "(a training step of a RAC|entropies of .* quimb)": "rac",
    "(a training step|entropies) of RACs, ": "rac-scale",
    "the bound of .* fp32": "iwae",
    "the bound of .* bf16": "iwae-bf16",
    ".* sentences of .* fp32": "generation",
    ".* sentences of .* bf16": "generation-bf16",
}


def test_law_every_speed_on_the_results_page_can_be_measured_by_name() -> None:
    assert set(MAKES.values()) == set(suite.BENCHMARKS)
    committed = [line for file in sorted(RESULTS.glob("*.jsonl")) for line in lines.read(file) if line.split == "speed"]
    assert committed
    made = {line.task: [name for start, name in MAKES.items() if re.match(start, line.task)] for line in committed}
    assert [task for task, names in made.items() if len(names) != 1] == []


def test_law_every_benchmark_is_on_the_page() -> None:
    page = (RESULTS.parent / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert [name for name in suite.BENCHMARKS if f"`{name}`" not in page] == []


def test_known_results_are_lines_of_one_table(tmp_path: Path) -> None:
    settings = suite.Settings(rounds=3)
    found = [
        suite.line(Measured("training", "tokens/s", 300.0, 150.0, 2.0, (1.25, 1.5), 96), settings, 9.87),
        suite.line(Measured("starting", "s", 0.1, 1.0, 10.0), settings, 1.0),
    ]
    for line in found:
        lines.append(tmp_path / "bench.jsonl", line)
    assert lines.read(tmp_path / "bench.jsonl") == found
    assert found[0].rows == {"train": 96} and found[0].notes["rounds"] == 3
    page = measurements(tmp_path / "bench.jsonl")
    assert "## Speed" in page and "| training (tokens/s) | 2 | 300 | 150 | 1.25 | 1.5 |" in page
    assert suite.table(found)[0] == {
        "benchmark": "training (tokens/s)",
        "ours": "300",
        "theirs": "150",
        "ratio": "2",
        "last losses": "1.250 / 1.500",
    }


def test_known_the_suite_runs_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Measured("made", "s", 1.0, 2.0, 2.0)
    monkeypatch.setattr(suite, "BENCHMARKS", dict.fromkeys(["one", "two"], lambda inputs: iter([made])))
    told: list[str] = []
    assert [line.task for line in suite.run(suite.Settings(only=("two",)), told.append)] == ["made (s)"]
    assert told == ["two ..."]
    with pytest.raises(UserError, match="no benchmark called 'tow'; did you mean 'two'"):
        list(suite.run(suite.Settings(only=("tow",)), told.append))


def test_known_without_transformers_it_says_what_it_skips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "find_spec", lambda name: None)
    told: list[str] = []
    assert list(suite.run(suite.Settings(only=("startup", "batches")), told.append)) == []
    assert told == [
        "skipped, because transformers is not installed (pip install 'psitext[hf]'): startup, batches",
    ]
