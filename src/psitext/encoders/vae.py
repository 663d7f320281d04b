"""A sentence as a Gaussian: BERT and one linear layer for mean and log-variance; or nothing, for a language model.

Source: Li et al. 2020 (Optimus), section 3.1; their code predicts mean and log-variance by one matrix without bias
from the pooled [CLS]. Letters: B sentences, P latent numbers, D width.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from psitext.config import Config
from psitext.encoders.bert import Bert, BertConfig
from psitext.state import Posterior
from psitext.text.batches import Batch


class VaeConfig(Config):
    """A BERT ``trunk``, whose ``pool`` says what the posterior is made from, and P latent numbers."""

    family: Literal["vae"] = "vae"
    trunk: BertConfig = BertConfig()
    latent: int = Field(default=32, gt=0)  # P
    log_var_bound: float | None = Field(default=None, gt=0)  # |log variance| is cut there; None, as the original, never

    @property
    def vocab_size(self) -> int:
        """Of the tokens that are read."""
        return self.trunk.vocab_size

    @property
    def max_len(self) -> int:
        """Positions."""
        return self.trunk.max_len

    @property
    def pool(self) -> Literal["pooled", "cls", "mean"]:
        """What of the trunk the posterior is made from."""
        return self.trunk.pool

    @property
    def width(self) -> int:
        """Numbers in a state: the latent's."""
        return self.latent

    real_width = width

    @property
    def in_words(self) -> str:
        """What it is, for a reader."""
        return f"a posterior of {self.latent} numbers over a BERT of {self.trunk.in_words}"


class Vae(nn.Module):
    """Rows of tokens -> Posterior with ``vector`` and ``log_var`` (B, P)."""

    def __init__(self, config: VaeConfig) -> None:
        super().__init__()
        self.config = config
        self.trunk = Bert(config.trunk)
        self.posterior = nn.Linear(config.trunk.width, 2 * config.latent, bias=False)  # W_E
        nn.init.normal_(self.posterior.weight, std=config.trunk.init_std)

    @property
    def token(self) -> nn.Embedding:
        """The embedding of the tokens that are read."""
        return self.trunk.token

    def forward(self, batch: Batch) -> Posterior:
        """Encode every sentence as a Gaussian."""
        mean, log_var = self.posterior(self.trunk(batch).vector).float().chunk(2, dim=-1)
        bound = self.config.log_var_bound
        return Posterior(mean, log_var if bound is None else log_var.clamp(-bound, bound))


class NothingConfig(Config):
    """The encoder of a language model: no state."""

    family: Literal["nothing"] = "nothing"

    latent: Literal[0] = 0  # P
    vocab_size: Literal[0] = 0
    width: Literal[0] = 0
    real_width: Literal[0] = 0
    pool: Literal["cls"] = "cls"
    max_len: int = Field(default=128, gt=1)

    @property
    def in_words(self) -> str:
        """What it is, for a reader."""
        return "no encoder"


class Nothing(nn.Module):
    """Sentences -> Posterior of width 0."""

    def __init__(self, config: NothingConfig) -> None:
        super().__init__()
        self.config = config

    def forward(self, batch: Batch) -> Posterior:
        """Say nothing about any sentence."""
        empty: Tensor = torch.empty(len(batch.lengths), 0, device=batch.ids.device)
        return Posterior(empty, empty)
