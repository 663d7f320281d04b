"""Settings of the rivals in writing with a label."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from psitext.config import Config, named_by_keys


class StructuredConfig(Config):
    """What both have: an LSTM autoencoder, and how long it learns."""

    kind: Literal["ctrl-gen", "arae"]
    code: int = Field(default=32, gt=0)  # numbers of a sentence, beside its label
    features: int = Field(default=256, gt=0)  # of a word
    width: int = Field(default=256, gt=0)  # of both LSTMs: as many parameters as a causal decoder of 4 layers of 256
    dropout: float = Field(default=0.2, ge=0, lt=1)
    lr: float = Field(default=1e-3, gt=0, le=1)
    clip: float = Field(default=5.0, ge=0)
    batch: int = Field(default=64, gt=1)  # sentences of a step
    max_tokens: int = Field(default=32, gt=1)  # of a sentence, its end included; longer ones are left out
    steps: int | None = Field(default=None, gt=0)
    minutes: float | None = Field(default=None, gt=0)  # turned into steps by a measured beginning, where steps is None


class CtrlGenConfig(StructuredConfig):
    """Ctrl-Gen. The four weights are the paper's."""

    kind: Literal["ctrl-gen"] = "ctrl-gen"
    kl: float = Field(default=1.0, ge=0)  # weight of the KL term, reached at ``wake``
    wake: float = Field(default=0.5, ge=0, lt=1)  # share of the steps with the VAE alone
    attribute: float = Field(default=0.1, ge=0)  # lambda_c
    rest: float = Field(default=0.1, ge=0)  # lambda_z
    sleep: float = Field(default=0.1, ge=0)  # lambda_u
    entropy: float = Field(default=0.1, ge=0)  # beta of the discriminator
    hottest: float = Field(default=1.0, gt=0)  # temperature of soft sentences, falling ...
    coldest: float = Field(default=0.1, gt=0)  # ... to this at the end
    dreams: int = Field(default=16, gt=1)  # sentences that are generated for each player in a step ...
    written: int = Field(default=16, gt=1)  # ... of so many tokens at most
    filters: int = Field(default=64, gt=0)  # of each width, in the discriminator


class AraeConfig(StructuredConfig):
    """ARAE."""

    kind: Literal["arae"] = "arae"
    noise: int = Field(default=32, gt=0)  # numbers that a code is generated from
    hidden: int = Field(default=128, gt=0)  # of generator, critic and classifier
    blur: float = Field(default=0.2, ge=0)  # deviation of the noise on codes, falling to 0 with the game
    game_lr: float = Field(default=5e-4, gt=0, le=1)  # of generator and critic
    critic: int = Field(default=5, gt=0)  # its moves a step
    bound: float = Field(default=0.05, gt=0)  # of the critic's weights
    adversary: float = Field(default=0.01, ge=0)  # weight of the critic's word in the encoder's loss
    hidden_label: float = Field(default=1.0, ge=0)  # weight of hiding the label from the classifier


RivalConfig = Annotated[
    CtrlGenConfig | AraeConfig,
    Field(discriminator="kind"),
    named_by_keys(CtrlGenConfig, AraeConfig),
]
