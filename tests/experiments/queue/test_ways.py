"""How jobs are done: pre-training with its curve, circuits and what is beside them (others are in test_work)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tellers
import toys
from psitext.baselines import bag_of_words
from psitext.config import build
from psitext.errors import UserError
from psitext.experiments import evaluation, queue
from psitext.experiments.queue import Bench, Queue
from psitext.experiments.queue.lifting import Lifting, lifts
from psitext.experiments.queue.rewriting import Rewriting, short
from psitext.experiments.results import lines, pages
from psitext.experiments.runs.corpus import NamedCorpus
from psitext.experiments.runs.recipes import CorpusConfig
from psitext.model import load
from psitext.text.examples import Example
from psitext.text.tasks import load_split, load_task
from psitext.text.tokenizer.learn import train as train_tokenizer
from psitext.train.loop import Hook

CIRCUIT = ["text.max_len=8", "encoder.max_len=8", "tokenizer.vocab_size=60", "encoder.bond=4", "train.epochs=2"]


@contextmanager
def quiet(name: str) -> Iterator[Hook]:
    yield lambda event: None


def test_smoke_two_pretrainings_and_their_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(toys.PRETRAIN)
    runs = [
        {"name": name, "how": "pretrain", "recipe": "small.toml", "tasks": ["toy"], "set": [f"train.optim.lr={rate}"]}
        for name, rate in (("slow", 1e-5), ("fast", 1e-2))
    ]
    wanted = build(Queue, {"title": "Rates", "curve": "loss words", "runs": runs}, "queue.toml")
    bench = Bench(tmp_path / "runs", tmp_path / "results" / "toy-rates.jsonl", None, {})
    assert queue.work(wanted, bench, quiet) == 2
    assert queue.work(wanted, bench, quiet) == 0
    found = {line.run: line for line in lines.read(bench.results)}
    assert found["fast"].metrics["loss words"] < found["slow"].metrics["loss words"]
    curve = found["fast"].notes["curve"]
    assert [point["tokens"] for point in curve] == sorted(point["tokens"] for point in curve)
    assert curve[-1]["loss words"] == found["fast"].metrics["loss words"]
    assert (bench.out / "fast" / "toy" / "seed-1" / "model").is_dir()
    drawing = pages.figure(wanted, bench.results)
    assert drawing is not None and "slow" in drawing and "fast" in drawing
    beside = wanted.model_copy(update={"beside": {"toy/rates": {"fast": "fast, from another table"}}})
    assert "| fast, from another table |" in pages.section(beside, bench.results)


def test_known_appendix_a(tmp_path: Path) -> None:
    pytest.importorskip("qiskit")
    bench = Bench(tmp_path / "runs", tmp_path / "lines.jsonl", None, {})
    wanted = queue.read_queue("qbert/appendix-a")
    assert queue.work(wanted, bench, quiet) == 1
    found = {line.run: line.metrics for line in lines.read(bench.results)}
    assert len(found) == 8
    assert found["weights of 1, exactly"]["largest"] < 1e-10
    assert all(metrics["p value"] > 1e-3 for run, metrics in found.items() if run.endswith("shots"))
    assert "p value" in pages.section(wanted, bench.results)


def circuits(folder: Path, *runs: dict[str, object]) -> tuple[Queue, Bench]:
    task = toys.task_file(folder, "sentiment")
    task.write_text(task.read_text() + 'test = { of = "train", share = 0.2 }\n')
    usual = {"recipe": "rac", "tasks": ["sentiment.toml"], "set": CIRCUIT, "splits": ["test"]}
    wanted = build(Queue, {"title": "Circuits", "runs": [{**usual, **run} for run in runs]}, "queue.toml")
    return wanted, Bench(folder / "runs", folder / "lines.jsonl", None, {})


def fitted(monkeypatch: pytest.MonkeyPatch) -> list[list[Example]]:
    """What every bag of words is fitted to from here on."""
    seen: list[list[Example]] = []

    def fit(train: list[Example], *args: object, **settings: object) -> bag_of_words.BagOfWords:
        seen.append(train)
        return real(train, *args, **settings)  # type: ignore[arg-type]

    real = bag_of_words.fit
    monkeypatch.setattr(bag_of_words, "fit", fit)
    return seen


def test_law_a_bag_of_words_reads_what_the_model_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seen = fitted(monkeypatch)
    wanted, bench = circuits(tmp_path, {"name": "bag", "how": "bag-of-words"})
    assert queue.work(wanted, bench, quiet) == 1
    train = load_split(load_task("sentiment.toml"), "train")
    tokenizer = train_tokenizer("plain-words", [example.text for example in train], 60)
    for found in seen:
        for example, whole in zip(found, train, strict=True):
            [ids] = tokenizer.encode([whole.text])
            known = [word for word in tokenizer.tokens(ids) if word != "[UNK]"]
            assert example.text.split() == known[-6:] and example.label == whole.label
    words, pairs = lines.read(bench.results)
    assert (words.run, pairs.run, words.split) == ("bag", "bag, and pairs", "test")
    assert pairs.metrics["accuracy"] > 0.5 and words.metrics != pairs.metrics


def test_law_a_bag_of_words_reads_what_the_model_reads_that_a_job_starts_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its words, whatever tokenizer the recipe would make, and no more of them than it has places for."""
    monkeypatch.chdir(tmp_path)
    seen = fitted(monkeypatch)
    circuit = {"name": "circuit", "set": [*CIRCUIT, "train.epochs=1"]}
    bag = {"name": "bag", "how": "bag-of-words", "recipe": "rac-tune", "init": "circuit", "set": []}
    wanted, bench = circuits(tmp_path, circuit, bag)
    assert queue.work(wanted, bench, quiet) == 2
    model = load(bench.out / "circuit" / "sentiment.toml" / "seed-1")
    train = load_split(load_task("sentiment.toml"), "train")
    for example, whole in zip(seen[0], train, strict=True):
        [ids] = model.tokenizer.encode([whole.text])
        assert example.text.split() == [word for word in model.tokenizer.tokens(ids) if word != "[UNK]"][-6:]


def test_smoke_a_circuit_compressed_and_trained_at_that_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    circuit = {"name": "circuit", "how": "compress", "sizes": [2, 3]}
    wanted, bench = circuits(tmp_path, circuit, {"name": "alone", "set": [*CIRCUIT, "train.epochs=1"]})
    assert queue.work(wanted, bench, quiet) == 2
    assert queue.work(wanted, bench, quiet) == 0
    found = {(line.run, line.split): line.metrics for line in lines.read(bench.results)}
    named = [run for run, split in found if split == "test"]
    smaller = [f"compressed to {n}, {m} metric" for n in (2, 3) for m in ("paper", "data")]
    assert named == ["circuit", *smaller, "trained, chi = 2", "trained, chi = 3", "alone"]
    assert ("alone", "dev") in found, "fine-tuning is scored there in any case"
    assert [found[run, "test"]["bond"] for run in named[:-1]] == [5, 2, 2, 3, 3, 3, 4]
    smaller = found["compressed to 3, data metric", "test"]
    assert next(iter(smaller)) == "accuracy" and smaller["measured error"] > 0 and smaller["predicted error"] > 0
    assert "predicted error" not in found["trained, chi = 2", "test"]
    larger = circuits(tmp_path, {**circuit, "sizes": [2]})[0]
    assert queue.work(larger, bench, quiet) == 1, "other sizes are another run"


def corpus_at(folder: Path, monkeypatch: pytest.MonkeyPatch, sentences: list[str]) -> None:
    """A named corpus whose test text are these sentences."""
    path = folder / "sentences.txt"
    path.write_text("".join(f"{one}\n" for one in sentences), encoding="utf-8")
    found = NamedCorpus(title="made up", train=(), test=(CorpusConfig(files=(str(path),), lines=True),))
    monkeypatch.setattr("psitext.experiments.runs.corpus.named", lambda name: found)


def test_known_sentences_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tellers.space()
    long = " ".join(["a", "girl"] * 5)
    corpus_at(tmp_path, monkeypatch, [*tellers.SENTENCES, tellers.SENTENCES[0], long])
    model.save(tmp_path / "space")
    run = {"name": "small", "how": "reconstruction", "init": "space", "tasks": ["made"]}
    few = {**run, "name": "few", "rewriting": {"max_words": 3, "sentences": 3}}
    wanted = build(Queue, {"title": "Again", "all_metrics": True, "runs": [run, few]}, "queue.toml")
    bench = Bench(tmp_path / "runs", tmp_path / "lines.jsonl", None, {"space": str(tmp_path / "space")})
    assert queue.work(wanted, bench, quiet) == 2
    assert queue.work(wanted, bench, quiet) == 0
    found = {line.run: line for line in lines.read(bench.results)}
    assert found["small"].rows == {"test": 12, "of": 12}, "distinct ones of at most eight words"
    assert found["few"].rows == {"test": 3, "of": sum(len(one.split()) <= 3 for one in tellers.SENTENCES)}
    written = model.decode(model.encode(tellers.SENTENCES))
    exact = sum(old == new for old, new in zip(tellers.SENTENCES, written, strict=True)) / 12
    metrics = found["small"].metrics
    assert exact > 0.5 and metrics["exact_match"] == pytest.approx(exact)
    assert metrics["exact_match"] <= metrics["token_accuracy"] <= 1
    assert found["small"].notes["latent"] == tellers.WIDTH
    assert "exact_match" in pages.section(wanted, bench.results)
    corpus_at(tmp_path, monkeypatch, [long])
    with pytest.raises(UserError, match="no sentence of at most 8 words"):
        short("made", Rewriting(), None)


def test_known_a_model_as_it_is_has_the_likelihood_that_evaluate_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_at(tmp_path, monkeypatch, tellers.SENTENCES)
    models = {"space": tellers.space(), "alone": tellers.language_model()}
    for name, model in models.items():
        model.save(tmp_path / name)
    usual = {"how": "space-as-is", "tasks": ["made"], "bound": {"sentences": 8, "draws": 3}}
    wanted = build(Queue, {"title": "T", "runs": [{**usual, "name": name, "init": name} for name in models]}, "q.toml")
    bench = Bench(tmp_path / "runs", tmp_path / "lines.jsonl", None, {name: str(tmp_path / name) for name in models})
    assert queue.work(wanted, bench, quiet) == 2
    assert queue.work(wanted, bench, quiet) == 0
    part = CorpusConfig(files=("corpus:made/test",))
    for line in lines.read(bench.results):
        expected = evaluation.judged_space(models[line.run], part, sentences=8, draws=3)
        assert line.metrics["ppl_word"] == pytest.approx(expected.ppl_word)
        assert line.rows == {"test": 8, "mi": 12} and line.notes["k"] == (3 if line.run == "space" else 1)


def test_known_lifts_beside_their_bert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    task = load_task(str(toys.task_file(tmp_path, "sentiment")))
    model = load(toys.pretrained())
    bert, zero, wide = lifts(model, task, Lifting(sentences=12, batch=5, rounds=1), None)
    assert bert.rows == {"dev": 12}
    assert bert.metrics["largest_difference"] == 0 < zero.metrics["largest_difference"] < 1e-5
    assert 0 < wide.metrics["largest_difference"] < 1e-5
    counts = [row.metrics["real_parameters"] for row in (bert, zero, wide)]
    pooler = 32 * 33
    assert counts[1] == 2 * (counts[0] - pooler) and counts[2] == counts[0] - pooler
    assert [row.metrics["width"] for row in (bert, zero, wide)] == [32, 32, 16]
    assert [row.metrics["qubits"] for row in (bert, zero, wide)] == [5, 5, 4]
    assert bert.metrics["times_bert"] == bert.metrics["times_bert_with_gradients"] == 1
    assert zero.metrics["kept_for_gradients_mib"] > bert.metrics["kept_for_gradients_mib"] > 0
    with pytest.raises(UserError, match="a lift starts from a real BERT, and this model is a lstm-vae"):
        lifts(tellers.space(), task, Lifting(), None)
