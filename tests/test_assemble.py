"""Names to objects: tables that say what there is, seeds that decide, pairings that cannot work refused."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import tiny
from psitext import assemble
from psitext.assemble import balanced_weights, build_encoder, build_head, build_pretraining_head, usual_head
from psitext.cli import options
from psitext.config import MAX_INT
from psitext.errors import UserError
from psitext.experiments.runs.recipes import LiftConfig
from psitext.heads.affine import AffineConfig, SequenceHead, SpanHead, TokenHead
from psitext.heads.measurement import MeasurementConfig, MeasurementHead
from psitext.heads.modulus import ModulusConfig, ModulusHead
from psitext.heads.pretraining import PretrainingConfig
from psitext.text.examples import METRICS_OF_KIND, Task

TASKS = {
    "classification": Task(name="c", kind="classification", text="t", label="l", labels=("a", "b", "c")),
    "regression": Task(name="r", kind="regression", text="t", label="l"),
    "tagging": Task(name="g", kind="tagging", text="t", label="l", labels=("a", "b", "c", "d")),
    "span": Task(name="s", kind="span", text="t", pair="p", label="l"),
}


def test_law_every_kind_of_task_has_a_head_and_a_loss() -> None:
    assert assemble.TASK_HEADS.keys() == assemble.TASK_SCORES.keys() == METRICS_OF_KIND.keys() == TASKS.keys()


HEADS = {
    "classification": (SequenceHead, 3),
    "regression": (SequenceHead, 1),
    "tagging": (TokenHead, 4),
    "span": (SpanHead, 2),
}


@pytest.mark.parametrize("kind", TASKS)
def test_known_heads(kind: str) -> None:
    head, outputs = HEADS[kind]
    encoder = tiny.bert()
    built = build_head(TASKS[kind], encoder, AffineConfig(), seed=1)
    assert type(built) is head
    assert built.output.weight.shape == (outputs, 16)  # type: ignore[union-attr]
    same, other = (build_head(TASKS[kind], encoder, AffineConfig(), seed=seed) for seed in (1, 2))
    assert torch.equal(built.output.weight, same.output.weight)  # type: ignore[union-attr]
    assert not torch.equal(built.output.weight, other.output.weight)  # type: ignore[union-attr]
    assert len(assemble.task_score(TASKS[kind])) == 1


@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("config", [*tiny.COMPLEX.values(), tiny.QCLS, tiny.SHAPE], ids=lambda config: config.family)
def test_known_heads_of_whole_texts_fit_any_family(config: assemble.EncoderConfig, kind: str) -> None:
    encoder, batch = build_encoder(config).eval(), tiny.batch([5, 3])
    state = encoder(batch)
    heads = {AffineConfig(): SequenceHead, MeasurementConfig(): MeasurementHead, ModulusConfig(): ModulusHead}
    for settings, expected in heads.items():
        head = build_head(TASKS[kind], encoder, settings).eval()
        assert type(head) is expected
        assert head(state, batch)["logits"].shape == (2, HEADS[kind][1])


@pytest.mark.parametrize("kind", ["tagging", "span"])
def test_known_heads_of_tokens_read_both_parts(kind: str) -> None:
    encoder, batch = build_encoder(tiny.COMPLEX["qbert"]), tiny.batch([5, 3])
    head = build_head(TASKS[kind], encoder, usual_head(encoder.config, TASKS[kind])).eval()
    state = encoder(batch)
    assert state.tokens.is_complex()
    (found,) = head(state, batch).values()
    turned = type(state)(state.vector, state.tokens.conj())
    assert head.output.in_features == 16  # type: ignore[union-attr]
    kept = found.isfinite()
    assert not torch.allclose(head(turned, batch)[next(iter(head(state, batch)))][kept], found[kept])
    for settings in (MeasurementConfig(), ModulusConfig()):
        with pytest.raises(
            UserError, match=f"a {settings.kind} head reads one vector a text, no tokens; .*affine head"
        ):
            build_head(TASKS[kind], encoder, settings)


def test_known_usual_heads() -> None:
    families = {"bert": tiny.SHAPE, "qcls": tiny.QCLS, **tiny.COMPLEX}
    kinds = {name: usual_head(config, TASKS["regression"]).kind for name, config in families.items()}
    assert kinds == {
        "bert": "affine",
        "qbert": "measurement",
        "qbert as published": "measurement",
        "cvbert": "modulus",
        "widely-linear": "measurement",
        "qcls": "measurement",
    }
    assert all(usual_head(config, TASKS["span"]).kind == "affine" for config in families.values())
    assert assemble.USUAL_HEADS.keys() == assemble.ENCODERS.keys()


def test_law_the_command_line_knows_the_names() -> None:
    assert set(options.HEADS) == assemble.HEADS.keys()
    assert options.MAX_INT == MAX_INT
    assert set(options.LIFTED) == set(get_args(LiftConfig.model_fields["into"].annotation)) <= assemble.ENCODERS.keys()


def test_known_names_that_are_refused() -> None:
    with pytest.raises(UserError, match=r"here names no known kind of head 'modulo'; did you mean 'modulus'"):
        assemble.head_config({"kind": "modulo"}, "here")
    with pytest.raises(UserError, match=r"the head of here has an unknown key 'drop'; did you mean 'dropout'"):
        assemble.head_config({"drop": 0.1}, "here")


def test_law_building_leaves_the_callers_random_state() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    encoder = build_encoder(tiny.SHAPE, seed=3)
    build_head(TASKS["span"], encoder, AffineConfig())
    build_pretraining_head(encoder, PretrainingConfig())
    assert torch.equal(torch.get_rng_state(), before)


def test_known_a_tied_decoder_is_the_embedding() -> None:
    encoder = build_encoder(tiny.SHAPE)
    assert build_pretraining_head(encoder, PretrainingConfig()).words.decoder.weight is encoder.token.weight
    own = build_pretraining_head(encoder, PretrainingConfig(tied=False)).words.decoder.weight
    assert own is not encoder.token.weight and own.shape == encoder.token.weight.shape


def test_known_next_sentences_need_a_first_token() -> None:
    encoder = build_encoder(tiny.SHAPE.model_copy(update={"pool": "mean"}))
    with pytest.raises(UserError, match=r"reads \[CLS\]; set encoder.pool to 'pooled' or 'cls'"):
        build_pretraining_head(encoder, PretrainingConfig())
    assert build_pretraining_head(encoder, PretrainingConfig(next_sentence=False)).next is None


def test_law_balanced_weights_make_every_class_count_the_same() -> None:
    labels = np.array([0] * 6 + [1] * 3 + [3])
    weights = balanced_weights(labels, 4)
    assert_close(weights, torch.tensor([10 / 24, 10 / 12, 1.0, 10 / 4]))
    shares = [float(weights[label]) * int((labels == label).sum()) for label in (0, 1, 3)]
    assert shares == pytest.approx([2.5] * 3)
