"""Contexts and sentences in one latent space, each by an encoder of its own.

Source: Gao et al. 2019a (SpaceFusion), whose context encoder (S2S) and sentence encoder (AE) share a space; Li et al.
2020 (Optimus), section 4.2. There both are one BERT whose last layers exist twice and whose lower layers rest; two
whole encoders that start as copies of one space, with their lower layers frozen (``freeze_lower``), are the same.

Letters: B samples, G groups of sequences, P latent numbers.
"""

from __future__ import annotations

import torch
from torch import nn

from psitext.encoders.bert import Bert
from psitext.encoders.vae import Vae
from psitext.state import Posterior
from psitext.text.batches import Batch
from psitext.text.dialogs.groups import parted


class Joint(nn.Module):
    """A batch of groups -> Posterior (G B, P): of the contexts, then of the responses and whatever is beside them."""

    def __init__(self, sentences: Vae, contexts: Vae) -> None:
        super().__init__()
        if sentences.config.latent != contexts.config.latent:
            raise ValueError("two encoders into one space make latents of one width")
        self.sentences = sentences
        self.contexts = contexts

    def forward(self, batch: Batch) -> Posterior:
        """Encode every group by its encoder; the first is the contexts."""
        first, *others = parted(batch)
        states = [self.contexts(first), *map(self.sentences, others)]
        return Posterior(torch.cat([one.vector for one in states]), torch.cat([one.log_var for one in states]))


def freeze_lower(trunk: Bert, layers: int) -> None:
    """Embeddings and the lowest ``layers`` blocks of a BERT are trained no more. Errors: ValueError for more than there
    are.
    """
    if layers > len(trunk.blocks):
        raise ValueError(f"of {len(trunk.blocks)} layers {layers} cannot be frozen")
    if layers:
        for part in (trunk.token, trunk.position, trunk.segment, trunk.norm, *trunk.blocks[:layers]):
            part.requires_grad_(False)
