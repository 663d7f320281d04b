"""Word vectors before the circuit: trained under a flatten layer and one output, then fixed (section 3.1 of the paper).

    p(positive) = sigmoid(sum_t w_t . Phi(word_t) + b)

Letters: N words, d features, T words of a text.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim import Adam

from psitext.experiments.sweep.ensemble import batches
from psitext.experiments.sweep.protocol import Protocol
from psitext.experiments.sweep.reading import Data
from psitext.randomness import torch_seed


def word_vectors(protocol: Protocol, data: Data) -> tuple[Tensor, list[float]]:
    """(N, d) vectors, and the training loss of every epoch; stopped as the circuits are."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(protocol.seed, "flatten", protocol.features))
        table = torch.empty(data.words, protocol.features).uniform_(-0.05, 0.05)  # Keras' Embedding
        bound = math.sqrt(6 / (protocol.steps * protocol.features + 1))
        output = torch.empty(protocol.steps, protocol.features).uniform_(-bound, bound)
    bias = torch.zeros(())
    weights = [weight.requires_grad_() for weight in (table, output, bias)]
    adam = Adam(weights, lr=protocol.lr, eps=protocol.eps, fused=True)
    losses: list[float] = []
    best, waited = math.inf, 0
    for epoch in range(protocol.flatten_epochs):
        total = 0.0
        for rows in batches(protocol, len(data.train), epoch):
            x = F.embedding(data.train.ids[rows], table)  # (B, T, d)
            loss = F.binary_cross_entropy_with_logits(x.flatten(1) @ output.flatten() + bias, data.train.label[rows])
            adam.zero_grad(set_to_none=True)
            loss.backward()
            adam.step()
            total += float(loss.detach()) * len(rows)
        losses.append(total / len(data.train))
        best, waited = (losses[-1], 0) if losses[-1] < best - protocol.min_delta else (best, waited + 1)
        if waited >= protocol.patience:
            break
    return table.detach(), losses
