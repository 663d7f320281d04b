"""Fine-tuning: whose rows judge, what is frozen, what is weighted, and where a model starts from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

import toys
import vaes
from psitext.errors import UserError
from psitext.experiments.finetune import (
    Labelled,
    calibrated,
    class_weights,
    finetune_run,
    limited,
    read_labelled,
    texts_of,
    tokenizer_texts,
)
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import LabelledConfig
from psitext.model import load
from psitext.score import calibration
from psitext.text.examples import Example
from psitext.text.tokenizer.rules import SPECIAL
from psitext.train import checkpoint

QUICK = ["train.steps=4", "train.evaluate_every=4", "train.checkpoint_every=4"]


def own(path: Path, count: int = 40, **settings: Any) -> dict[str, Any]:
    rows = [("text", "label"), *toys.words_and_labels(count)]
    return {"data": {"train": str(toys.table(path / "own.csv", rows)), **settings}}


def from_pretrained(tree: dict[str, Any], *settings: str) -> Any:
    """The small recipe that starts from the pre-trained run."""
    recipe = toys.finetuning(settings, **tree)
    return recipe.model_copy(update={"init": str(toys.pretrained()), "encoder": None})


def test_law_a_tenth_of_ones_own_rows_is_held_out_by_key(tmp_path: Path) -> None:
    recipe = toys.finetuning(**own(tmp_path))
    data, again = read_labelled(recipe), read_labelled(recipe)
    assert (len(data.train), len(data.dev["dev"])) == (36, 4)
    assert data.dev == again.dev
    lines = sorted(one.line for one in [*data.train, *data.dev["dev"]])
    assert lines == list(range(2, 42)), "every row is on one side"
    assert [one.line for one in data.train] == sorted(one.line for one in data.train)
    other = read_labelled(toys.finetuning(**own(tmp_path, seed=1)))
    assert {one.line for one in other.dev["dev"]} != {one.line for one in data.dev["dev"]}


def test_known_a_dev_file_is_read_with_the_labels_of_train(tmp_path: Path) -> None:
    dev = toys.table(tmp_path / "dev.csv", [("label", "text"), ("up", "good so")])
    data = read_labelled(toys.finetuning(**own(tmp_path, dev=str(dev))))
    assert (len(data.train), [one.label for one in data.dev["dev"]]) == (40, ["up"])
    toys.table(dev, [("label", "text"), ("sideways", "good so")])
    with pytest.raises(UserError, match=r"dev.csv line 2 has the label 'sideways'"):
        read_labelled(toys.finetuning(**own(tmp_path, dev=str(dev))))


def test_known_rows_without_a_text_are_counted(tmp_path: Path) -> None:
    train = toys.table(tmp_path / "train.csv", [("text", "label"), ("", "up"), ("so", "down"), (" ", "up")])
    dev = toys.table(tmp_path / "dev.csv", [("text", "label"), ("so", "up")])
    data = read_labelled(toys.finetuning(data={"train": str(train), "dev": str(dev)}))
    assert data.notes == ("train: 2 of 3 texts are empty",)
    for other in (("txt", "label"), ("text", "class")):
        dev = toys.table(tmp_path / "dev.csv", [other, ("so", "up")])
        with pytest.raises(
            UserError, match=r"dev\.csv has no column .*\(its columns must be those of the file to train"
        ):
            read_labelled(toys.finetuning(data={"train": str(train), "dev": str(dev)}))


def test_law_a_limit_keeps_a_subset_in_order() -> None:
    rows = [Example(str(index)) for index in range(50)]
    few, more = (limited(rows, LabelledConfig(limit=count, seed=3)) for count in (10, 20))
    assert len(few) == 10 and set(few) < set(more)
    assert [int(one.text) for one in few] == sorted(int(one.text) for one in few)
    assert limited(rows, LabelledConfig(limit=50)) is rows
    assert limited(rows, LabelledConfig(limit=10, seed=4)) != few


def test_law_as_many_of_every_label_in_order_and_fewer_inside_more() -> None:
    examples = [Example(str(index), label="ab"[index % 3 == 0]) for index in range(60)]
    few, more = (limited(examples, LabelledConfig(per_label=count, seed=3)) for count in (4, 9))
    assert [[one.label for one in some].count(label) for some in (few, more) for label in "ab"] == [4, 4, 9, 9]
    assert [one for one in more if one in few] == few
    assert more == sorted(more, key=lambda one: int(one.text))
    assert limited(examples, LabelledConfig(per_label=4, seed=4)) != few
    with pytest.raises(UserError, match=r"21 rows of every label are asked for, and 'b' has 20"):
        limited(examples, LabelledConfig(per_label=21))
    with pytest.raises(ValidationError, match="leave one of them out"):
        LabelledConfig(per_label=4, limit=8)


@pytest.mark.parametrize(("pool", "width"), [(None, vaes.LATENT), ("mean", 16), ("cls", 16)])
@pytest.mark.parametrize("freeze", [True, False])
def test_law_a_head_reads_a_space_s_latent_or_the_state_that_it_is_made_from(
    pool: str | None, width: int, freeze: bool, tmp_path: Path
) -> None:
    """Frozen, the encoder comes out as it went in; else all that leads to the state has learnt."""
    settings = [*QUICK, f"train.freeze={str(freeze).lower()}", *([f"pool={pool}"] if pool else [])]
    recipe = toys.finetuning(settings, **own(tmp_path), init=str(vaes.space()), encoder=None)
    model = finetune_run(recipe, tmp_path / "run")
    before, after = (checkpoint.tensors_of(one.encoder) for one in (load(vaes.space(), pool=pool), model))
    moved = {name for name, value in after.items() if not torch.equal(value, before[name])}
    assert bool(moved) is not freeze
    assert ("posterior.weight" in moved) is (pool is None and not freeze)
    assert model.network.head.get_submodule("output").weight.shape == (2, width)
    again = load(tmp_path / "run")
    texts = ["good fine", "dull grim"]
    assert np.array_equal(again.encode(texts).vector.numpy(), model.encode(texts).vector.numpy())
    assert [answer.probability for answer in again.predict(texts)] == [
        answer.probability for answer in model.predict(texts)
    ]


@pytest.mark.parametrize("judged", [True, False])
def test_law_rows_in_memory_train_what_a_file_of_them_does(judged: bool, tmp_path: Path) -> None:
    """Without rows to judge by, all is learnt from, and no temperature is fitted."""
    recipe = toys.finetuning(QUICK, **own(tmp_path))
    data = read_labelled(recipe)
    bare = toys.finetuning(QUICK)
    given = data if judged else Labelled(data.task, data.train, {})
    model = finetune_run(bare, tmp_path / "run", given=given)
    assert finetune_run(bare, tmp_path / "run", given=given).predict(["good fine"]) == model.predict(["good fine"])
    if judged:
        texts = [text for text, _ in toys.words_and_labels(8)]
        assert finetune_run(recipe, tmp_path / "file").predict(texts) == model.predict(texts)
    else:
        assert (model.temperature, model.facts["scores"], model.facts["best step"]) == (1.0, {}, 4)
    with pytest.raises(UserError, match="were in memory when it began"):
        finetune_run(bare, tmp_path / "run")
    with pytest.raises(UserError, match="rows are not those"):
        finetune_run(bare, tmp_path / "run", given=Labelled(data.task, data.train[::-1], given.dev))


def test_known_every_text_teaches_the_tokenizer() -> None:
    examples = [Example("a", "b"), Example("c d", words=("c", "d")), Example("e")]
    assert list(texts_of(examples)) == ["a", "b", "c d", "e"]


def test_known_a_tokenizer_is_trained_on_other_text(tmp_path: Path) -> None:
    """Its paths start from the data folder; beside a tokenizer that is there it says nothing, and is refused."""
    (tmp_path / "other.txt").write_text("Nobody reads an almanac.\n\nNobody.\n", encoding="utf-8")
    tree = own(tmp_path, dir=str(tmp_path))
    recipe = toys.finetuning(["tokenizer.kind=words"], **tree, tokenizer_text=["other.txt", "toy:2"])
    words = set(tokenizer_texts(recipe, []))
    assert {"Nobody reads an almanac.", "Nobody."} < words, "and stories"
    model = finetune_run(recipe.model_copy(update={"tokenizer_text": ("other.txt",)}), tmp_path / "run")
    known = set(model.tokenizer.tokens(range(model.tokenizer.vocab_size)))
    assert known - set(SPECIAL.values()) == {"nobody", "reads", "an", "almanac", "."}
    for setting in ("init=bert-tiny", "tokenizer.load=vocab.txt"):
        with pytest.raises(
            UserError, match=f"{setting.partition('=')[0]}.* gives one that is there; leave one of them"
        ):
            toys.finetuning([setting], **tree, tokenizer_text=["other.txt"])


@pytest.mark.parametrize("name", ["words", "scores", "pairs", "tags", "questions"])
def test_law_the_result_says_what_the_model_scores(name: str) -> None:
    run = RunFolder(toys.trained(name))
    result, model = run.result(), load(run.path)
    recipe = run.recipe()
    assert recipe is not None
    data = read_labelled(recipe)  # type: ignore[arg-type]
    for split, examples in data.dev.items():
        assert model.evaluate(examples) == pytest.approx(result["scores"][split])
    assert result["rows"] == {"train": len(data.train), "dev": len(data.dev["dev"])}
    assert (result["steps"], result["counters"]["step"]) == (100, 100)
    assert model.facts["scores"] == result["scores"]
    assert ("calibration" in result) == (data.task.kind == "classification")


def test_law_a_frozen_encoder_comes_out_as_it_went_in(tmp_path: Path) -> None:
    start = load(toys.pretrained())
    frozen = finetune_run(from_pretrained(own(tmp_path), "train.freeze=true", *QUICK), tmp_path / "frozen")
    ours, theirs = checkpoint.tensors_of(frozen.encoder), checkpoint.tensors_of(start.encoder)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    whole = finetune_run(from_pretrained(own(tmp_path), *QUICK), tmp_path / "whole")
    changed = checkpoint.tensors_of(whole.encoder)
    assert any(not torch.equal(changed[name], theirs[name]) for name in theirs)
    moments = checkpoint.read_tensors(tmp_path / "frozen/checkpoints/step-00000004/optimizer.safetensors")
    assert {name.split("/")[1].split(".")[0] for name in moments} == {"head"}


def test_law_fresh_keeps_the_shape_and_the_words_but_no_weight(tmp_path: Path) -> None:
    start = load(toys.pretrained())
    recipe = from_pretrained(own(tmp_path), "fresh=true", "train.freeze=true", *QUICK)
    control = finetune_run(recipe, tmp_path / "control")
    assert control.encoder.config == start.encoder.config
    assert control.tokenizer.fingerprint == start.tokenizer.fingerprint
    assert not torch.equal(control.encoder.token.weight, start.encoder.token.weight)


@pytest.mark.parametrize("pool", ["cls", "mean", "pooled"])
def test_known_the_sentence_vector_is_what_the_recipe_says(pool: str, tmp_path: Path) -> None:
    started = finetune_run(from_pretrained(own(tmp_path), f"pool={pool}", *QUICK), tmp_path / "started")
    fresh = finetune_run(toys.finetuning([f"pool={pool}", *QUICK], **own(tmp_path)), tmp_path / "fresh")
    assert started.encoder.config.pool == fresh.encoder.config.pool == pool


@pytest.mark.parametrize("name", ["tags", "questions"])
def test_known_heads_that_read_tokens_leave_no_pooler_untrained(name: str) -> None:
    model = load(toys.trained(name))
    assert model.encoder.pooler is None and model.encoder.config.pool == "cls"


def test_known_class_weights(tmp_path: Path) -> None:
    recipe = toys.finetuning(**own(tmp_path))
    data = read_labelled(recipe)
    source = load(toys.trained("words")).source(data.train, labelled=True)
    task = data.task
    assert class_weights(recipe, source, task) is None
    balanced = class_weights(recipe.model_copy(update={"class_weights": "balanced"}), source, task)
    assert balanced is not None and source.label is not None
    counts = np.bincount(source.label)
    assert balanced.tolist() == pytest.approx((len(source.label) / (2 * counts)).tolist())
    given = class_weights(recipe.model_copy(update={"class_weights": (1.0, 3.0)}), source, task)
    assert given is not None and given.tolist() == [1, 3]
    scores = load(toys.trained("scores"))
    with pytest.raises(UserError, match="class_weights are for classification; scores is a regression"):
        class_weights(recipe.model_copy(update={"class_weights": "balanced"}), source, scores.asked())


def test_law_weights_move_a_model_towards_the_rare_class(tmp_path: Path) -> None:
    """Nine texts that say nothing are "down" for every one that is "up"."""
    rows = [("text", "label"), *[("so", "down" if index % 10 else "up") for index in range(100)]]
    shares = []
    for weights in ("none", "balanced", "[1.0, 50.0]"):
        data = {"train": str(toys.table(tmp_path / "rare.csv", rows))}
        settings = [f"class_weights={weights}", "train.steps=40", "train.evaluate_every=40", "calibrate=false"]
        model = finetune_run(toys.finetuning(settings, data=data), tmp_path / weights)
        shares.append(model.predict(["so"])[0].probabilities["up"])
    assert shares[0] < 0.3 < shares[1] < 0.7 < shares[2]


def test_law_calibration_is_judged_on_what_did_not_choose_it() -> None:
    """Cross-fitted: with labels drawn by chance, the error after it is not below what chance gives."""
    model = load(toys.trained("words"))
    examples = [Example(f"{word} so", label="up" if index % 3 else "down") for index, word in enumerate(toys.GOOD * 20)]
    warm, numbers = calibrated(model, examples)
    assert warm.temperature == numbers["temperature"] > 1
    assert numbers["error_after"] < numbers["error_before"]
    labels = np.array([1 if one.label == "up" else 0 for one in examples])
    logits = model.logits(examples)
    best = calibration.fit_temperature(logits, labels)
    assert warm.temperature == pytest.approx(best)
    before = calibration.expected_calibration_error(np.exp(calibration.log_probs(logits)), labels)
    assert numbers["error_before"] == pytest.approx(before)
    assert sum(entry["count"] for entry in numbers["bins"]) == len(examples)  # type: ignore[union-attr, index]


def test_law_patience_ends_a_run_early_with_its_best_weights(tmp_path: Path) -> None:
    """A dev set that is all wrong: the model can only get worse on it."""
    wrong = [(text, "up" if label == "down" else "down") for text, label in toys.words_and_labels(20)]
    dev = toys.table(tmp_path / "dev.csv", [("text", "label"), *wrong])
    settings = ["train.steps=200", "train.evaluate_every=5", "train.patience=3", "train.optim.lr=1e-2"]
    model = finetune_run(toys.finetuning(settings, **own(tmp_path, dev=str(dev))), tmp_path / "run")
    result = RunFolder(tmp_path / "run").result()
    dev_events = [event for event in toys.events(tmp_path / "run") if event["kind"] == "dev"]
    assert result["steps"] == dev_events[-1]["step"] < 200
    best = max(event["accuracy"] for event in dev_events)
    assert [event["accuracy"] for event in dev_events[-3:]] != [best] * 3 or len(dev_events) == 4
    assert result["scores"]["dev"]["accuracy"] == best
    assert model.evaluate(read_labelled(toys.finetuning(**own(tmp_path, dev=str(dev)))).dev["dev"])["accuracy"] == best


def test_known_where_a_model_may_start_from(tmp_path: Path) -> None:
    recipe = toys.finetuning(**own(tmp_path))
    both = recipe.model_copy(update={"init": str(toys.pretrained())})
    neither = recipe.model_copy(update={"encoder": None})
    for changed, sentence in ((both, "leave out the .encoder. table"), (neither, "fine-tuning starts from --init")):
        with pytest.raises(UserError, match=sentence):
            finetune_run(changed, tmp_path / "run")
        assert not (tmp_path / "run").exists()


def test_known_a_task_with_nothing_to_judge_by(tmp_path: Path) -> None:
    task = toys.task_file(tmp_path, "sentiment")
    task.write_text(task.read_text().split("[carve]")[0])
    with pytest.raises(UserError, match=r"'sentiment' has no split 'dev' to judge a model by; give it files.dev, or"):
        finetune_run(toys.finetuning(task=str(task)), tmp_path / "new" / "run")
    assert not (tmp_path / "new").exists()


def test_known_a_table_too_small_to_hold_rows_out(tmp_path: Path) -> None:
    rows = [("text", "label"), ("good so", "up"), ("bad so", "down")]
    data = {"train": str(toys.table(tmp_path / "two.csv", rows))}
    sentence = r"two.csv is too small to .* takes every row of the label '(up|down)'; give a file for that with --dev"
    with pytest.raises(UserError, match=sentence):
        read_labelled(toys.finetuning(data=data))
    with pytest.raises(UserError, match=r"is given to train on and to judge by"):
        read_labelled(toys.finetuning(data=data | {"dev": data["train"]}))
    dev = str(toys.table(tmp_path / "dev.csv", rows))
    assert len(read_labelled(toys.finetuning(data=data | {"dev": dev})).train) == 2


def test_law_the_log_has_the_scores_of_the_finished_model(tmp_path: Path) -> None:
    """Also where training multiplies in bfloat16, which moves a correlation in its third digit."""
    data = {"train": str(toys.table(tmp_path / "own.csv", [("text", "label"), *toys.scored(60)]))}
    recipe = toys.finetuning(["train.steps=6", "train.evaluate_every=2", "train.precision=bf16"], data=data)
    finetune_run(recipe, tmp_path / "run")
    result = RunFolder(tmp_path / "run").result()
    logged = {event["step"]: event for event in toys.events(tmp_path / "run") if event["kind"] == "dev"}
    assert "pearson" in result["scores"]["dev"]
    for name, value in result["scores"]["dev"].items():
        assert logged[result["best step"]][name] == pytest.approx(value, abs=1e-6)
