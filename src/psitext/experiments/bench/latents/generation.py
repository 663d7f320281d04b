"""Writing sentences from latents, against the scheme of the original code: one latent at a time, and the whole prefix
again for every token.

Both sides are greedy and write the same tokens; the end of a sentence is left out of the vocabulary, so that all have
the same length. Letters: B latents, P their width.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from psitext.assemble import build_decoder
from psitext.experiments.bench.timing import Measured, compare
from psitext.heads.decoding import CausalConfig, Decoder, Writing
from psitext.nn.numerics import Precision, autocast
from psitext.randomness import torch_seed

LATENTS, TOKENS = 64, 20
SAME = 0.9  # of the tokens: rounding turns a choice between two that are alike, and what follows it


@dataclass(frozen=True, slots=True)
class Task:
    """What is written with: the decoder of the mini recipes by default."""

    decoder: CausalConfig = field(default_factory=lambda: CausalConfig(eos=0))  # the padding, which is never written
    latents: int = LATENTS
    tokens: int = TOKENS


def generation_speed(rounds: int, seed: int, precision: Precision = "fp32", task: Task | None = None) -> Measured:
    """Seconds a sentence, ours in ``precision``, theirs in float32; same weights and latents.

    Errors: AssertionError where the two sides write other tokens.
    """
    task = task or Task()
    decoder = build_decoder(task.decoder, seed).eval()
    random = torch.Generator().manual_seed(torch_seed(seed, "latents"))
    latent = torch.randn(task.latents, task.decoder.latent, generator=random)
    ours, theirs = (
        partial(together, decoder, latent, task.tokens, precision),
        partial(again, decoder, latent, task.tokens),
    )
    written, expected = ours(), theirs()
    same = float((written == expected).float().mean())
    if written.shape != expected.shape or same < (SAME if precision == "bf16" else 1.0):
        raise AssertionError(f"the two sides write the same in {same:.0%} of all places only")
    timing = compare([([ours], [theirs])] * (rounds + 1), seed=seed)
    shape = f"{task.decoder.layers} layers of {task.decoder.width}, {task.decoder.vocab_size:,} words"
    return Measured(
        f"{task.latents} sentences of {task.tokens} tokens, {shape}, {precision}, against one by one without a cache",
        "s a sentence",
        timing.ours / task.latents,
        timing.theirs / task.latents,
        timing.ratio,
    )


def together(decoder: Decoder, latent: Tensor, tokens: int, precision: Precision) -> Tensor:
    """(B, tokens) as psitext writes them."""
    with torch.no_grad(), autocast(latent.device, precision):
        return decoder.write(latent, Writing(max_len=tokens))


@torch.inference_mode()
def again(decoder: Decoder, latent: Tensor, tokens: int) -> Tensor:
    """(B, tokens) greedily, each token from its whole prefix, one latent at a time."""
    config, rows = decoder.config, []
    for one in latent.split(1):
        row = torch.tensor([[config.bos]])
        for _ in range(tokens):
            scores = decoder.logits(decoder.states(row, one)[:, -1])
            scores[:, [config.bos, config.pad]] = -torch.inf  # what is never written
            row = torch.cat([row, scores.argmax(-1, keepdim=True)], dim=1)
        rows.append(row[:, 1:])
    return torch.cat(rows)
