"""The objectives of what fusion is compared with: a context that is decoded, and a conditional variational autoencoder.

    CVAE:  loss = -E_q(z|x,c) log p(x | z) + beta KL(q(z | x, c) || p(z | c))

Source: Zhao et al. 2017 (eq. 1, without their bag-of-words term); Serban et al. 2017; Gu et al. 2019, who compare
these. Letters: B samples, P latent numbers.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from psitext.config import Config
from psitext.heads.decoding import wanted
from psitext.nn.numerics import float32_scores
from psitext.score.elbo import ObjectiveConfig, free_bits, kl_per_dimension, sentences
from psitext.score.losses import Objective, Predicted, Score, word_surprise_sum
from psitext.state import Posterior, State
from psitext.text.batches import Batch


class Seq2SeqConfig(Config):
    """A response from the mean latent of its context; nothing is drawn."""

    kind: Literal["seq2seq"] = "seq2seq"


class CvaeConfig(Config):
    """A response from a latent that is drawn: in training from what the response tells, later from the context's prior.

    The weight of the KL term rises over the first half of the run, against its collapse.
    """

    kind: Literal["cvae"] = "cvae"
    objective: ObjectiveConfig = ObjectiveConfig(schedule="linear")


def seq2seq(config: Seq2SeqConfig) -> Score:
    """The nats of a response, from DecodingHead's prediction."""
    return {"rec": Objective(_rec, sentences)}


def cvae(config: CvaeConfig) -> Score:
    """``rec`` and ``kl`` of a prediction and a Posterior of two groups: the prior of the context, and what recognises
    the response.
    """
    given = config.objective

    def kl(predicted: Predicted, batch: Batch, state: State) -> Tensor:
        assert isinstance(state, Posterior)
        prior, recognised = state[: len(batch.samples)], state[len(batch.samples) :]
        return free_bits(kl_between(recognised, prior), given.free_bits, given.free_nats)

    return {"rec": Objective(_rec, sentences), "kl": Objective(kl, sentences, given.beta_at)}


def kl_between(first: Posterior, second: Posterior) -> Tensor:
    """(B, P) nats, KL(first || second) of every number of two Gaussians; float32 at least.

    It is that from N(0, 1) in coordinates in which the second one is N(0, 1).
    """
    mean, log_var = float32_scores(first.vector), float32_scores(first.log_var)
    other, other_log_var = float32_scores(second.vector), float32_scores(second.log_var)
    return kl_per_dimension((mean - other) * (-0.5 * other_log_var).exp(), log_var - other_log_var)


def _rec(predicted: Predicted, batch: Batch, state: State) -> Tensor:
    return word_surprise_sum(predicted["written"], wanted(batch))
