"""Turns as batches: contexts first, then responses, then a style's sentences."""

from __future__ import annotations

import numpy as np
import torch

import talks
from psitext.text.dialogs import ContextSource, DialogSource, StyleSource, parted
from psitext.text.twofold import SentencesConfig, TwofoldSource, gather

SAMPLES = np.array([4, 0, 17])


def source() -> DialogSource:
    return DialogSource(talks.gathered(), talks.reader(), talks.writer())


def style(seed: int = 0) -> StyleSource:
    sentences = gather(talks.STYLE, talks.reader(), talks.writer(), SentencesConfig())
    return StyleSource(source(), sentences, seed)


def texts(batch_rows: torch.Tensor) -> list[str]:
    return [talks.writer().decode(row) for row in batch_rows.tolist()]


def test_law_a_batch_has_the_groups_of_single_sources() -> None:
    said = talks.gathered()
    batch = source().build(SAMPLES)
    contexts, responses = parted(batch)
    alone = ContextSource(said.contexts, talks.reader()).build(SAMPLES)
    assert torch.equal(contexts.ids, alone.ids) and torch.equal(contexts.segments, alone.segments)
    beside = TwofoldSource(said.responses, talks.reader(), talks.writer()).build(SAMPLES)
    assert torch.equal(responses.ids, beside.ids)
    assert batch.targets.keys() == beside.targets.keys()
    assert all(torch.equal(value, batch.targets[name]) for name, value in beside.targets.items())
    assert texts(batch.targets["written"]) == [said.turns[at].response for at in SAMPLES]


def test_law_lengths_are_what_is_read_and_written() -> None:
    for one in (source(), style()):
        for epoch in (0, 1):
            batch = one.build(SAMPLES, epoch)
            written = sum(value for name, value in batch.targets.items() if name.endswith("_length"))
            groups = torch.stack([part.lengths for part in parted(batch)]).sum(0)
            assert one.lengths(epoch)[SAMPLES].tolist() == (groups + written).tolist()


def test_law_the_sentence_beside_a_turn_is_drawn_by_its_keys() -> None:
    def beside(seed: int, epoch: int, samples: np.ndarray) -> list[str]:
        batch = style(seed).build(samples, epoch)
        assert len(parted(batch)) == 3
        return texts(batch.targets["style"])

    every = np.arange(36)
    found = beside(0, 0, every)
    assert set(found) <= set(talks.STYLE) and len(set(found)) > 5
    assert beside(0, 0, every[::-1]) == found[::-1]
    assert beside(0, 1, every) != found and beside(1, 0, every) != found
