"""Seq2Seq reads contexts, and nothing of what is answered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

import talks
from psitext.baselines.dialog import Seq2Seq
from psitext.text.dialogs import ContextSource, DialogSource


def test_law_no_response_is_read() -> None:
    contexts, said, samples = talks.encoder(1), talks.gathered(), np.array([3, 1])
    batch = DialogSource(said, talks.reader(), talks.writer()).build(samples)
    state = Seq2Seq(contexts)(batch)
    alone = contexts(ContextSource(said.contexts, talks.reader()).build(samples))
    assert torch.allclose(state.vector, alone.vector, atol=1e-6)
    ids = batch.ids.clone()
    ids[2:] = 7
    assert torch.equal(Seq2Seq(contexts)(replace(batch, ids=ids)).vector, state.vector)
