"""Presets and the choice of contenders."""

from __future__ import annotations

from pathlib import Path

import pytest

from psitext.errors import UserError
from psitext.experiments.compare.settings import TRAINED, Contender, chosen, presets, read_preset
from psitext.experiments.compare.starts import Start, recipe_of
from psitext.text.supervised import TextConfig

USUAL = read_preset("usual")


@pytest.mark.parametrize("name", presets())
def test_law_every_contender_of_a_preset_is_a_recipe(name: str) -> None:
    config = read_preset(name)
    for one in [*config.contenders, *config.also]:
        if one.how not in TRAINED:
            continue
        start = Start(TextConfig(max_len=64), 1.0) if one.init else None
        recipe = recipe_of(one, start, Path("rows/task.toml"), 5)
        assert (recipe.train.seed, recipe.init, recipe.task) == (5, one.init, str(Path("rows/task.toml").absolute()))
        assert recipe.text.max_len == (64 if one.init else one.max_len)
        assert one.how == "frozen" or recipe.train.evaluate_every >= 100_000, "no best epoch is chosen on dev"


def test_known_the_usual_contenders() -> None:
    names = [one.name for one in chosen(USUAL)]
    assert names == ["majority", "bag-of-words", "bert-frozen", "optimus-frozen", "rac", "bert", "optimus", "qbert"]
    assert {one.init for one in USUAL.contenders if one.init} == {"bert-tiny", "optimus-tiny", "qbert-tiny"}


def test_known_further_models_stand_behind_those_of_their_way() -> None:
    found = chosen(USUAL, ["hf:models/mini-lm", "runs/bert", "..", "rows"], without=["majority"])
    names = [one.name for one in found]
    assert names[:2] == ["majority", "bag-of-words"], "majority is always there"
    assert names[2:6] == ["bert-frozen", "optimus-frozen", "mini-lm-frozen", "bert-2-frozen"]
    assert [one.name for one in chosen(USUAL, only=["bert"])] == ["majority", "bert"]
    assert names[-4:] == ["mini-lm", "bert-2", "model", "rows-model"], "names that can be folders"
    by_name = {one.name: one for one in found}
    assert by_name["mini-lm"].init == "hf:models/mini-lm" and by_name["mini-lm"].title == "mini-lm, fine-tuned"


def test_known_wrong_names() -> None:
    with pytest.raises(UserError, match=r"--only: there is no contender 'brt'; did you mean 'bert'"):
        chosen(USUAL, only=["brt"])
    with pytest.raises(UserError, match="--without: there is no contender 'xyz'; there are: majority, "):
        chosen(USUAL, without=["xyz"])
    with pytest.raises(UserError, match="leave no contender"):
        chosen(USUAL, only=["rac"], without=["rac"])
    with pytest.raises(UserError, match="no comparison called 'usal'; did you mean 'usual'"):
        read_preset("usal")


@pytest.mark.parametrize("name", ["../out", ".hidden", "a/b", "rows", ""])
def test_law_a_name_that_is_no_folder_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'[[contenders]]\nname = "{name}"\ntitle = "x"\nhow = "majority"\n')
    with pytest.raises(UserError, match="is no name for a contender"):
        read_preset(str(path))


def test_law_what_starts_from_nothing_or_something_says_so() -> None:
    for given in ({"how": "frozen"}, {"how": "majority", "init": "bert-tiny"}):
        with pytest.raises(ValueError, match=r"init names none|starts from no model"):
            Contender(name="x", title="x", **given)  # type: ignore[arg-type]
