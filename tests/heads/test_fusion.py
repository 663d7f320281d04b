"""Written from a context, from the response, and from between: which latent each path reads."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

import spaces
from psitext.heads.decoding import asked
from psitext.heads.fusion import FusionHead
from psitext.state import Posterior
from psitext.text.batches import Batch

B, P = 5, 4


def batch(with_style: bool = False) -> Batch:
    """B samples with written rows of different lengths, and another B as a style's."""
    own = spaces.Made((3, 1, 4, 2, 5)).build(np.arange(B))
    targets = dict(own.targets)
    if with_style:
        other = spaces.Made((2, 6, 1, 3, 2), kinds=(7, 8, 9, 5, 6)).build(np.arange(B))
        targets |= {"style": other.targets["written"], "style_length": other.targets["written_length"]}
    object.__setattr__(own, "targets", targets)
    return own


def posterior(groups: int, seed: int = 0) -> Posterior:
    random = torch.Generator().manual_seed(seed)
    mean = torch.randn(groups * B, P, generator=random, dtype=torch.float64)
    return Posterior(mean, torch.full_like(mean, 3.0))


def scores(head: FusionHead, latent: Tensor, rows: Tensor, lengths: Tensor) -> Tensor:
    """What the decoder says under teacher forcing, row by row."""
    found = []
    for z, row, length in zip(latent, rows, lengths.tolist(), strict=True):
        found.append(head.decoder.logits(head.decoder.states(row[None, : length - 1], z[None])[0]))
    return torch.cat(found)


def test_law_out_of_training_every_path_reads_its_mean() -> None:
    head, state, one = FusionHead(spaces.writer(P), sigma=9.0).eval(), posterior(2), batch()
    context, response = state.vector.chunk(2)
    rows, lengths = one.targets["written"], one.targets["written_length"]
    found = head(state, one)
    assert found.keys() == {"s2s", "ae", "between"}
    for name, latent in (("s2s", context), ("ae", response), ("between", (context + response) / 2)):
        assert torch.allclose(found[name], scores(head, latent, rows, lengths)), name


def test_law_with_a_style_both_sentences_are_written_from_between() -> None:
    head, state, one = FusionHead(spaces.writer(P)).eval(), posterior(3), batch(with_style=True)
    _, response, style = state.vector.chunk(3)
    found = head(state, one)
    middle = (response + style) / 2
    assert torch.allclose(
        found["response"], scores(head, middle, one.targets["written"], one.targets["written_length"])
    )
    assert torch.allclose(found["style"], scores(head, middle, one.targets["style"], one.targets["style_length"]))
    assert found["share"].tolist() == [0.5] * B
    assert len(found["style"]) == int(asked(one.targets["style"], one.targets["style_length"]).sum())


def test_law_in_training_tau_and_noise_are_drawn_for_every_sample() -> None:
    """Latents of two groups that differ by one direction: what lies between is on the line, but for the noise."""
    seen: list[Tensor] = []
    decoder = spaces.writer(P)
    states = decoder.states

    def watched(ids: Tensor, latent: Tensor) -> Tensor:
        seen.append(latent)
        return states(ids, latent)

    object.__setattr__(decoder, "states", watched)
    one, state = batch(with_style=True), posterior(3)
    context, response, style = state.vector.chunk(3)
    for sigma in (0.0, 0.5):
        torch.manual_seed(0)
        head = FusionHead(decoder, sigma).train()
        seen.clear()
        share = head(state, one)["share"][:, None]
        between, beside = seen[0][2 * B : 3 * B], seen[0][3 * B :]
        assert 0 <= share.min() < share.max() <= 1
        off = between - (share * context + (1 - share) * response)
        also = beside - (share * style + (1 - share) * response)
        if sigma:
            assert 0.5 * sigma < torch.cat([off, also]).std() < 1.5 * sigma
        else:
            assert torch.allclose(torch.cat([off, also]), torch.zeros(2 * B, P, dtype=off.dtype), atol=1e-7)
        assert torch.equal(seen[0][: 2 * B], torch.cat([context, response])), "the paths at the ends have no noise"
        assert torch.equal(seen[1], beside)
