"""The bound on the likelihood of sentences, against the scheme of the original code: one sentence at a time, read
without a batch, and five draws of it a call of the decoder.

Speed depends on how long sentences are, not on what they say: rows are random, as long as SNLI's. Letters: S sentences,
K draws, P latent numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from psitext.assemble import build_decoder
from psitext.encoders.bert import BertConfig
from psitext.encoders.vae import Vae, VaeConfig
from psitext.experiments.bench.timing import Measured, compare
from psitext.experiments.latents.bounds import Draws, iwae, noise
from psitext.heads.decoding import CausalConfig, Decoder
from psitext.nn.numerics import Precision
from psitext.randomness import generator, torch_seed
from psitext.state import Posterior
from psitext.text.batches import Batch, Ints, lay_out, padded

SENTENCES, DRAWS, AT_ONCE = 16, 100, 5
MEAN, SPREAD = 11.7, 4.0  # predicted tokens of SNLI's sentences
MINI = BertConfig(vocab_size=8_192, width=256, layers=4, heads=4, hidden=1_024)
ROUNDING = 0.01  # of a bound, relative: what bfloat16 products may do to it


@dataclass(frozen=True, slots=True)
class Space:
    """A BERT-mini that reads, a decoder that writes, and how many sentences are judged in a round."""

    encoder: VaeConfig = field(default_factory=lambda: VaeConfig(trunk=MINI))
    decoder: CausalConfig = field(default_factory=CausalConfig)
    sentences: int = SENTENCES


@dataclass(frozen=True, slots=True)
class Rows:
    """Random sentences; a ``batches.Source``."""

    rows: tuple[Ints, ...]  # bos w1 .. wn eos, which are read as they are written

    def lengths(self, epoch: int = 0) -> Ints:
        """(S,) tokens."""
        return np.asarray([len(row) for row in self.rows])

    def build(self, samples: Ints, epoch: int = 0) -> Batch:
        """The batch of these samples."""
        lengths = self.lengths()[samples]
        written = np.zeros((len(samples), int(lengths.max())), dtype=np.int64)
        for number, sample in enumerate(samples.tolist()):
            written[number, : lengths[number]] = self.rows[sample]
        ids = np.concatenate([self.rows[sample] for sample in samples.tolist()])
        targets = {"written": written, "written_length": lengths}
        return lay_out(ids, np.zeros_like(ids), padded(lengths), samples, pad=0, targets=targets)


# The decoder of the mini recipes, and one of the size of the paper's, GPT-2 with three more words.
SPACES = (
    Space(),
    Space(decoder=CausalConfig(vocab_size=50_260, width=768, heads=12, layers=12, hidden=3_072), sentences=1),
)


def iwae_speed(rounds: int, seed: int, precision: Precision = "fp32", space: Space = SPACES[0]) -> Measured:
    """Seconds a sentence, ours in ``precision``, theirs in float32; same weights, sentences and noise.

    Errors: AssertionError where the two sides find other bounds.
    """
    encoder, decoder, source = _parts(space, seed)
    draws = Draws(k=DRAWS, seed=seed, precision=precision)
    drawn = [
        noise(seed, np.full(DRAWS, sentence), np.arange(DRAWS), space.decoder.latent).float()
        for sentence in range(space.sentences)
    ]
    ours = partial(iwae, encoder, decoder, source, draws)
    theirs = partial(one_by_one, encoder, decoder, source, drawn)
    bounds = torch.from_numpy(ours().log_p)
    gap = float((bounds - torch.tensor(theirs()).double()).abs().max() / bounds.abs().max())
    if not gap < (ROUNDING if precision == "bf16" else ROUNDING / 100):
        raise AssertionError(f"the bounds of the two sides differ by {gap:g} of them")
    timing = compare([([ours], [theirs])] * (rounds + 1), seed=seed)
    shape = f"{space.decoder.layers} layers of {space.decoder.width}, {space.decoder.vocab_size:,} words"
    return Measured(
        f"the bound of a sentence by {DRAWS} draws, {shape}, {precision}, against {AT_ONCE} draws of one at a time",
        "s a sentence",
        timing.ours / space.sentences,
        timing.theirs / space.sentences,
        timing.ratio,
    )


@torch.inference_mode()
def one_by_one(encoder: Vae, decoder: Decoder, source: Rows, drawn: list[Tensor]) -> list[float]:
    """log p_K of every sentence, as the original code computes it, from (K, P) noise of each."""
    found = []
    for sentence, eps in enumerate(drawn):
        batch = source.build(np.asarray([sentence]))
        state: Posterior = encoder(batch)
        row = batch.targets["written"]
        weights = []
        for some in eps.split(AT_ONCE):
            z = state.vector + (0.5 * state.log_var).exp() * some
            rows = row.expand(len(z), -1)
            scores = decoder.logits(decoder.states(rows, z))[:, :-1]
            surprise = F.cross_entropy(scores.flatten(0, 1), rows[:, 1:].flatten(), reduction="none")
            prior, posterior = -0.5 * z.square().sum(1), -0.5 * (some.square() + state.log_var).sum(1)
            weights.append(-surprise.view(len(z), -1).sum(1) + prior - posterior)
        found.append(float(torch.cat(weights).logsumexp(0)) - math.log(len(eps)))
    return found


def _parts(space: Space, seed: int) -> tuple[Vae, Decoder, Rows]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(seed, "iwae"))
        encoder, decoder = Vae(space.encoder).eval(), build_decoder(space.decoder, seed).eval()
    random = generator(seed, "sentences")
    words = np.clip(random.normal(MEAN, SPREAD, space.sentences).round(), 4, 40).astype(np.int64) - 1
    low, high = 5, min(space.encoder.vocab_size, space.decoder.vocab_size)
    bos, eos = space.decoder.bos, space.decoder.eos
    rows = [np.concatenate([[bos], random.integers(low, high, count), [eos]]) for count in words.tolist()]
    return encoder, decoder, Rows(tuple(rows))
