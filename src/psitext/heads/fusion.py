"""Written from a context, from the response itself, and from between the two: the head of a fused latent space.

    z_tau = tau z_S2S + (1 - tau) z_AE + noise,         tau ~ U(0, 1),  noise ~ N(0, sigma^2)

With sentences of a style a third latent comes beside them, z'_tau = tau z_Style + (1 - tau) z_AE + noise, from which
both the style's sentence and the response are written.

Source: Gao et al. 2019a (SpaceFusion), eq. 3; Gao et al. 2019b (StyleFusion); Li et al. 2020 (Optimus),
appendix. Letters: B samples, M tokens that are predicted in all responses, M' in all sentences of the style, P latent
numbers, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from psitext.heads.affine import Prediction
from psitext.heads.decoding import Decoder, asked
from psitext.state import Posterior, State
from psitext.text.batches import Batch

PATHS = ("s2s", "ae", "between")  # what a response is written from


class FusionHead(nn.Module):
    """Posterior of two or three groups -> scores of every token, a path each.

    ``s2s``, ``ae``, ``between`` (M, V) of the response; with a style ``response`` (M, V) and ``style`` (M', V), both
    from z'_tau, and ``share`` (B,), its tau, which is also that of z_tau. Latents are the means of the posteriors. Out
    of training tau is 1/2, without noise.
    """

    def __init__(self, decoder: Decoder, sigma: float = 0.1) -> None:
        super().__init__()
        self.decoder = decoder
        self.sigma = sigma

    def forward(self, state: State, batch: Batch) -> Prediction:
        """Write every response three times, under teacher forcing; a style's sentence once."""
        assert isinstance(state, Posterior)
        context, response, *style = state.vector.split(len(batch.samples))
        share = torch.rand(len(context), 1, device=context.device) if self.training else context.new_full((1, 1), 0.5)
        latents = [context, response, self._between(context, response, share)]
        if style:
            latents.append(self._between(style[0], response, share))
        rows, lengths = batch.targets["written"], batch.targets["written_length"]
        scores = self._scores(torch.cat(latents), rows.repeat(len(latents), 1), lengths.repeat(len(latents)))
        predicted: Prediction = dict(zip((*PATHS, "response"), scores.chunk(len(latents)), strict=False))
        if style:
            predicted["style"] = self._scores(latents[-1], batch.targets["style"], batch.targets["style_length"])
            predicted["share"] = share[:, 0].expand(len(context))
        return predicted

    def _between(self, first: Tensor, second: Tensor, share: Tensor) -> Tensor:
        """(B, P) ``share`` of the first, the rest of the second."""
        middle = share * first + (1 - share) * second
        return middle + self.sigma * torch.randn_like(middle) if self.training else middle

    def _scores(self, latent: Tensor, rows: Tensor, lengths: Tensor) -> Tensor:
        """(., V) of every token but the first of each row, rows in order."""
        return self.decoder.logits(self.decoder.states(rows[:, :-1], latent)[asked(rows, lengths)])
