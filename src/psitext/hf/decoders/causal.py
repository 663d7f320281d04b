"""A decoder of transformers' own classes: sentences from a latent, or without one a plain language model.

Letters: B sentences, T tokens, S tokens of a prompt, P latent numbers, H width, L layers, G heads of keys and values, E
width of a head, V vocabulary.

Source: Li et al. 2020 (Optimus), section 3.2; their code has both matrices without bias, adds the embedding at the
input alone, and counts positions from 1 behind a memory.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from psitext.errors import UserError
from psitext.heads.decoding import CausalConfig, Decoder, Writing
from psitext.hf.decoders.injection import causal
from psitext.hf.decoders.networks import build, first_position, has_embedding, has_memory, kv_width
from psitext.hf.decoders.writing import write


class CausalDecoder(Decoder):
    """p(x | z) by a causal transformer.

    ``memory`` (W_M, P -> L * G * E) makes the slot that layers attend to, ``embedding`` (W_D, P -> H) what is added to
    every token; each is None where the injection has no use for it. All else is ``network``, transformers' model.
    """

    config: CausalConfig
    memory: nn.Linear | None
    embedding: nn.Linear | None

    def __init__(self, config: CausalConfig) -> None:
        super().__init__()
        self.config = config
        self.network: Any = build(config)
        self.first_position = first_position(config)
        width = config.layers * kv_width(config)
        self.memory = nn.Linear(config.latent, width, bias=False) if has_memory(config) else None
        self.embedding = nn.Linear(config.latent, config.width, bias=False) if has_embedding(config) else None
        for matrix in (self.memory, self.embedding):
            if matrix is not None:
                nn.init.normal_(matrix.weight, std=config.init_std)

    @property
    def token(self) -> nn.Embedding:
        """The embedding of the tokens that are written."""
        found: nn.Embedding = self.network.get_input_embeddings()
        return found

    def states(self, ids: Tensor, latent: Tensor) -> Tensor:
        """(B, T, H) the state that predicts the token after each of (B, T) tokens, padding on the right, under (B, P)
        latents. Errors: ValueError for more tokens than there are positions, or latents of another width.

        No mask of padding is needed: no token looks to its right.
        """
        tokens, last = ids.shape[1], ids.shape[1] + self.first_position
        if last > self.config.max_len:
            raise ValueError(f"{tokens} tokens do not fit {self.config.max_len} positions from {self.first_position}")
        memory, added = self.injected(latent)
        return self.run(
            ids,
            torch.arange(self.first_position, last, device=ids.device)[None],
            causal(tokens, tokens, ids.device),
            memory,
            added,
        )

    def logits(self, states: Tensor) -> Tensor:
        """(..., V) scores of the next token, from (..., H) states."""
        return F.linear(states, self.network.lm_head.weight)

    @torch.no_grad()
    def write(self, latent: Tensor, how: Writing, prompt: Tensor | None = None) -> Tensor:
        """(B * samples, N) int64 tokens after ``bos`` (and after ``prompt`` (B, S), padded on the left, without a
        ``bos`` of its own), under (B, P) latents: each row ends with ``eos`` or at ``max_len``, then padding.

        Rows of one latent stand together. ``bos`` and ``pad`` are never written. Dropout is off; draws are keyed by
        (seed, row, token), so torch's generator is not touched and the rest of a batch does not change a row. Errors:
        as ``Decoder.write``, and a prompt that leaves no position.
        """
        training = self.training
        self.eval()
        try:
            return write(self, latent, how, prompt)
        finally:
            self.train(training)

    def freeze(self, layers: int) -> None:
        """Train the words' embedding and the lowest ``layers`` layers no more; of all layers, nothing but the matrices
        of the latent. A tied output matrix is the embedding. Errors: UserError for more layers than there are, or where
        nothing would be left to train.
        """
        config, parts = self.config, self.network.base_model
        if layers > config.layers:
            raise UserError(f"the decoder has {config.layers} layers, of which {layers} cannot be frozen")
        if layers == config.layers and not config.latent:
            raise UserError(f"a language model with all of its {layers} layers frozen has nothing to learn")
        self.network.requires_grad_(layers == 0)
        if layers < config.layers:
            blocks, norm = (parts.h, parts.ln_f) if config.model == "gpt2" else (parts.layers, parts.norm)
            for part in (*blocks[layers:], norm, *(() if config.tied else (self.network.lm_head,))):
                part.requires_grad_(True)

    def injected(self, latent: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """(B, L, G * E) the memory and (B, H) what is added to tokens, of (B, P) latents; None for what is not used."""
        if latent.shape[-1] != self.config.latent:
            raise ValueError(f"latents of {latent.shape[-1]} numbers do not fit a decoder of {self.config.latent}")
        memory = None if self.memory is None else self.memory(latent).unflatten(-1, (self.config.layers, -1))
        return memory, None if self.embedding is None else self.embedding(latent)

    def run(
        self,
        ids: Tensor,
        positions: Tensor,
        mask: Tensor | None,
        memory: Tensor | None,
        added: Tensor | None,
        **rest: Any,
    ) -> Tensor:
        """(B, T, H) states of (B, T) tokens at (B or 1, T) positions under a (B or 1, 1, T, S) mask; ``rest`` goes to
        transformers' model.
        """
        embedded = self.token(ids)
        output = self.network.base_model(
            inputs_embeds=embedded if added is None else embedded + added[:, None],
            position_ids=positions,
            attention_mask=mask,
            latent_memory=memory,
            **rest,
        )
        states: Tensor = output.last_hidden_state
        return states
