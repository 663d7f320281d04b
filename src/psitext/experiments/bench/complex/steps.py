"""A whole step of pre-training a QBERT-mini: batches, both heads, gradients, clipping, CAdamW.

The other side is a straightforward program for torch's complex tensors (``native``): rows padded to the longest, logits
of every place, and the optimiser line by line as Algorithm 1 stands (``optimiser.Typeset``). Weights, texts, masks,
losses, rates and decay are the same.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from psitext.assemble import build_encoder, build_pretraining_head
from psitext.encoders.qbert import Qbert
from psitext.experiments.bench.complex.native import Pretrainer
from psitext.experiments.bench.optimiser import Typeset
from psitext.experiments.bench.pretraining import Text
from psitext.experiments.bench.racing import Course, Step, our_step, race
from psitext.experiments.bench.timing import Measured
from psitext.experiments.runs.recipes import PretrainRecipe, resolve_recipe
from psitext.heads.complex_pretraining import ComplexPretrainingHead
from psitext.nn.numerics import Precision
from psitext.score.losses import pretraining
from psitext.text.batches import Ints
from psitext.text.pretraining.source import PretrainingSource
from psitext.train.network import Network
from psitext.train.optim import OptimConfig, build_optimizer


def pretraining_speed(
    text: Text, vocab_size: int, course: Course, precision: Precision = "fp32", recipe_name: str = "qbert-mini"
) -> Measured:
    """Real tokens a second, ours in ``precision``; complex64 knows no other."""
    recipe = resolve_recipe("pretrain", recipe_name)
    assert isinstance(recipe, PretrainRecipe)
    encoder = build_encoder(recipe.encoder.model_copy(update={"vocab_size": vocab_size}))
    head = build_pretraining_head(encoder, recipe.head)
    assert isinstance(encoder, Qbert)
    assert isinstance(head, ComplexPretrainingHead)
    native, optim = Pretrainer(encoder, head), recipe.train.optim
    optimizer = build_optimizer(encoder, head, optim)
    ours = our_step(Network(encoder, head), optimizer, pretraining(), text.source, optim, precision)
    theirs = native_step(native, padded(text), optim)
    found = race(course, text.source.lengths(0), ours, theirs, optim)
    return found.measured(
        f"pre-training {recipe_name} on {text.name} against complex64, V = {vocab_size:,}, {precision}",
        course,
    )


def padded(text: Text) -> PretrainingSource:
    """The same samples with the same masks, one a row, padded to the longest of a batch."""
    config = text.source.config.model_copy(update={"layout": "padded"})
    return PretrainingSource(text.source.store, text.tokenizer, config, seed=text.source.seed)


def native_step(model: Pretrainer, source: PretrainingSource, optim: OptimConfig) -> Step:
    """Build, forward, backward, clip, update."""
    matrices = textbook([p for p in model.parameters() if p.ndim > 1], optim, optim.weight_decay)
    vectors = textbook([p for p in model.parameters() if p.ndim < 2], optim, 0.0)  # biases and norms do not decay

    def step(samples: Ints, scale: float) -> float:
        loss = model.loss(source.build(samples, 0))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), optim.clip)
        matrices(scale)
        vectors(scale)
        return float(loss.detach())

    return step


def textbook(parameters: list[nn.Parameter], optim: OptimConfig, decay: float) -> Callable[[float], None]:
    """Algorithm 1 over parameters, at a share of the peak rate; takes their gradients away."""
    settings = {"betas": (optim.beta1, optim.beta2), "eps": optim.eps, "weight_decay": decay}
    rule = Typeset([p.detach() for p in parameters], [], real_square=True)

    def update(scale: float) -> None:
        rule.settings = {**settings, "lr": optim.lr * scale}
        rule.slopes = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        rule.step()
        for parameter, theta in zip(parameters, rule.theta, strict=True):
            parameter.data, parameter.grad = theta, None

    return update
