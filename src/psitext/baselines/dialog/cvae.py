"""A conditional variational autoencoder of dialogue: a prior over latents from the context, and one that has seen the
response, too.

    p(z | c) = N(W_c h_c)      q(z | x, c) = N(W_x h_x + W_b h_c)      p(x | z)

Both are one linear layer over the pooled states of the two encoders, as everywhere in this family; W_x h_x + W_b h_c is
a linear layer over both side by side. The decoder reads the context through z alone, whose prior mean carries it at no
cost; in the original it reads the context's state beside z. So every rival has the same decoder, and the same
bottleneck.

Source: Zhao et al. 2017; Serban et al. 2017. Letters: B samples, P latent numbers, H width.
"""

from __future__ import annotations

import torch
from torch import nn

from psitext.encoders.vae import Vae
from psitext.heads.affine import Prediction
from psitext.heads.decoding import Decoder, asked, drawn
from psitext.state import Posterior, State
from psitext.text.batches import Batch
from psitext.text.dialogs.groups import parted


class Cvae(nn.Module):
    """A batch of groups -> Posterior (2 B, P): the priors of the contexts, then what recognises the responses."""

    def __init__(self, sentences: Vae, contexts: Vae) -> None:
        super().__init__()
        self.sentences = sentences
        self.contexts = contexts
        self.beside = nn.Linear(contexts.config.trunk.width, 2 * contexts.config.latent, bias=False)  # W_b
        nn.init.zeros_(self.beside.weight)  # a response is recognised as in the space that this starts from

    def forward(self, batch: Batch) -> Posterior:
        """Encode contexts and responses."""
        context, response = parted(batch)
        known = self.contexts.trunk(context).vector  # h_c (B, H)
        prior = self.contexts.posterior(known)
        recognised = self.sentences.posterior(self.sentences.trunk(response).vector) + self.beside(known)
        mean, log_var = torch.cat([prior, recognised]).float().chunk(2, dim=-1)
        return Posterior(mean, log_var)


class CvaeHead(nn.Module):
    """Posterior of two groups -> {"written": (M, V) scores of every token of the responses but the first}, from one
    draw of the second group; out of training the noise of that draw is the same each time.
    """

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(self, state: State, batch: Batch) -> Prediction:
        """Write every response, under teacher forcing."""
        assert isinstance(state, Posterior)
        recognised = state[len(batch.samples) :]
        latent = drawn(recognised) if self.training else recognised.sample()
        rows, lengths = batch.targets["written"], batch.targets["written_length"]
        states = self.decoder.states(rows[:, :-1], latent)
        return {"written": self.decoder.logits(states[asked(rows, lengths)]), "latent": latent}
