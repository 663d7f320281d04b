"""Tasks and their splits: official and shared layouts, splits made by rule, a user's tables and tasks."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from psitext.errors import UserError
from psitext.score.metrics import METRICS
from psitext.text import toy
from psitext.text.examples import METRICS_OF_KIND, Task
from psitext.text.tasks import TASKS, load_split, load_task, read_split

# Rows of every split in the shared data folder, as its README counts them.
SHARED = {
    "cola": {"train": 8551, "dev": 1043},
    "sst2": {"train": 67349, "dev": 872, "test": 1821},
    "mrpc": {"train": 3668, "dev": 408, "test": 1725},
    "qqp": {"train": 22867, "dev": 9999},
    "stsb": {"train": 5749, "dev": 1500, "test": 1379},
    "mnli": {"train": 9999, "dev_matched": 9815, "dev_mismatched": 1000, "train_kshot": 480},
    "qnli": {"train": 9999, "dev": 5463, "test": 5463},
    "rte": {"train": 2490, "dev": 277, "test": 3000},
    "snli": {"train": 9999, "dev": 9842, "test": 9824, "dev_tok": 9842},
    "imdb": {"train+dev": 25000, "test": 25000},
    "imdb-pooled": {"train+dev+test": 50000},
    "rt": {"train+dev+test": 10662},
    "lambeq-mc": {"train": 70, "dev": 30, "test": 30},
    "lambeq-rp": {"train+dev": 74, "test": 31},
    "yelp": {"dev": 25278 + 38205},
    "brown-tags": {"train+dev+test": 57340},
    "qbert-cola": {"train": 280, "dev": 70, "train_4": 280, "dev_4": 70},
    "qbert-qqp": {"train": 280, "dev": 70, "train_4": 280, "dev_4": 70},
    "qbert-sst2": {"train": 264, "dev": 68, "train_4": 266, "dev_4": 66},
}
PARTIAL = {
    ("mnli", "train"),
    ("mnli", "dev_mismatched"),
    ("qnli", "train"),
    ("qqp", "train"),
    ("snli", "train"),
}
CLASSES = {
    ("cola", "train"): {"unacceptable": 2528, "acceptable": 6023},
    ("sst2", "dev"): {"negative": 428, "positive": 444},
    ("mrpc", "dev"): {"different": 129, "paraphrase": 279},
    ("mnli", "dev_matched"): {"entailment": 3479, "neutral": 3123, "contradiction": 3213},
    ("rte", "dev"): {"entailment": 146, "not_entailment": 131},
    ("imdb", "test"): {"negative": 12500, "positive": 12500},
    ("lambeq-mc", "test"): {"software": 15, "food": 15},
}


def folder(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return root


def said(call: object) -> str:
    with pytest.raises(UserError) as caught:
        call()  # type: ignore[operator]
    return str(caught.value)


# --- the records


def test_law_metrics_exist_and_fit() -> None:
    assert set(METRICS) == {name for names in METRICS_OF_KIND.values() for name in names}
    for name, task in TASKS.items():
        assert task.name == name
        assert task.headline in task.metrics
        assert task.title and (task.terms or name.startswith("toy-"))
        assert task.splits and set(task.label_values.values()) <= set(task.labels)


def test_known_glue_conventions() -> None:
    glue = "cola sst2 mrpc qqp stsb mnli qnli rte wnli ax".split()
    assert set(glue) <= set(TASKS)
    headlines = {name: TASKS[name].headline for name in glue}
    assert headlines == {
        "cola": "matthews", "sst2": "accuracy", "mrpc": "f1", "qqp": "f1", "stsb": "pearson",
        "mnli": "accuracy", "qnli": "accuracy", "rte": "accuracy", "wnli": "accuracy", "ax": "matthews",
    }  # fmt: skip
    assert all(TASKS[name].hidden_test for name in glue)
    assert TASKS["mnli"].dev_splits == ("dev_matched", "dev_mismatched")
    assert (TASKS["stsb"].low, TASKS["stsb"].high) == (0.0, 5.0)
    # F1 is of class 1, so that must be the paraphrase; and MNLI's order is that of the published checkpoints.
    assert TASKS["mrpc"].labels[1] == "paraphrase" and TASKS["qqp"].labels[1] == "duplicate"
    assert TASKS["mnli"].labels == TASKS["snli"].labels == ("entailment", "neutral", "contradiction")


def test_known_names() -> None:
    assert load_task("sst2") is TASKS["sst2"]
    message = said(lambda: load_task("sts2"))
    assert message.startswith("no task called 'sts2'; did you mean ")
    own = " `psitext tasks` lists all, and the name of a .toml file stands for a task of your own: its kind, columns, "
    assert message.endswith(f"?{own}labels and files")
    assert "'sst2'" in message and "'stsb'" in message
    assert said(lambda: load_task("zzz")) == f"no task called 'zzz';{own}labels and files"


def test_known_page_lists_every_task_and_its_example_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    table = page.split("| --- | --- | --- | --- | --- |\n")[1].split("\n\n")[0]
    assert [line.split("|")[1].strip() for line in table.splitlines()] == sorted(TASKS)
    for line in table.splitlines():
        _, name, kind, splits, labels, metrics, _ = (cell.strip() for cell in line.split("|"))
        task = TASKS[name]
        assert (kind, metrics.count("**")) == (task.kind, 2)
        assert metrics.replace("**", "").split(", ") == list(task.metrics)
        assert f"**{task.headline}**" in metrics
        assert name.startswith("qbert") or splits.split(", ") == list(task.splits)
        assert task.kind != "classification" or labels.split(", ") == list(task.labels)
    example = page.split("```toml\n")[1].split("```")[0]
    data = folder(tmp_path, {"mine.toml": example, "train.tsv": "question\treply\tanswered\na\tb\t1\nc\td\t?\n"})
    task = load_task(str(data / "mine.toml"))
    got = read_split(task, "train")
    assert ([example.label for example in got.examples], got.dropped) == (["yes"], 1)


# --- splits

HEAD = "index\tsentence1\tsentence2\tlabel\n"
PARSES = "\t".join(["index", "promptID", "sentence1_parse", "sentence1", "sentence2", "label1", "gold_label"])
OFFICIAL = {
    "CoLA/train.tsv": "gj04\t1\t\tBirds sing.\ngj04\t0\t*\tSing birds the.\n",
    "CoLA/test.tsv": "index\tsentence\n0\tDogs bark.\n",
    "SST-2/train.tsv": "sentence\tlabel\ngood \t1\nbad \t0\n",
    "SST-2/test.tsv": "index\tsentence\n0\tfine\n",
    "MRPC/train.tsv": "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t7\t8\ta\tb\r\n",
    "MRPC/test.tsv": "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t7\t8\ta\tb\n",
    "QQP/train.tsv": "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
    "0\t1\t2\ta\tb\t1\n1\t3\t4\tcut\nhere\t0\n2\t5\t6\tc\td\t0\n",
    "QQP/test.tsv": "id\tquestion1\tquestion2\n0\ta\tb\n",
    "STS-B/dev.tsv": "index\tsentence1\tsentence2\tscore\n0\ta\tb\t3.8\n",
    "MNLI/train.tsv": PARSES + "\n0\t1\t(p)\ta\tb\tneutral\tneutral\n",
    "MNLI/dev_mismatched.tsv": PARSES + "\n0\t1\t(p)\ta\tb\tneutral\t-\n1\t1\t(p)\tc\td\tneutral\tneutral\n",
    "MNLI/test_matched.tsv": "index\tsentence1\tsentence2\n0\ta\tb\n",
    "QNLI/dev.tsv": "index\tquestion\tsentence\tlabel\n0\ta\tb\tnot_entailment\n",
    "RTE/dev.tsv": HEAD + "0\ta\tb\tentailment\n",
    "WNLI/dev.tsv": HEAD + "0\ta\tb\t1\n",
    "diagnostic/diagnostic.tsv": "index\tsentence1\tsentence2\n0\ta\tb\n",
    "snli_1.0/snli_1.0_dev.jsonl": '{"gold_label": "-", "sentence1": "a", "sentence2": "b"}\n'
    '{"gold_label": "neutral", "sentence1": "c", "sentence2": "d"}\n',
}
FOUND = [
    ("cola", "train", [("Birds sing.", None, "acceptable"), ("Sing birds the.", None, "unacceptable")], 0),
    ("cola", "test", [("Dogs bark.", None, None)], 0),
    ("sst2", "train", [("good", None, "positive"), ("bad", None, "negative")], 0),
    ("sst2", "test", [("fine", None, None)], 0),
    ("mrpc", "train", [("a", "b", "paraphrase")], 0),
    ("mrpc", "test", [("a", "b", None)], 0),
    ("qqp", "train", [("a", "b", "duplicate"), ("c", "d", "different")], 2),
    ("qqp", "test", [("a", "b", None)], 0),
    ("stsb", "dev", [("a", "b", 3.8)], 0),
    ("mnli", "train", [("a", "b", "neutral")], 0),
    ("mnli", "dev_mismatched", [("c", "d", "neutral")], 1),
    ("mnli", "test_matched", [("a", "b", None)], 0),
    ("qnli", "dev", [("a", "b", "not_entailment")], 0),
    ("rte", "dev", [("a", "b", "entailment")], 0),
    ("wnli", "dev", [("a", "b", "entailment")], 0),
    ("ax", "test", [("a", "b", None)], 0),
    ("snli", "dev", [("c", "d", "neutral")], 1),
]


@pytest.mark.parametrize("below", ["", "glue_data"])
@pytest.mark.parametrize(("name", "split", "wanted", "dropped"), FOUND, ids=[f"{row[0]}-{row[1]}" for row in FOUND])
def test_known_official_layout(
    tmp_path: Path, below: str, name: str, split: str, wanted: list[object], dropped: int
) -> None:
    folder(tmp_path / below, OFFICIAL)
    got = read_split(TASKS[name], split, tmp_path)
    assert [(example.text, example.pair, example.label) for example in got.examples] == wanted
    assert got.dropped == dropped
    assert not any("partial" in note for note in got.notes)


def test_known_official_layout_of_imdb(tmp_path: Path) -> None:
    """A folder for each label, a file for each review."""
    files = {f"aclImdb/train/{label}/{n}_1.txt": f"{label} {n}" for label in ("neg", "pos") for n in range(40)}
    found = load_split(TASKS["imdb"], "train+dev", folder(tmp_path, files))
    assert {e.text for e in found} == set(files.values())
    assert all((e.label == "positive") == e.text.startswith("pos") and e.line == 1 for e in found)


def test_known_official_files_come_before_partial_ones(tmp_path: Path) -> None:
    rows = HEAD.replace("label", "gold_label") + "0\ta\tb\tneutral\n"
    folder(tmp_path, {"glue/mnli/train_sample.tsv.gz": rows})
    partial = read_split(TASKS["mnli"], "train", tmp_path)
    assert partial.notes[0].startswith("partial: a random sample of 9,999 of the 392,702")
    assert "partial" in str(partial)
    folder(tmp_path, {"glue_data/MNLI/train.tsv": rows + "1\tc\td\tneutral\n"})
    whole = read_split(TASKS["mnli"], "train", tmp_path)
    assert (len(whole.examples), whole.notes) == (2, ())


def test_law_made_splits_look_at_the_text_alone(tmp_path: Path) -> None:
    texts = [f"snippet number {number}" for number in range(400)]
    data = folder(
        tmp_path / "a",
        {"rt_polarity/rt-polarity.neg": "\n".join(texts), "rt_polarity/rt-polarity.pos": "so fine"},
    )
    parts = {split: {e.text for e in load_split(TASKS["rt"], split, data)} for split in ("train", "dev", "test")}
    assert sum(map(len, parts.values())) == 401 == len(set.union(*parts.values()))
    assert 20 < len(parts["dev"]) < 65 and 20 < len(parts["test"]) < 65
    # Half of the rows, shuffled, twice over, in capitals: every text stays on its side.
    again = [text.upper() for text in reversed(texts[::2])] * 2
    data = folder(
        tmp_path / "b",
        {"rt_polarity/rt-polarity.neg": "\n".join(again), "rt_polarity/rt-polarity.pos": "so fine"},
    )
    for split, known in parts.items():
        assert {e.text.lower() for e in load_split(TASKS["rt"], split, data)} <= known
    notes = read_split(TASKS["rt"], "dev", data).notes
    assert notes == ("made of train: about 10% of it, by a keyed hash of the text",)


def test_law_documents_stay_together(tmp_path: Path) -> None:
    rows = "".join(f"c{number % 40}\tnews\tdog/nn number{number}/nn\n" for number in range(400))
    data = folder(tmp_path, {"brown/brown_tagged.tsv": rows})
    parts = {split: load_split(TASKS["brown-tags"], split, data) for split in ("train", "dev", "test")}
    documents = [{int(e.words[1][6:]) % 40 for e in part} for part in parts.values()]
    assert sum(map(len, documents)) == 40 == len(set.union(*documents))
    assert sum(map(len, parts.values())) == 400


def test_law_limits_are_nested_draws_in_order(tmp_path: Path) -> None:
    rows = "sentence\tlabel\n" + "".join(f"text {n}\t{int(n >= 500)}\n" for n in range(1000))
    data = folder(tmp_path, {"SST-2/train.tsv": rows})
    small, large = (load_split(TASKS["sst2"], "train", data, limit=limit) for limit in (50, 200))
    assert len(small) == 50 and len(large) == 200
    assert set(small) <= set(large)
    assert [e.line for e in large] == sorted(e.line for e in large)
    assert 60 < sum(e.label == "positive" for e in large) < 140  # the file is sorted by label
    assert len(load_split(TASKS["sst2"], "train", data, limit=5000)) == 1000
    assert read_split(TASKS["sst2"], "train", data, limit=50).notes == ("50 of 1,000 examples, drawn at random",)


def test_known_bad_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PSITEXT_DATA", raising=False)
    task = TASKS["sst2"]
    assert said(lambda: load_split(task, "valid", tmp_path)) == (
        "task 'sst2' has no split 'valid'; it has: train, dev, test"
    )
    assert said(lambda: load_split(task, "train", None)) == (
        "task 'sst2' needs its files: name their folder with --data-dir or PSITEXT_DATA"
    )
    assert "the data folder" in said(lambda: load_split(task, "train", tmp_path / "no"))
    assert said(lambda: load_split(task, "train", tmp_path)) == (
        f"task 'sst2' finds no file for 'train' in {tmp_path}; "
        "it looks for SST-2/train.tsv, sst2/train.tsv (or .gz, .zst)"
    )
    folder(tmp_path, {"SST-2/dev.tsv": "sentence\tlabel\ngood\t1\nbad\t-1\n"})
    assert "dev.tsv line 3 has the label '-1' (a mark of hidden labels" in said(
        lambda: load_split(task, "dev", tmp_path)
    )
    folder(tmp_path, {"SST-2/test.tsv": "sentence\tlabel\ngood\t1\nbad\t-1\n"})
    assert "test.tsv line 3 has no label for sst2, and other lines have one" in said(
        lambda: load_split(task, "test", tmp_path)
    )
    folder(tmp_path, {"qbert_sampled_glue/sst2.csv": 'fold,split,data,label\n7,train,a,"[1, 0]"\n'})
    assert "holds no rows of the split 'train' of qbert-sst2" in said(
        lambda: load_split(TASKS["qbert-sst2"], "train", tmp_path)
    )
    monkeypatch.setenv("PSITEXT_DATA", str(tmp_path))
    assert "line 3" in said(lambda: load_split(task, "dev"))


def test_known_both_label_files_are_needed(tmp_path: Path) -> None:
    data = folder(tmp_path, {"rt_polarity/rt-polarity.pos": "fine\n"})
    assert "finds no file for 'train'" in said(lambda: load_split(TASKS["rt"], "train", data))


# --- a user's own


def test_known_own_task_file(tmp_path: Path) -> None:
    folder(
        tmp_path,
        {
            "mine.toml": 'kind = "classification"\ntext = "q"\npair = "a"\nlabel = "ok"\n'
            'labels = ["no", "yes"]\n'
            'metrics = ["accuracy", "f1"]\nlabel_values = { false = "no", true = "yes" }\n'
            '[files]\ntrain = "more/*.jsonl"\n',
            "more/2.jsonl.gz": '{"q": "c", "a": "d", "ok": false}\n',
            "more/1.jsonl.gz": '{"q": "a", "a": "b", "ok": true}\n',
            "bad.toml": 'kind = "classification"\ntext = "q"\nlable = "x"\n',
        },
    )
    task = load_task(str(tmp_path / "mine.toml"))
    assert (task.name, task.headline) == ("mine", "accuracy")
    got = read_split(task, "train")
    assert [(e.text, e.pair, e.label, e.line) for e in got.examples] == [
        ("a", "b", "yes", 1),
        ("c", "d", "no", 1),
    ]
    assert load_split(Task.model_validate(task.tree()), "train") == got.examples
    message = said(lambda: load_task(str(tmp_path / "bad.toml")))
    assert message.endswith("bad.toml line 3 has an unknown key 'lable'; did you mean 'label' or 'labels'?")
    assert "there is no task file" in said(lambda: load_task(str(tmp_path / "none.toml")))


# --- generated and shared data


@pytest.mark.parametrize("name", ["toy-sentiment", "toy-questions", "toy-nsp", "toy-tags"])
def test_law_toy_splits_are_disjoint(name: str) -> None:
    tree = TASKS[name].tree()
    tree["files"]["train"][0]["path"] = tree["files"]["train"][0]["path"].replace("8000", "1000")
    parts = [load_split(Task.model_validate(tree), split) for split in ("train", "dev", "test")]
    texts = [{(e.text, e.pair) for e in part} for part in parts]
    assert len(set.union(*texts)) == sum(map(len, texts))
    assert [len(part) for part in parts] == [len(text) for text in texts]
    assert sum(map(len, parts)) == 1000 and min(map(len, parts)) > 70
    for example in (example for part in parts for example in part[:50]):
        assert example.source.startswith("toy:") and example.line > 0
        if TASKS[name].kind == "span":
            assert example.answer is not None and example.pair is not None
            assert example.pair[slice(*example.answer)].strip()
        elif TASKS[name].kind == "tagging":
            assert len(example.words) == len(example.tags) > 0
            assert set(example.tags) <= set(TASKS[name].labels)
        else:
            assert example.label in TASKS[name].labels


def test_known_toy_names() -> None:
    assert TASKS["toy-tags"].labels == toy.TAGS
    assert set(TASKS["toy-sentiment"].labels) == set(toy.LABELS)
    task = TASKS["toy-nsp"]
    for path in ("toy:poems:9", "toy:pairs:few", "toy:pairs"):
        odd = Task.model_validate(task.tree() | {"files": {"train": path}, "carve": {}})
        assert "is no generated text; the form is toy:<reviews|questions|pairs|tags>:<count>" in said(
            lambda odd=odd: load_split(odd, "train")
        )


@pytest.mark.parametrize("name", SHARED)
def test_known_rows_of_shared_tasks(data_dir: Path, name: str) -> None:
    for split, count in SHARED[name].items():
        got = read_split(TASKS[name], split, data_dir)
        assert (split, len(got.examples)) == (split, count)
        assert got.dropped == 0
        assert any(note.startswith("partial: ") for note in got.notes) == ((name, split) in PARTIAL)
        if (name, split) in CLASSES:
            assert Counter(e.label for e in got.examples) == CLASSES[name, split]
        if TASKS[name].hides(split) and name != "mrpc":
            assert all(e.label is None for e in got.examples)
    assert set(SHARED[name]) <= {*TASKS[name].splits, "train+dev", "train+dev+test"}


def test_law_qqp_dev_shares_no_pair_with_train(data_dir: Path) -> None:
    train, dev = ({(e.text, e.pair) for e in load_split(TASKS["qqp"], split, data_dir)} for split in ("train", "dev"))
    assert not train & dev
    assert "not the official dev set" in str(read_split(TASKS["qqp"], "dev", data_dir, limit=1))
