"""The bound against its formula, against the exact likelihood of a space that can be integrated, and through stops."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Independent, Normal
from torch.testing import assert_close

import spaces
from psitext.baselines.lstm import LstmDecoder
from psitext.encoders.vae import Nothing, NothingConfig
from psitext.errors import UserError
from psitext.experiments.latents import bounds
from psitext.experiments.latents.bounds import Draws, iwae
from psitext.experiments.latents.encoded import Encoded, encoded, hit, over_tokens, surprise
from psitext.experiments.latents.records import Record, Records, interrupted
from psitext.text.batches import Batch


class Mute(torch.nn.Module):
    def forward(self, batch: Batch) -> None:
        """Make no state."""


SOURCE = spaces.Made((4, 1, 7, 3, 3, 9))
S, P = len(SOURCE.sizes), 3


@torch.no_grad()
def log_likelihood(decoder: LstmDecoder, row: list[int], latent: Tensor) -> Tensor:
    """(R,) log p(x | z) of one sentence under (R, P) latents, word by word."""
    ids = torch.tensor([row]).expand(len(latent), -1)
    log_probs = decoder.logits(decoder.states(ids[:, :-1], latent)).log_softmax(-1)
    return log_probs.gather(-1, ids[:, 1:, None]).sum((1, 2))


def test_parity_with_the_formula_sentence_by_sentence() -> None:
    encoder, decoder = spaces.told(S, P), spaces.writer(P)
    found = iwae(encoder, decoder, SOURCE, Draws(k=7, seed=5))
    prior = Independent(Normal(torch.zeros(P).double(), torch.ones(P).double()), 1)
    for sentence in range(S):
        mean, log_var = encoder.mean[sentence].detach(), encoder.log_var[sentence].detach()
        q = Independent(Normal(mean, (0.5 * log_var).exp()), 1)
        eps = bounds.noise(5, np.full(7, sentence), np.arange(7), P)
        z = mean + (0.5 * log_var).exp() * eps
        log_p = log_likelihood(decoder, SOURCE.row(sentence), z)
        weights = log_p + prior.log_prob(z) - q.log_prob(z)
        assert found.log_p[sentence] == pytest.approx(float(weights.logsumexp(0)) - math.log(7), abs=1e-10)
        assert found.rec[sentence] == pytest.approx(-float(log_p.mean()), abs=1e-10)
        assert found.kl[sentence] == pytest.approx(float(torch.distributions.kl_divergence(q, prior)), abs=1e-10)
    assert_close(found.elbo, -found.rec - found.kl)
    assert found.tokens.tolist() == [size + 1 for size in SOURCE.sizes]
    assert sorted(encoder.asked) == list(range(S)), "every sentence is read once"


@pytest.mark.parametrize("batch_tokens", [1, 23, 100])
def test_law_how_the_work_is_cut_changes_nothing(batch_tokens: int) -> None:
    encoder, decoder = spaces.told(S, P), spaces.writer(P)
    whole = iwae(encoder, decoder, SOURCE, Draws(k=9, batch_tokens=100_000))
    found = iwae(encoder, decoder, SOURCE, Draws(k=9, batch_tokens=batch_tokens))
    for name in ("log_p", "rec", "kl"):
        assert_close(getattr(found, name), getattr(whole, name), rtol=0, atol=1e-11)


def test_law_scores_may_come_in_any_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, read = spaces.writer(P), encoded(spaces.told(S, P), SOURCE)
    calls = (decoder, read.rows, read.lengths, read.mean)
    whole, hits = over_tokens(*calls, surprise), over_tokens(*calls, hit)
    monkeypatch.setattr("psitext.experiments.latents.encoded.SCORES", 2 * spaces.V)
    monkeypatch.setattr("psitext.experiments.latents.encoded.FEWEST", 1)
    assert_close(over_tokens(*calls, surprise), whole, rtol=0, atol=1e-12)
    for sentence in range(S):
        assert float(whole[sentence]) == pytest.approx(
            -float(log_likelihood(decoder, SOURCE.row(sentence), read.mean[[sentence]])[0])
        )
        with torch.no_grad():
            best = decoder.logits(decoder.states(read.rows[[sentence]], read.mean[[sentence]]))[0].argmax(-1)
        right = [int(a) == b for a, b in zip(best, SOURCE.row(sentence)[1:], strict=False)]
        assert int(hits[sentence]) == sum(right)


def test_law_noise_is_a_function_of_its_keys_and_standard_normal() -> None:
    sentences, draws = np.repeat(np.arange(50), 40), np.tile(np.arange(40), 50)
    drawn = bounds.noise(3, sentences, draws, 5)
    shuffled = np.random.default_rng(0).permutation(len(draws))
    assert torch.equal(bounds.noise(3, sentences[shuffled], draws[shuffled], 5), drawn[shuffled])
    assert not torch.equal(bounds.noise(4, sentences, draws, 5), drawn)
    assert len(drawn.unique()) == drawn.numel() == 10_000
    inside = torch.special.ndtr(drawn.flatten()).sort().values
    steps = (torch.arange(10_000, dtype=torch.float64) + 0.5) / 10_000
    assert float((inside - steps).abs().max()) < 1.95 / 100, "Kolmogorov and Smirnov, at 0.1 %"
    assert bounds.noise(0, sentences, draws, 0).shape == (2_000, 0)


@pytest.mark.parametrize("latent", [1, 2])
def test_parity_with_the_exact_likelihood_of_a_small_space(latent: int) -> None:
    """Quadrature over the latent gives log p(x). The posterior is the right one, moved and widened."""
    copies, kinds = 150, 5
    source = spaces.Made(
        tuple(2 + kind for kind in range(kinds) for _ in range(copies)),
        tuple(kind for kind in range(kinds) for _ in range(copies)),
    )
    decoder = spaces.writer(latent, size=1.0)
    axis = torch.linspace(-8, 8, 321 if latent == 1 else 81, dtype=torch.float64)
    grid = torch.cartesian_prod(*[axis] * latent).view(-1, latent)
    cell = latent * math.log(float(axis[1] - axis[0]))
    exact, means, log_vars = [], [], []
    with torch.inference_mode():
        for kind in range(kinds):
            joint = log_likelihood(decoder, source.row(kind * copies), grid) + Normal(0.0, 1.0).log_prob(grid).sum(1)
            exact.append(float(joint.logsumexp(0)) + cell)
            share = joint.softmax(0)[:, None]
            mean = (share * grid).sum(0)
            means.append(mean + 0.5)
            log_vars.append((share * (grid - mean).square()).sum(0).log() + 1.5)
    encoder = spaces.Told(
        torch.stack(means).repeat_interleave(copies, 0), torch.stack(log_vars).repeat_interleave(copies, 0)
    )
    gaps = []
    for k in (1, 4, 32):
        log_p = iwae(encoder, decoder, source, Draws(k=k)).log_p.reshape(kinds, copies)
        beyond = log_p - np.asarray(exact)[:, None]
        error = beyond.std(1, ddof=1) / math.sqrt(copies)
        assert (beyond.mean(1) < 3.5 * error).all(), "a lower bound, but for its standard error"
        gaps.append(-float(beyond.mean()))
    assert gaps[0] > 3 * gaps[1] > 9 * gaps[2] > 0
    assert gaps[2] < 0.06


def test_known_a_language_model_is_exact_at_once() -> None:
    decoder = spaces.writer(0)
    found = iwae(Nothing(NothingConfig()), decoder, SOURCE, Draws(k=100))
    for sentence in range(S):
        log_p = float(log_likelihood(decoder, SOURCE.row(sentence), torch.zeros(1, 0))[0])
        assert found.log_p[sentence] == pytest.approx(log_p, abs=1e-10)
    assert_close(found.elbo, found.log_p, rtol=0, atol=1e-12)
    assert not found.kl.any()
    told: list[tuple[int, int]] = []
    iwae(Nothing(NothingConfig()), decoder, SOURCE, Draws(k=100), tell=lambda done, of: told.append((done, of)))
    assert told == [(S, S)], "one pass, not a hundred"


def test_law_a_stopped_evaluation_goes_on(tmp_path: Path) -> None:
    encoder, decoder, draws = spaces.told(S, P), spaces.writer(P), Draws(k=9, batch_tokens=30)
    whole = iwae(encoder, decoder, SOURCE, draws)

    def stop(done: int, of: int) -> None:
        if done > of // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        iwae(encoder, decoder, SOURCE, draws, tmp_path, stop)
    kept = len((tmp_path / "bounds.jsonl").read_text().splitlines())
    assert 0 < kept < S
    calls: list[int] = []
    again = iwae(encoder, decoder, SOURCE, draws, tmp_path, lambda done, of: calls.append(of))
    assert calls[-1] == (S - kept) * 9, "what was done is not done again"
    for name in ("log_p", "rec", "kl", "tokens"):
        assert_close(getattr(again, name), getattr(whole, name), rtol=0, atol=1e-11)
    last: list[int] = []
    assert_close(iwae(encoder, decoder, SOURCE, draws, tmp_path, lambda done, of: last.append(done)).log_p, again.log_p)
    assert not last


@pytest.mark.parametrize("other", ["seed", "decoder", "encoder", "sentences"])
def test_known_records_of_something_else_are_refused(tmp_path: Path, other: str) -> None:
    encoder, decoder, draws = spaces.told(S, P), spaces.writer(P), Draws(k=2)
    iwae(encoder, decoder, SOURCE, draws, tmp_path)
    iwae(encoder, decoder, SOURCE, replace(draws, batch_tokens=9), tmp_path)  # how it is cut is nothing else
    source = SOURCE
    if other == "seed":
        draws = replace(draws, seed=1)
    elif other == "decoder":
        decoder = spaces.writer(P, seed=1)
    elif other == "encoder":
        encoder = spaces.told(S, P, seed=1)
    else:
        source = spaces.Made((4, 1, 7, 3, 3, 8))
    with pytest.raises(UserError, match="another model, of other sentences or of other settings"):
        iwae(encoder, decoder, source, draws, tmp_path)


@pytest.mark.parametrize("line", ["{", "[]", "3", '{"of": "a", "sentence": 0}', json.dumps({"sentence": 0})])
def test_known_damaged_records_are_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "bounds.jsonl").write_text(line + "\n")
    with pytest.raises(UserError, match=r"bounds\.jsonl line 1 is no record"):
        iwae(spaces.told(S, P), spaces.writer(P), SOURCE, Draws(k=2), tmp_path)


def test_law_a_line_that_was_cut_off_costs_one_sentence(tmp_path: Path) -> None:
    kept = Records(tmp_path, "one")
    for sentence in range(3):
        kept.add(Record(sentence, -1.0 - sentence, 1.0, 0.5))
    whole = (tmp_path / "bounds.jsonl").read_text()
    (tmp_path / "bounds.jsonl").write_text(whole[:-9])
    assert list(Records(tmp_path, "one").read()) == [0, 1]
    kept.add(Record(2, -3.0, 1.0, 0.5))
    assert (tmp_path / "bounds.jsonl").read_text() == whole


def test_known_no_draws_are_refused() -> None:
    with pytest.raises(UserError, match="k counts the draws of each sentence, at least 1, not 0"):
        Draws(k=0)
    with pytest.raises(UserError, match="batch_tokens counts"):
        Draws(batch_tokens=0)
    with pytest.raises(ValueError, match="latents of 3 numbers for a decoder of 2"):
        iwae(spaces.told(S, 3), spaces.writer(2), SOURCE)
    with pytest.raises(ValueError, match="makes no posterior"):
        encoded(Mute(), SOURCE)


def test_law_bfloat16_is_close_and_modes_stay() -> None:
    encoder, decoder = spaces.told(S, P).float().train(), spaces.writer(P).float().train()
    exact = iwae(encoder, decoder, SOURCE, Draws(k=5))
    rounded = iwae(encoder, decoder, SOURCE, Draws(k=5, precision="bf16"))
    assert_close(rounded.log_p, exact.log_p, rtol=0.02, atol=0.1)
    assert not np.array_equal(rounded.log_p, exact.log_p)
    assert encoder.training and decoder.training
    again = iwae(encoder.eval(), decoder.eval(), SOURCE, Draws(k=5))
    assert_close(again.log_p, exact.log_p, rtol=0, atol=0)


RANKS = """
import sys
sys.path.insert(0, sys.argv[1])
import spaces
from pathlib import Path
from psitext.experiments.latents.bounds import Draws, iwae
source = spaces.Made((4, 1, 7, 3, 3, 9))
folder = None if sys.argv[2] == "-" else Path(sys.argv[2])
import atexit, torch
# Handlers run from the last to the first: this one sees what the processes leave behind when they end.
atexit.register(lambda: sys.stdout.write(f"standing {torch.distributed.is_initialized()}\\n"))
done = []
found = iwae(spaces.told(6, 3), spaces.writer(3), source, Draws(k=4), folder, lambda own, of: done.append(of))
sys.stdout.write(f"{done[-1]} {float(found.log_p.sum())!r}\\n")
"""


def test_law_processes_share_the_sentences(tmp_path: Path) -> None:
    script = tmp_path / "shared.py"
    script.write_text(RANKS)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*launcher, str(script), str(Path(spaces.__file__).parent), str(tmp_path / "kept")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    said = [line.split() for line in ended.stdout.splitlines()]
    assert [line for line in said if line[0] == "standing"] == [["standing", "False"]] * 2, "gloo aborts such processes"
    said = [line for line in said if line[0] != "standing"]
    whole = iwae(spaces.told(6, 3), spaces.writer(3), spaces.Made((4, 1, 7, 3, 3, 9)), Draws(k=4))
    assert [line[0] for line in said] == ["12", "12"], "half of six sentences with four draws each"
    assert [float(line[1]) for line in said] == pytest.approx([float(whole.log_p.sum())] * 2, abs=1e-10)
    assert len((tmp_path / "kept" / "bounds.jsonl").read_text().splitlines()) == 6


def test_known_a_read_source_is_in_its_order() -> None:
    encoder = spaces.told(S, P)
    read = encoded(encoder, SOURCE, batch_tokens=8)
    assert isinstance(read, Encoded) and len(read) == S
    assert_close(read.mean, encoder.mean.detach())
    assert [row[:length] for row, length in zip(read.rows.tolist(), read.lengths.tolist(), strict=True)] == [
        SOURCE.row(sentence) for sentence in range(S)
    ]


def test_known_where_records_may_lie(tmp_path: Path) -> None:
    Records(None, "").check()
    Records(tmp_path / "none", "").check()
    Records(tmp_path, "one").add(Record(0, -1.0, 1.0, 0.5))
    Records(tmp_path, "").check()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"holds something else than an evaluation \(notes.txt\); name another folder"):
        Records(tmp_path, "").check()
    with pytest.raises(UserError, match=r"notes.txt is a file; .* kept in a folder"):
        Records(tmp_path / "notes.txt", "").check()


def test_known_what_is_said_at_ctrl_c(tmp_path: Path) -> None:
    Records(tmp_path, "one").add(Record(0, -1.0, 1.0, 0.5))
    kept, lost = interrupted(tmp_path), interrupted(None)
    assert kept.exit_code == lost.exit_code == 130
    assert str(kept) == (
        f"interrupted; the bounds of 1 sentences are kept in {tmp_path}, and the same command goes on from there"
    )
    assert "nothing of it is kept" in str(lost) and "--out <folder>" in str(lost)
