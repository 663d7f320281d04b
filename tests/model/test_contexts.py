"""States of words in their context, of readers on one side and on both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import door
import tellers
import toys
import vaes
from psitext.baselines.lstm import LstmDecoder
from psitext.encoders.vae import Nothing, NothingConfig
from psitext.explain.similarity import word_similarity
from psitext.heads.decoding import CausalConfig, DecodingHead
from psitext.model import WRITTEN, Model, load
from psitext.model.contexts import causal_vectors, reader
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer.causal import learn
from psitext.train.network import Network

BANK = ["i went to the bank to deposit cash", "i went to the bank to sit down", "the bank was closed"]


def gpt2(max_len: int = 24) -> Model:
    """An untrained GPT-2 that writes with pieces of bytes."""
    pytest.importorskip("transformers")
    from psitext.assemble import build_decoder

    writes = learn("bpe", BANK, 300, lowercase=True)
    shape = CausalConfig(
        vocab_size=writes.vocab_size, bos=writes.bos, eos=writes.eos, pad=writes.pad, latent=0, width=16, layers=2,
        heads=2, hidden=24, max_len=max_len, init_std=0.3,
    )  # fmt: skip
    network = Network(Nothing(NothingConfig()), DecodingHead(build_decoder(shape))).eval()
    return Model(network, {WRITTEN: writes}, TextConfig(max_len=24), shape)


def test_law_a_causal_state_has_seen_what_stands_before_it_and_no_more() -> None:
    """The chapter's example: up to "bank" two sentences are the same, so a reader from the left cannot tell them."""
    for model in (gpt2(), tellers.language_model()):
        sentences = BANK if model.writer.unk is None else ["a girl sits", "a girl sleeps in a bed", "the girl sits"]
        word = "bank" if sentences == BANK else "girl"
        found = word_similarity(word, sentences, reader(model))
        assert found.static == pytest.approx(np.ones((3, 3)), abs=1e-6)
        assert found.contextual[0, 1] == pytest.approx(1.0, abs=1e-6)
        assert found.contextual[0, 2] < 0.999
    space = load(vaes.space())
    one, other = space.tokenizer.tokens(space.tokenizer.ordinary[-2:])
    both = word_similarity(one, [f"{one} {one}", f"{one} {other}"], reader(space))
    assert both.contextual[0, 1] < 0.9999, "a BERT has seen what stands behind it, too"


def test_parity_with_one_sentence_at_a_time() -> None:
    """Padding has no part in it, and states are those that the decoder gives for bos and the words."""
    model = gpt2()
    together = causal_vectors(model, BANK)
    head = model.network.head
    assert isinstance(head, DecodingHead)
    for sentence, found in zip(BANK, together, strict=True):
        (ids,) = model.writer.encode([sentence])
        row = torch.tensor([[model.writer.bos, *ids.tolist()]])
        with torch.no_grad():
            states = head.decoder.states(row, torch.zeros(1, 0))[0, 1:].numpy()
        assert found.contextual == pytest.approx(states, abs=1e-5)
        assert len(found.offsets) == len(found.static) == len(ids)
        assert found.unknown is None


def test_known_what_the_vocabulary_lacks_and_what_is_too_long() -> None:
    (found,) = causal_vectors(tellers.language_model(), ["a cat sits"])
    assert found.unknown is not None
    assert found.unknown.tolist() == [False, True, False]
    (cut,) = causal_vectors(gpt2(max_len=4), [BANK[0]])
    assert len(cut.contextual) == len(cut.static) == len(cut.offsets) == 3


def test_law_a_space_reads_on_both_sides() -> None:
    space = load(vaes.space())
    (found,) = reader(space)(["the day was fine"])
    assert found.contextual.shape[1] == 16
    (alone,) = load(vaes.space(), pool="mean").token_vectors(["the day was fine"])
    assert np.array_equal(found.contextual, alone.contextual)
    decoder = space.network.head.get_submodule("decoder")
    assert isinstance(decoder, LstmDecoder)
    with pytest.raises(ValueError, match="has 6"):
        causal_vectors(space, ["the day was fine"])


def test_smoke_side_by_side_from_the_command_line(tmp_path: Path) -> None:
    gpt2().save(tmp_path / "lm")
    (tmp_path / "bert").symlink_to(toys.pretrained())
    ask = ("explain", "similarity", "--model", "bert", "--word", "bank", *BANK)
    done = door.run(*ask, "--beside", "lm", cwd=tmp_path)
    assert done.code == 0, done
    assert done.out.count("lm") >= 3
    assert "contextual" in done.out
    assert "model" not in door.run(*ask, cwd=tmp_path).out
    gone = door.run(*ask, "--beside", "gone", cwd=tmp_path)
    assert (gone.code, gone.err) == (2, "psitext: there is no model at gone; `psitext models` lists names\n")
