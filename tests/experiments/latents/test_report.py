"""The report's numbers against what they are of, its units, and a whole model of words."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import spaces
from psitext.baselines.lstm import LstmDecoder, LstmPosterior, LstmPosteriorConfig
from psitext.encoders.vae import Nothing, NothingConfig
from psitext.errors import UserError
from psitext.experiments.latents import report as reporting
from psitext.experiments.latents.bounds import Draws, iwae
from psitext.experiments.latents.report import Report, latent_report, report, table
from psitext.heads.decoding import DecodingHead, LstmConfig
from psitext.model import Model
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import train
from psitext.text.tokenizer.causal import learn
from psitext.text.twofold import Counts, SentencesConfig
from psitext.train.network import Network

SOURCE = spaces.Made((4, 1, 7, 3, 3, 9))
TEXTS = ("a b c d", "é", "a b c d e f g", "a b c", "a b c", "a b c d e f g h i")
P = 3
LINES = [
    "the dog runs in the park",
    "a girl plays with a red ball",
    "",
    "two men sit on a bench",
    " ".join(["far too long"] * 30),
    "the girl runs",
]


def judged(latent: int = P, k: int = 6) -> Report:
    encoder = spaces.told(6, latent) if latent else Nothing(NothingConfig())
    return report(encoder, spaces.writer(latent), SOURCE, Counts(6, 6), TEXTS, SOURCE, Draws(k=k))


def model(latent: int = P) -> Model:
    """An LSTM-VAE, or an LSTM language model, that nobody trained."""
    torch.manual_seed(0)
    reader, writer = train("words", LINES, 60), learn("words", LINES, 60)
    decoder = LstmDecoder(
        LstmConfig(
            vocab_size=writer.vocab_size,
            bos=writer.bos,
            eos=writer.eos,
            pad=writer.pad,
            latent=latent,
            features=6,
            width=8,
            max_len=20,
        )
    )
    config = LstmPosteriorConfig(vocab_size=reader.vocab_size, features=6, hidden=8, latent=max(latent, 1), max_len=20)
    encoder = LstmPosterior(config) if latent else Nothing(NothingConfig())
    tokenizers = {"text": reader, "written": writer} if latent else {"written": writer}
    return Model(Network(encoder, DecodingHead(decoder)).eval(), tokenizers, TextConfig(max_len=20), decoder.config)


def test_law_the_numbers_are_those_of_the_bound() -> None:
    found = judged()
    bounds = iwae(spaces.told(6, P), spaces.writer(P), SOURCE, Draws(k=6))
    assert found.log_p_bound == pytest.approx(bounds.log_p.mean())
    assert found.neg_elbo == pytest.approx(-bounds.elbo.mean())
    assert found.neg_elbo == found.rec + found.kl
    assert (found.sentences, found.k, found.latent, found.mi_sentences) == (6, 6, P, 6)
    assert found.mi + found.kl_marginal == pytest.approx(found.kl)
    assert found.log_n == math.log(6) and found.active_units == P


def test_known_units() -> None:
    found = judged()
    sizes = [4, 1, 7, 3, 3, 9]
    assert found.tokens == sum(size + 1 for size in sizes), "the end counts and the beginning does not"
    assert found.words == sum(size + 1 for size in sizes)
    assert found.bytes == sum(2 * size for size in sizes) + 1, "two bytes of é, and one of each end"
    total = -found.log_p_bound * 6
    assert found.ppl_token == pytest.approx(math.exp(total / found.tokens))
    assert found.ppl_byte == pytest.approx(math.exp(total / found.bytes))
    assert found.ppl("word", found.neg_elbo) == pytest.approx(math.exp(6 * found.neg_elbo / found.words))
    assert replace(found, log_p_bound=-1e9).ppl_token == math.inf


def test_parity_of_a_uniform_writer_with_its_vocabulary() -> None:
    decoder = spaces.writer(P)
    torch.nn.init.zeros_(decoder.output.weight)
    prior = spaces.Told(torch.zeros(6, P).double(), torch.zeros(6, P).double())  # every weight is p(x)
    found = report(prior, decoder, SOURCE, Counts(6, 6), TEXTS, SOURCE, Draws(k=5))
    assert found.ppl_token == pytest.approx(spaces.V)
    assert found.ppl("token", found.neg_elbo) == pytest.approx(spaces.V)
    assert (found.active_units, found.kl) == (0, 0.0)


def test_law_accuracy_does_not_depend_on_how_it_is_cut() -> None:
    decoder, read = spaces.writer(P), reporting.encoded(spaces.told(6, P), SOURCE)
    whole = reporting.accuracy(decoder, read, Draws())
    assert reporting.accuracy(decoder, read, Draws(batch_tokens=1)) == whole
    hits = 0
    for sentence in range(6):
        row = SOURCE.row(sentence)
        with torch.no_grad():
            best = decoder.logits(decoder.states(torch.tensor([row[:-1]]), read.mean[[sentence]]))[0].argmax(-1)
        hits += sum(a == b for a, b in zip(best.tolist(), row[1:], strict=True))
    assert whole == hits / sum(len(SOURCE.row(sentence)) - 1 for sentence in range(6))


def test_known_a_language_model_has_no_latent_to_report() -> None:
    found = judged(0)
    assert (found.k, found.latent, found.active_units, found.kl) == (1, 0, 0, 0.0)
    assert abs(found.mi) < 1e-12 and found.neg_elbo == pytest.approx(-found.log_p_bound)
    rows = {row["measure"]: row for row in table(found)}
    assert "KL" not in rows and "mutual information" not in rows
    assert rows["log p(x)"]["unit"] == "nats per sentence, exact"


def test_known_a_table_says_units_and_rules() -> None:
    rows = {row["measure"]: row for row in table(judged())}
    assert rows["perplexity per token"]["unit"] == "33 tokens: the end of a sentence is one, its beginning none"
    assert rows["perplexity per byte"]["unit"] == "55 bytes: of UTF-8, and one for the end"
    assert rows["log p(x), bound"]["unit"] == "nats per sentence, 6 draws of each sentence, seed 0"
    assert rows["mutual information"]["unit"] == "nats, estimated; its ceiling is log 6 = 1.79"
    assert rows["active units"] == {
        "measure": "active units",
        "value": "3",
        "unit": "of 3: variance of the mean above 0.01",
    }
    assert rows["sentences"]["unit"] == "6 of 6 sentences"
    assert len({tuple(row) for row in rows.values()}) == 1, "rows of one shape"


@pytest.mark.parametrize("latent", [P, 0])
def test_smoke_a_whole_model(latent: int, tmp_path: Path) -> None:
    made = model(latent)
    found = latent_report(made, LINES, k=4, batch_tokens=50, folder=tmp_path)
    assert (found.sentences, found.counts.read, found.counts.empty, found.counts.many_words) == (4, 6, 1, 1)
    assert "left out: 1 empty, 1 of too many words" in table(found)[-1]["unit"]
    assert found.words == found.tokens == sum(len(LINES[at].split()) + 1 for at in (0, 1, 3, 5))
    assert all(math.isfinite(value) for value in found.record().values())
    again = latent_report(made, LINES, k=4, folder=tmp_path)
    assert again == found
    with pytest.raises(UserError, match="another model, of other sentences or of other settings"):
        latent_report(made, LINES, k=4 if not latent else 5, seed=0 if latent else 1, folder=tmp_path)
    wider = latent_report(made, LINES[:2], mi_texts=LINES, k=4)
    assert (wider.sentences, wider.mi_sentences) == (2, 4)
    # A sentence's noise is that of its place: the two first ones are judged alike in both reports.
    assert latent_report(made, LINES[:2], k=4).log_p_bound == pytest.approx(wider.log_p_bound, abs=1e-6)


def test_known_limits_of_the_model_and_of_the_user() -> None:
    made = model()
    assert latent_report(made, LINES, k=1, limits=SentencesConfig(max_words=6)).counts.many_words == 2
    longest = [*LINES[:2], "dog " * 18 + "dog"]  # 19 words: one token over 20 positions, with both ends
    found = latent_report(made, longest, k=1)
    assert found.counts.many_tokens == 1 and found.sentences == 2


def test_known_what_cannot_be_judged() -> None:
    with pytest.raises(UserError, match="k counts the draws"):
        latent_report(model(), LINES, k=0)
    with pytest.raises(UserError, match="give at least two"):
        latent_report(model(), LINES[:1])
    with pytest.raises(UserError, match="no sentence is left"):
        latent_report(model(), ["", " "])
    mute = replace(model(), network=Network(spaces.told(2, 2), torch.nn.Identity()))
    with pytest.raises(UserError, match="does not write sentences"):
        latent_report(mute, LINES)
