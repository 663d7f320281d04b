"""baselines/discocat/fitting.py and folder.py: it learns, the same each time, and comes back from disk."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

pytest.importorskip("lambeq", reason="lambeq comes with the extra qnlp")

from psitext.baselines.discocat import folder
from psitext.baselines.discocat.fitting import Fitted, fit
from psitext.baselines.discocat.settings import PAPER, DiscocatConfig
from psitext.baselines.majority import majority
from psitext.errors import UserError
from psitext.text.examples import Example

LABELS = ("food", "software")


def examples() -> tuple[list[Example], list[Example]]:
    """Who makes what: every sentence, the last third of them to test on."""
    things = {"food": ("cooks bakes", "meal sauce dinner"), "software": ("debugs runs", "program software application")}
    made = [
        Example(f"{who} {verb} {thing}", label=label)
        for label, (verbs, nouns) in things.items()
        for who in ("man", "woman", "skillful person")
        for verb in verbs.split()
        for thing in nouns.split()
    ]
    order = np.random.default_rng(0).permutation(len(made))
    return [made[index] for index in order[:24]], [made[index] for index in order[24:]]


def descent(network: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(network.parameters(), lr=0.1, weight_decay=0.0)


def right(fitted: Fitted, test: list[Example]) -> float:
    return float(np.mean([guess == example.label for guess, example in zip(fitted.predict(test), test, strict=True)]))


@pytest.mark.parametrize("settings", [{"epochs": 6}, {"reader": "cups", "epochs": 6}, {"ansatz": "iqp", "epochs": 8}])
def test_smoke_it_learns_more_than_the_majority(settings: dict[str, object]) -> None:
    train, test = examples()
    told: list[object] = []
    config = DiscocatConfig.model_validate({"batch": 8, **settings})
    fitted = fit(train, LABELS, config, descent, seed=1, hooks=[lambda event: told.append(event["loss"])])
    floor = np.mean([guess == example.label for guess, example in zip(majority(train, test), test, strict=True)])
    assert right(fitted, test) > max(floor, 0.8)
    assert len(told) == config.epochs
    covered = 0.5 if config.reader == "pregroup" else 1.0
    reach = fitted.reach([Example("man cooks meal"), Example("no such film")])
    assert reach == {"covered": covered, "unknown words": 0.5}
    assert fitted.predict([]) == [] and fitted.logits([]).shape == (0, 2)


def test_law_subject_and_object_can_be_told_by_wires_alone() -> None:
    """Equal bags of words; the pronoun has no parameters, so that only the verb's direction tells them apart."""
    pairs = [("man", "sell", "car"), ("woman", "use", "train"), ("ship", "carry", "water"), ("man", "use", "train")]
    train = [
        Example(f"{head} that {clause}", label=label)
        for head in ("device", "vehicle")
        for who, verb, what in pairs
        for label, clause in (("subject", f"{verb} {what}"), ("object", f"{who} {verb}"))
        if what != "car"
    ]
    config = DiscocatConfig(pronouns="wires", epochs=12, batch=8)
    fitted = fit(train, ("subject", "object"), config, descent, seed=1)
    assert right(fitted, train) == 1.0
    assert fitted.reach(train)["covered"] == 1.0


def test_law_a_seed_decides_everything() -> None:
    train, test = examples()
    config = DiscocatConfig(epochs=1)
    first, again, other = (fit(train, LABELS, config, descent, seed).logits(test) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


def test_law_rows_of_unknown_words_are_trained_by_hiding_words() -> None:
    train, _ = examples()
    rows = [
        fit(train, LABELS, DiscocatConfig(hide=hide, epochs=epochs), descent, seed=1).model.tables["n/0"][0].detach()
        for hide, epochs in ((0.0, 1), (0.0, 3), (0.3, 3))
    ]
    torch.testing.assert_close(rows[0], rows[1])  # never seen, so where it began
    assert not torch.allclose(rows[0], rows[2])


def test_known_the_paper_s_settings() -> None:
    assert (PAPER.batch, PAPER.epochs, PAPER.lr, PAPER.dim, PAPER.ansatz) == (32, 10, 1e-3, 2, "spider")


@pytest.mark.parametrize("settings", [{}, {"reader": "stairs", "dim": 3}, {"reader": "cups", "ansatz": "iqp"}])
def test_law_a_model_comes_back_from_disk(settings: dict[str, object], tmp_path: Path) -> None:
    train, test = examples()
    fitted = fit(train, LABELS, DiscocatConfig.model_validate({"epochs": 1, **settings}), descent)
    folder.save(fitted, tmp_path / "model")
    assert {path.name for path in (tmp_path / "model").iterdir()} == {"config.json", "model.safetensors"}
    again = folder.load(tmp_path / "model")
    assert again.labels == LABELS
    np.testing.assert_array_equal(again.logits(test), fitted.logits(test))


def test_known_a_model_keeps_the_lexicon_that_it_was_trained_with(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[types]\nnoun = ["n"]\nverb = ["n.r s"]\n[words]\nnoun = "cat dog"\nverb = "purr bark"\n')
    train = [Example("cat purr", label="food"), Example("dog bark", label="software")]
    fitted = fit(train, LABELS, DiscocatConfig(lexicon=str(own), epochs=1), descent)
    folder.save(fitted, tmp_path / "model")
    own.unlink()
    assert folder.load(tmp_path / "model").reach(train)["covered"] == 1.0


def test_known_damage_is_named(tmp_path: Path) -> None:
    train, _ = examples()
    path = tmp_path / "model"
    folder.save(fit(train, LABELS, DiscocatConfig(epochs=1), descent), path)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "words": {**config["words"], "n": ["man"]}}))
    with pytest.raises(UserError, match=r"model\.safetensors does not hold this model's weights"):
        folder.load(path)
    (path / "config.json").write_text(json.dumps({**config, "format": 2}))
    with pytest.raises(UserError, match="reads format 1"):
        folder.load(path)
    (path / "config.json").write_text("{")
    with pytest.raises(UserError, match="holds no DisCoCat"):
        folder.load(path)
    with pytest.raises(UserError, match="holds no DisCoCat"):
        folder.load(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("example", "sentence"),
    [
        (Example("a", label=1.0), "these examples have scores"),
        (Example("a", pair="b", label="food", source="x.csv", line=7), "x.csv line 7 is a pair"),
        (Example("a", label="drink"), "'drink' is none of: food, software"),
        (Example("a"), "has no label"),
    ],
)
def test_known_errors(example: Example, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        fit([example], LABELS, DiscocatConfig(), descent)


def test_known_a_loss_that_is_not_finite_stops_the_training() -> None:
    train, _ = examples()
    with pytest.raises(UserError, match="a lower lr often helps"):
        fit(train, LABELS, DiscocatConfig(scale="raw"), lambda net: torch.optim.SGD(net.parameters(), lr=1e30))
