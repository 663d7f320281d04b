"""Seq2Seq: the latent of a context is decoded into its response.

Source: Vinyals and Le 2015, by way of the encoder, decoder and bottleneck of a sentence space. Its head is DecodingHead
without noise.
"""

from __future__ import annotations

from torch import nn

from psitext.encoders.vae import Vae
from psitext.state import Posterior
from psitext.text.batches import Batch
from psitext.text.dialogs.groups import parted


class Seq2Seq(nn.Module):
    """A batch of groups -> Posterior (B, P) of its contexts; no response is read."""

    def __init__(self, contexts: Vae) -> None:
        super().__init__()
        self.contexts = contexts

    def forward(self, batch: Batch) -> Posterior:
        """Encode every context."""
        state: Posterior = self.contexts(parted(batch)[0])
        return state
