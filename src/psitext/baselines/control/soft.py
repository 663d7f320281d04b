"""Sentences as distributions over words, which a gradient can pass (Hu et al. 2017, section 3.2).

Every next word is softmax(scores / temperature), and the decoder reads its expected features in place of a word's: the
cooler, the nearer to a real word. Letters: B sentences, L steps, E features, P latent numbers, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from psitext.baselines.control.structured import lengths_of
from psitext.baselines.lstm import LstmDecoder


def soft_words(decoder: LstmDecoder, latent: Tensor, steps: int, temperature: float) -> tuple[Tensor, Tensor]:
    """(B, L, V) probabilities of every word under (B, P) latents, and (B,) how many count: up to the first step whose
    most probable word is the end, which counts. ``bos`` and ``pad`` are never written. No dropout.
    """
    config = decoder.config
    words = decoder.token.weight
    assert decoder.first is not None
    cell = decoder.first(latent)
    memory = (cell.tanh()[None], cell[None])
    never = torch.tensor(config.never, dtype=torch.int64, device=latent.device)
    read = words[config.bos].expand(len(latent), -1)
    made = []
    for _ in range(steps):
        states, memory = decoder.net(torch.cat([read, latent], dim=-1)[:, None], memory)
        scores = decoder.logits(states[:, 0]).index_fill(-1, never, -torch.inf)
        probs = (scores / temperature).softmax(-1)
        made.append(probs)
        read = probs @ words
    every = torch.stack(made, dim=1)
    return every, lengths_of(every.argmax(-1), config.eos)
