"""How a sentence space is judged while it trains: its bound, its latents, and whether the decoder uses them.

Held-out sentences are written three times under teacher forcing: from the posterior's mean, from one keyed draw, and
from the draw of another sentence. The last costs no more than the second where the space has collapsed, that is where
the decoder has learnt to do without it.

Letters: S held-out sentences, P latent numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from psitext.errors import UserError
from psitext.experiments.runs.validation import part_of
from psitext.heads.decoding import wanted
from psitext.nn.numerics import Precision, autocast
from psitext.randomness import generator
from psitext.score.elbo import ObjectiveConfig, free_bits, kl_per_dimension, loss_of, masked
from psitext.score.latents import active_units
from psitext.score.latents import latents as drawn
from psitext.score.losses import word_surprise_sum
from psitext.state import Posterior
from psitext.text.batches import Ints, Source
from psitext.train.loop import Event, Validation
from psitext.train.predict import by_length

PASSES = 3  # over the sentences, which share the tokens that an evaluation may cost
BATCH_TOKENS = 2_048  # in a batch: each of them has scores over the whole vocabulary
# Of what a sentence costs: a decoder that loses less by another sentence's latent does not use it. What a good decoder
# loses is more than its latents tell, which is 0 to 0.1 nats of 100 to 360 in the paper's collapsed LSTM spaces (Tables
# 8 to 11, M.A.) and 0.8 nats of 100 in the poorest of the others.
UNUSED = 0.01


def latent_validation(source: Source, objective: ObjectiveConfig, precision: Precision) -> Validation:
    """Values in nats per sentence on held-out sentences; ``loss``, which should be low, decides what is best.

    ``loss``: the objective at the end of its schedule, with beta's end value and the floor of free bits; for beta = 0
    it is ``rec``. Not -ELBO: a decoder that starts as a language model is often best by it before it uses any latent,
    and whoever sets a floor gives some of the bound for a space; -ELBO would keep the start in place of that space.
    Under "token" or "mixed" reduction the loss, and nothing else, has their unit.

    ``rec``, ``token_accuracy`` (the most probable token is the right one, from the mean); with a latent also
    ``active_units``, ``latent_gap`` (``rec`` from other sentences' latents less ``rec``) and ``collapsed``, 1.0 where
    that is next to nothing; where training draws, also ``kl``, ``neg_elbo`` = rec + kl, ``kl_lowest`` and
    ``kl_highest`` of the dimensions, and under free bits ``kl_free_bits`` (with the floor, eq. 9) and ``kl_masked``
    (the original code's, with 0 in its place). An autoencoder without noise writes from means, and has no ``kl``.

    Errors: UserError for fewer than two sentences, of which no latent differs from another's.
    """
    lengths = source.lengths(0)
    if len(lengths) < 2:
        raise UserError(
            f"a space is judged on at least two held-out sentences, not on {len(lengths)}; hold out more "
            "(--set sentences.held_out=10), or give more text"
        )
    chosen = part_of(PASSES * lengths)
    if len(chosen) < 2:
        raise ValueError(f"sentences of {int(lengths.max())} tokens are too long to be judged")

    def evaluate(network: nn.Module) -> Mapping[str, float]:
        was_training = network.training
        network.eval()
        values = _values(partial(_read, network, source, chosen, precision), objective)
        network.train(was_training)
        return values

    return Validation(evaluate, "loss", low_is_good=True)


def words(event: Event) -> str | None:
    """A warning in words where an evaluation found the space collapsed, else None."""
    if not event.get("collapsed"):
        return None
    kl = f", KL {event['kl']:.2f} nats" if "kl" in event else ""
    return (
        f"the decoder does not use its latents at step {event['step']:,}: from another sentence's, a sentence costs "
        f"{event['latent_gap']:.2f} nats more than the {event['rec']:.1f} from its own{kl}, "
        f"{event['active_units']:.0f} units active; if that lasts, free bits (objective.free_nats), a schedule with a "
        "phase at zero, or a start from an autoencoder keep a space open"
    )


@dataclass(frozen=True, slots=True)
class _Read:
    """What one pass over S sentences gives."""

    rec: float  # nats, sum
    right: int  # tokens
    tokens: int
    mean: Tensor  # (S, P) float32, of the posteriors that were decoded
    log_var: Tensor


def _values(read: Callable[..., _Read], objective: ObjectiveConfig) -> dict[str, float]:
    """The values of an evaluation, from its first pass and the two that its latents are needed for."""
    own = read()
    count, width = own.mean.shape
    accuracy = {"token_accuracy": own.right / own.tokens}
    kl = kl_per_dimension(own.mean.double(), own.log_var.double())
    if width == 0:
        return {"loss": loss_of(objective, own.rec, kl, own.tokens), "rec": own.rec / count, **accuracy}
    latents, rec = own.mean, own.rec
    if objective.noise:
        noise = torch.from_numpy(generator(0, "held-out noise").standard_normal((count, width)))
        latents = drawn(noise, own.mean, own.log_var).float()
        rec = read(latents).rec
    gap = read(latents[_others(count)]).rec - rec
    values = {
        "loss": loss_of(objective, rec, kl, own.tokens),
        "rec": rec / count,
        **accuracy,
        "active_units": float(active_units(own.mean).sum()),
        "latent_gap": gap / count,
        "collapsed": float(gap < UNUSED * rec),
    }
    return values | (_divergence(kl, rec / count, objective) if objective.noise else {})


def _divergence(kl: Tensor, rec: float, objective: ObjectiveConfig) -> dict[str, float]:
    """What there is to say of (S, P) ``kl`` beside a reconstruction, both per sentence."""
    mean, each = float(kl.sum()) / len(kl), kl.mean(0)
    values = {"kl": mean, "neg_elbo": rec + mean, "kl_lowest": float(each.min()), "kl_highest": float(each.max())}
    if objective.free_bits != "none" and objective.free_nats:
        how = objective.free_bits, objective.free_nats
        values["kl_free_bits"] = float(free_bits(kl, *how)) / len(kl)
        values["kl_masked"] = float(masked(kl, *how)) / len(kl)
    return values


def _read(
    network: nn.Module, source: Source, chosen: Ints, precision: Precision, latents: Tensor | None = None
) -> _Read:
    """One pass over the chosen sentences, from the means of their posteriors or from (S, P) latents in their place."""
    device = next(network.parameters()).device
    rec, right, count = 0.0, 0, 0
    posteriors: list[Tensor | None] = [None] * len(chosen)
    with torch.inference_mode(), autocast(device, precision):
        for places in by_length(source.lengths(0)[chosen], BATCH_TOKENS):
            batch = source.build(chosen[places], 0).to(device)
            with nullcontext() if latents is None else _encoding_as(network, latents[places].to(device)):
                predicted, state = network(batch)
            assert isinstance(state, Posterior)
            gold = wanted(batch)
            rec += float(word_surprise_sum(predicted["written"], gold))
            right += int((predicted["written"].argmax(-1) == gold).sum())
            count += len(gold)
            for place, one in zip(places, torch.stack([state.vector, state.log_var], 1).float().cpu(), strict=True):
                posteriors[place] = one
    mean, log_var = torch.stack([one for one in posteriors if one is not None]).unbind(1)
    return _Read(rec, right, count, mean, log_var)


@contextmanager
def _encoding_as(network: nn.Module, latents: Tensor) -> Iterator[None]:
    """While entered, (B, P) latents stand for the means of the posteriors, which is what is decoded in evaluation.

    The network still runs as a whole: of a sharded one no part can be called alone.
    """
    encoder = getattr(network, "module", network).encoder
    assert isinstance(encoder, nn.Module)
    handle = encoder.register_forward_hook(lambda module, given, state: replace(state, vector=latents))
    try:
        yield
    finally:
        handle.remove()


def _others(count: int) -> Tensor:
    """(S,) for every sentence another one, at random, each taken once."""
    order = torch.from_numpy(generator(0, "another sentence").permutation(count))
    others = torch.empty_like(order)
    others[order] = order.roll(1)
    return others
