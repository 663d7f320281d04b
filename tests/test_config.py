"""Recipes: what is merged, what is refused, and that the sentence names the key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from psitext.config import (
    Config,
    build,
    merged,
    named_by_keys,
    read_recipe,
    read_toml,
    recipe_hash,
    recipes,
    with_overrides,
)
from psitext.errors import UserError


class Inner(Config):
    lr: float = 1e-3
    warmup_steps: int = 10


class Outer(Config):
    name: str
    kind: Literal["small", "large"] = "small"
    inner: Inner = Inner()


class Plain(Config):
    family: Literal["plain"] = "plain"
    width: int = 3


class Fancy(Config):
    family: Literal["fancy"] = "fancy"
    width: int = 3
    inner: Inner = Inner()


Either = Annotated[Plain | Fancy, Field(discriminator="family"), named_by_keys(Plain, Fancy)]


class Whole(Config):
    part: Either = Plain()
    other: Either | None = None
    many: tuple[Plain, ...] = ()


KEYS = st.sampled_from(["a", "b", "c"])
TREES = st.recursive(st.integers(), lambda below: st.dictionaries(KEYS, below, max_size=3), max_leaves=8).filter(
    lambda tree: isinstance(tree, dict)
)


def sentence(tree: dict[str, object], origin: str = "run.toml", cls: type[Config] = Outer) -> str:
    with pytest.raises(UserError) as caught:
        build(cls, tree, origin)
    return str(caught.value)


def test_known_errors_name_the_key() -> None:
    assert sentence({"name": "x", "inner": {"warmup": 3}}).startswith("run.toml has an unknown key 'inner.warmup'")
    assert "did you mean 'warmup_steps'" in sentence({"name": "x", "inner": {"warmup_step": 3}})
    assert "did you mean 'inner'" in sentence({"name": "x", "iner": {}})
    assert sentence({}) == "run.toml lacks 'name'"
    assert sentence({"name": "x", "inner": {"lr": "fast"}}, "--set").startswith("--set sets inner.lr to 'fast'")
    assert "'small' or 'large'" in sentence({"name": "x", "kind": "huge"})
    assert "\n" not in sentence({"name": 3, "inner": 4, "other": 5})


def test_known_a_table_is_of_the_kind_that_it_names() -> None:
    assert build(Whole, {"part": {"width": 4}}, "here").part == Plain(width=4)
    assert build(Whole, {"part": {"family": "fancy"}, "other": {}}, "here") == Whole(part=Fancy(), other=Plain())
    assert build(Whole, {"part": {"inner": {}}}, "here").part == Fancy(), "of the first that has its keys"
    whole = Whole(part=Fancy(width=2), many=(Plain(width=1),))
    assert build(Whole, whole.tree(), "here") == whole


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"part": {"widht": 4}}, "run.toml has an unknown key 'part.widht'; did you mean 'width'?"),
        (
            {"other": {"family": "fancy", "inner": {"warmup_step": 1}}},
            "run.toml has an unknown key 'other.inner.warmup_step'; did you mean 'warmup_steps'?",
        ),
        ({"other": {"family": "fanyc"}}, "run.toml sets other.family to 'fanyc'; did you mean 'fancy'?"),
        ({"part": {"family": 3}}, "run.toml sets part.family to '3'; there are: plain, fancy"),
        ({"many": [{"widht": 3}]}, "run.toml has an unknown key 'many.0.widht'; did you mean 'width'?"),
        ({"prat": {}}, "run.toml has an unknown key 'prat'; did you mean 'part'?"),
    ],
)
def test_known_errors_name_the_key_whatever_the_kind(tree: dict[str, object], said: str) -> None:
    assert sentence(tree, cls=Whole) == said


def test_known_errors_of_values_name_the_key_whatever_the_kind() -> None:
    fancy = {"family": "fancy", "width": "wide"}
    assert sentence({"part": fancy}, cls=Whole) == "run.toml sets part.width to 'wide': it takes a whole number"
    assert sentence({"part": 3}, cls=Whole) == "run.toml sets part to 3: it takes a table of keys"


def test_law_a_hash_tells_kinds_apart_and_keeps_the_names_of_the_first() -> None:
    """Names of recipes from before there was a second kind must stay what they were."""
    hashes = [
        recipe_hash(whole)
        for whole in (
            Whole(),
            Whole(part=Fancy()),
            Whole(other=Plain()),
            Whole(other=Fancy()),
            Whole(part=Plain(width=4)),
            Whole(part=Fancy(width=4)),
        )
    ]
    assert len(set(hashes)) == len(hashes)

    class Before(Config):
        part: Plain = Plain()

    assert recipe_hash(Before()) == recipe_hash(Whole())
    assert recipe_hash(Before(part=Plain(width=4))) == recipe_hash(Whole(part=Plain(width=4)))


def test_law_a_config_is_frozen_and_writes_out_its_defaults() -> None:
    built = build(Outer, {"name": "x"}, "a test")
    with pytest.raises(ValidationError, match="frozen"):
        built.name = "y"
    assert built.tree() == {"name": "x", "kind": "small", "inner": {"lr": 1e-3, "warmup_steps": 10}}
    assert build(Outer, built.tree(), "a test") == built


def test_law_a_hash_names_values_not_their_order_or_origin() -> None:
    first = build(Outer, {"name": "x", "kind": "small"}, "a test")
    second = build(Outer, {"inner": {"lr": 1e-3}, "name": "x"}, "another")
    third = build(Outer, {"name": "x", "inner": {"lr": 2e-3}}, "a test")
    assert recipe_hash(first) == recipe_hash(second) != recipe_hash(third)
    assert len(recipe_hash(first)) == 12 and int(recipe_hash(first), 16) >= 0


@given(TREES, TREES)
def test_law_merging_again_adds_nothing_and_changes_neither(a: dict, b: dict) -> None:
    before = repr((a, b))
    assert merged(a, {}) == merged({}, a) == a
    assert merged(a, a) == a
    assert merged(merged(a, b), b) == merged(a, b)
    assert repr((a, b)) == before


def test_known_overrides() -> None:
    base = {"train": {"lr": 1e-4, "steps": 10}, "name": "x"}
    over = with_overrides(base, ["train.lr=1e-3", "name = bert", "data=['a', 'b']", "deep.er.key=true", "text=a=b"])
    assert over == {
        "train": {"lr": 1e-3, "steps": 10},
        "name": "bert",
        "data": ["a", "b"],
        "deep": {"er": {"key": True}},
        "text": "a=b",
    }
    assert base == {"train": {"lr": 1e-4, "steps": 10}, "name": "x"}
    assert with_overrides({}, ["n=3", "n=4"]) == {"n": 4}


@pytest.mark.parametrize("setting", ["train.lr", "=3", "train..lr=3", ".lr=3", ""])
def test_known_overrides_that_are_refused(setting: str) -> None:
    with pytest.raises(UserError, match="key=value"):
        with_overrides({}, [setting])


def test_known_files_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no recipe file"):
        read_toml(tmp_path / "absent.toml")
    (tmp_path / "bad.toml").write_text("lr = \n")
    with pytest.raises(UserError, match=r"bad\.toml line 1 is not valid TOML: `lr =` \(the value is none; .*\)$"):
        read_toml(tmp_path / "bad.toml")
    (tmp_path / "latin.toml").write_bytes(b"name = 'caf\xe9'\n")
    with pytest.raises(UserError, match=r"latin\.toml is not UTF-8 text \(byte 11\)"):
        read_toml(tmp_path / "latin.toml")
    with pytest.raises(UserError, match="cannot be read"):
        read_toml(tmp_path)


BROKEN = {
    "[train": "[train` (the name of a table stands in brackets, [train])",
    "a = 1\na = 2": "a = 2` (that key is there already)",
    "[a]\n[a]": "[a]` (that table is there already)",
    'a = "x': 'a = "x` (the closing quote of a text is missing, or it holds a control character)',
    "a = [1, 2": "a = [1, 2` (a bracket is not closed)",
    "just words": "just words` (a key, an equals sign and a value are wanted, as in steps = 100)",
    'a = "\\q"': 'a = "\\q"` (a backslash within double quotes is written twice; single quotes take it as it is)',
    "a = 1 2": "a = 1 2` (something follows after the value; a text stands in quotes)",
}


@pytest.mark.parametrize("content", BROKEN)
def test_known_broken_files_in_our_own_words(tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(f"\n{content}\n")
    line = 2 + content.count("\n")
    with pytest.raises(UserError) as caught:
        read_toml(path)
    assert str(caught.value) == f"{path} line {line} is not valid TOML: `{BROKEN[content]}"


def test_known_who_wrote_a_wrong_value(tmp_path: Path) -> None:
    """The line of the file that says it, or ``--set`` where a setting does."""
    path = tmp_path / "mine.toml"
    path.write_text("# mine\nname = 'x'\n\n[part]\n'width' = 'a'\n[other.inner]\nlr = 'b'\n[[many]]\nwidth = 1\n")

    def said(tree: dict[str, object], settings: list[str]) -> str:
        with pytest.raises(UserError) as caught:
            build(Whole, tree, str(path), settings)
        return str(caught.value).removeprefix(str(path))

    wide = {"part": {"width": "a"}}
    assert said(wide, []) == " line 5 sets part.width to 'a': it takes a whole number"
    assert said(wide, ["part.width=a"]) == "--set sets part.width to 'a': it takes a whole number"
    assert said(wide, ["part={width='a'}"]).startswith("--set sets part.width to 'a'")
    assert said(wide, ["other.family=plain"]).startswith(" line 5 sets part.width")
    fancy = {"other": {"family": "fancy", "inner": {"lr": "b"}}}
    assert said(fancy, []) == " line 7 sets other.inner.lr to 'b': it takes a number"
    assert said({"part": {"widht": 1}}, []) == " has an unknown key 'part.widht'; did you mean 'width'?"
    assert said({"many": [{"width": "c"}]}, []) == " sets many.0.width to 'c': it takes a whole number"


def test_known_a_recipe_extends_one_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "RECIPES", tmp_path / "shipped")
    (tmp_path / "shipped" / "base").mkdir(parents=True)
    (tmp_path / "shipped" / "base" / "bert-mini.toml").write_text("[model]\nwidth = 256\nlayers = 4\n")
    (tmp_path / "mine.toml").write_text("extends = 'bert-mini'\n[model]\nlayers = 2\n")
    (tmp_path / "beside.toml").write_text("extends = 'plain.toml'\n")
    (tmp_path / "plain.toml").write_text("seed = 3\n")
    (tmp_path / "twice.toml").write_text("extends = 'mine.toml'\n")
    assert read_recipe("bert-mini") == {"model": {"width": 256, "layers": 4}}
    assert read_recipe(str(tmp_path / "mine.toml")) == {"model": {"width": 256, "layers": 2}}
    assert read_recipe(str(tmp_path / "beside.toml")) == {"seed": 3}
    with pytest.raises(UserError, match="one step is the limit"):
        read_recipe(str(tmp_path / "twice.toml"))
    with pytest.raises(UserError, match="no recipe called 'bert-mimi'; did you mean 'bert-mini'"):
        read_recipe("bert-mimi")


class Numbers(Config):
    steps: int | None = None
    rate: float = 1.0
    on: bool = False


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"steps": True}, "run.toml: steps is a number, not true"),
        ({"rate": False}, "run.toml: rate is a number, not false"),
        ({"steps": 2**63}, "run.toml: steps is beyond 9223372036854775807, where whole numbers end"),
        ({"rate": float("inf")}, "run.toml sets rate to inf: it takes a finite number"),
        ({"rate": float("nan")}, "run.toml sets rate to nan: it takes a finite number"),
        ({"rate": "x", "rte": 1}, "run.toml has an unknown key 'rte'; did you mean 'rate'?"),
    ],
)
def test_known_numbers_are_numbers_finite_and_bounded(tree: dict[str, object], said: str) -> None:
    assert sentence(tree, cls=Numbers) == said
    assert build(Numbers, {"steps": 2**63 - 1, "rate": 1, "on": True}, "here").steps == 2**63 - 1


def test_known_extends_is_one_name_and_a_mark_at_the_start_is_no_matter(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("extends = ['a']")
    with pytest.raises(UserError, match=r"sets extends to \['a'\]; it takes one name"):
        read_recipe(str(path))
    path.write_bytes(b"\xef\xbb\xbfseed = 3")
    assert read_recipe(str(path)) == {"seed": 3}


def test_known_alternatives_are_those_of_training_alone() -> None:
    assert with_overrides({"steps": 8, "epochs": 2}, ["steps=9"]) == {"steps": 9, "epochs": 2}
    assert with_overrides({"train": {"steps": 8}}, ["train.epochs=2"]) == {"train": {"epochs": 2}}
