"""Sentences from the command line: what the verbs write is what the functions give; and what is refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

import door
import tellers
import tiny
from psitext.cli.generate import options, sentences
from psitext.experiments.latents import telling
from psitext.experiments.latents.told import Told
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import AutoencodeRecipe
from psitext.explain.latent import neighbours, paths, prior, prior_file
from psitext.model import TEXT, Model, Sentences, load
from psitext.model.writing import usual
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import train as train_tokenizer
from psitext.text.twofold import SentencesConfig
from psitext.train.network import Network

A, B, C = tellers.SENTENCES[0], tellers.SENTENCES[5], tellers.SENTENCES[9]
LONG = " ".join(["one boy sits"] * 9)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence space, a language model, a BERT, and files of sentences."""
    folder = tmp_path_factory.mktemp("generate")
    tellers.space().save(folder / "space")
    tellers.language_model().save(folder / "lm")
    tokenizer = train_tokenizer("words", tellers.SENTENCES, tiny.VOCAB)
    Model(Network(tiny.bert(), Sentences()), {TEXT: tokenizer}, TextConfig(max_len=16)).save(folder / "bert")
    (folder / "all.txt").write_text("\n".join([*tellers.SENTENCES[:6], "", *tellers.SENTENCES[6:], ""]))
    (folder / "two.csv").write_text(f"id,said\n1,{A}\n2,\n3,{C}\n4,  \n")
    (folder / "none.csv").write_text("id,said\n1,\n")
    (folder / "long.txt").write_text(f"{A}\n{LONG}\n")
    return folder


def said(place: Path, *args: object, err: str = "") -> str:
    done = door.run("generate", *args, cwd=place)
    assert (done.code, done.err) == (0, err), done
    return "".join(f"{line.rstrip()}\n" for line in done.out.splitlines())  # tables are filled up with spaces


def kept(place: Path, *args: object, err: str = "") -> tuple[list[dict[str, object]], str]:
    """The lines that a command writes, and what else it says."""
    out = said(place, *args, "-o", "out.jsonl", err=err)
    lines = [json.loads(line) for line in (place / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    first, _, rest = out.partition("\n")
    assert first == f"{len(lines):,} lines: out.jsonl"
    return lines, rest


def same(lines: list[dict[str, object]], told: Told) -> None:
    """Lines of a file are the records of the functions, to the rounding of a model that was saved and loaded."""
    records = told.records()
    assert [list(line) for line in lines] == [list(record) for record in records]
    for line, record in zip(lines, records, strict=True):
        for key, value in record.items():
            assert line[key] == (pytest.approx(value, abs=1e-5) if isinstance(value, float) else value)


def test_law_the_choices_are_those_that_there_are() -> None:
    assert get_args(paths.Course) == options.COURSES == tuple(paths.COURSES)
    assert get_args(neighbours.By) == options.DISTANCES == tuple(neighbours.DISTANCES)
    assert get_args(prior.Covariance) == options.COVARIANCES
    assert get_args(telling.Fitted) == options.FITTED == options.PRIORS[1:]


def test_law_a_space_comes_back_from_its_folder(place: Path) -> None:
    model = load(place / "space")
    assert model.decode(model.encode(tellers.SENTENCES), usual(model)) == [
        one.written for one in telling.reconstruct(tellers.space(), tellers.SENTENCES).each
    ]


def test_known_samples(place: Path) -> None:
    model = tellers.space()
    out = said(place, "sample", "-m", "space", "--n", 4, "--seed", 2)
    assert out.splitlines() == list(telling.sample(model, 4, how=replace(usual(model), seed=2)).texts)
    ways = ["--prior", "mixture", "--fit", "all.txt", "--covariance", "diagonal", "--keep", "prior.safetensors"]
    lines, rest = kept(place, "sample", "-m", "space", "-n", 7, *ways, err="prior: prior.safetensors\n")
    again = prior_file.read(place / "prior.safetensors")
    assert rest == "" and again.facts["latents"] == len(tellers.SENTENCES)
    same(lines, telling.sample(model, 7, again))
    assert kept(place, "sample", "-m", "space", "-n", 7, "--prior", "prior.safetensors")[0] == lines
    ways = ["--prior", "gaussian", "--fit", "all.txt", "--temperature", "0.7", "--top-p", "0.9"]
    fit = telling.fitted(model, tellers.SENTENCES, "gaussian")
    drawn = replace(usual(model), sample=True, temperature=0.7, top_p=0.9)
    same(kept(place, "sample", "-m", "space", *ways)[0], telling.sample(model, 10, fit, drawn))


def test_known_samples_of_a_language_model(place: Path) -> None:
    model = tellers.language_model()
    out = said(place, "sample", "-m", "lm", "--n", 3, "--max-len", 5)
    assert out.splitlines() == list(telling.sample(model, 3, how=replace(usual(model), max_len=5)).texts)
    assert all(len(line.split()) <= 5 for line in out.splitlines())


def test_known_reconstructions(place: Path) -> None:
    told = telling.reconstruct(tellers.space(), [A, LONG, B])
    cut = "1 of 3 sentences are longer than the 16 tokens that the model reads; cut there\n"
    out = said(place, "reconstruct", "long.txt", B, "-m", "space", err=cut)
    rows = out.splitlines()
    assert rows[0].split() == ["sentence", "written"]
    assert [row.split() for row in rows[1:4]] == [f"{one.text} {one.written}".split() for one in told.each]
    last = f"of 3 sentences: exact match {told.exact:.4f}, token accuracy {told.token_accuracy:.4f}"
    assert rows[4:] == [last]
    lines, rest = kept(place, "reconstruct", "long.txt", B, "-m", "space", err=cut)
    assert rest == f"{last}\n"
    same(lines, told)
    assert [line["cut"] for line in lines] == [False, True, False]
    empty = "two.csv: 2 rows are empty in the column 'said'; left out\n"
    lines, rest = kept(place, "reconstruct", "two.csv", "--text", "said", "-m", "space", err=empty)
    assert [line["text"] for line in lines] == [A, C] and rest.startswith("of 2 sentences: ")
    (place / "sentences.of.two").write_text(f"{A}\n\n{C}\n")
    both = ["two.csv", "sentences.of.two", "--text", "said"]
    assert [line["text"] for line in kept(place, "reconstruct", *both, "-m", "space", err=empty)[0]] == [A, C, A, C]
    (place / "bare.tsv").write_text(f"1\t{A}\n2\t{C}\n")
    assert [line["text"] for line in kept(place, "reconstruct", "bare.tsv", "--text", 2, "-m", "space")[0]] == [A, C]
    beams = replace(usual(tellers.space()), beams=3, max_len=4)
    lines, rest = kept(place, "reconstruct", B, "-m", "space", "--beams", 3, "--max-len", 4)
    same(lines, telling.reconstruct(tellers.space(), [B], beams))
    assert rest.startswith("of 1 sentence: ")


def test_known_sentences_of_unknown_words(place: Path) -> None:
    told = "1 sentence is mostly of words or signs that this model does not know, so its latent says little\n"
    said(place, "reconstruct", A, "\u732b\u304c\u3044\u308b", "a girl laughs", "-m", "space", err=told)
    assert sentences.line("a\x1b[2J girl\n sits") == r"a\x1b[2J girl sits"


def test_known_interpolations(place: Path) -> None:
    told = telling.interpolate(tellers.space(), [A, B], 4, "spherical")
    out = said(place, "interpolate", A, B, "--steps", 4, "--how", "spherical", "-m", "space").splitlines()
    assert [row.split(maxsplit=1) for row in out[:-1]] == [
        ["place", "sentence"], *([f"{place:g}", text] for place, text in zip(told.places, told.texts, strict=True))
    ]  # fmt: skip
    assert re.fullmatch(r"\d different sentences in 4 steps; neighbours share 0\.\d\d of their words, .*", out[-1])
    lines, _ = kept(place, "interpolate", "all.txt", "-m", "space", "--steps", 2)
    same(lines, telling.interpolate(tellers.space(), tellers.SENTENCES, 2))
    assert len(lines) == 2 * 11 + 1


def test_known_analogies(place: Path) -> None:
    model = tellers.space()
    found = telling.analogy(model, [A], [B], [C])
    assert said(place, "analogy", A, B, C, "-m", "space") == f"{found.texts[0]}\n"
    lines, rest = kept(place, "analogy", A, "all.txt", "all.txt", "--degree", "-0.5", "-m", "space")
    same(lines, telling.analogy(model, [A], tellers.SENTENCES, tellers.SENTENCES, -0.5))
    assert rest == "" and lines[0]["b"] == "the mean of 12 sentences"
    rows = said(place, "analogy", A, "all.txt", "all.txt", "-m", "space").splitlines()
    assert len(rows) == 13 and rows[0].split() == ["sentence", "written"]


def test_known_neighbours(place: Path) -> None:
    told = telling.neighbours(tellers.space(), [A], tellers.SENTENCES, 3, "kl")
    out = said(place, "neighbours", A, "--among", "all.txt", "--top", 3, "--by", "kl", "-m", "space").splitlines()
    assert out[0].split() == ["kl", "neighbour"]
    assert [row.split(maxsplit=1)[1] for row in out[1:]] == list(told.neighbours[0])
    lines, _ = kept(place, "neighbours", B, C, "--among", "all.txt", "-m", "space")
    same(lines, telling.neighbours(tellers.space(), [B, C], tellers.SENTENCES))
    out = said(place, "neighbours", B, C, "--among", "all.txt", "-m", "space", "--top", 1).splitlines()
    assert out[0] == B and out[3] == C and len(out) == 6


def test_known_traversals(place: Path) -> None:
    model = tellers.space()
    out = said(place, "traverse", A, "-d", 2, "--span", 1.5, "--steps", 2, "-m", "space").splitlines()
    assert out[0] == f"{A}: dimension 2, standard deviation 1.0000"
    (walk,) = telling.traverse(model, [A], [2], span=1.5, steps=2).walks
    rows = [[f"{step:g}", text] for step, text in zip(walk.steps, walk.texts, strict=True)]
    assert [row.split(maxsplit=1) for row in out[1:]] == [["deviations", "sentence"], *rows]
    lines, rest = kept(place, "traverse", A, B, "--among", "all.txt", "--top", 2, "-m", "space")
    same(lines, telling.traverse(model, [A, B], top=2, among=tellers.SENTENCES))
    assert rest == ""


ONE = "an interpolation leads from one sentence to another, and there is one; give a second"
COMMANDS = {
    "sample -m absent": r"there is no model at absent; `psitext models` lists names",
    "sample -m bert": r"this model does not write sentences; an autoencoder does .*",
    "sample -m space --n 0": r"--n is at least 1, not 0",
    "sample -m space -o out.txt": r"sentences are written as \.jsonl, not as 'out\.txt'",
    "sample -m space --prior mixed": r"--prior is one of .*, or a file that --keep wrote .*, not 'mixed'; did .*",
    "sample -m space --prior mixture": r"--prior mixture takes a file of sentences, --fit",
    "sample -m space --fit all.txt": r"--prior normal is not fitted to anything; leave --fit out",
    "sample -m space --prior p.safetensors": r"there is no prior at p\.safetensors",
    "sample -m space --prior broken.safetensors": r"broken\.safetensors is damaged, or no prior that .*",
    "sample -m space --prior mixture --fit all.txt --keep p.pkl": r"priors are written as \.safetensors, not .*",
    "sample -m space --prior gaussian --fit long.txt": r"a Gaussian of 6 numbers with full covariance takes 7 .*",
    "sample -m space --prior gaussian --fit nowhere.txt": r"there is no file nowhere\.txt",
    "sample -m space --keep p.safetensors": r"--keep, --covariance and --text go with a prior that is fitted: .*",
    "sample -m space --beams 2 --sample": r"sentences are drawn \(--sample\) or searched for \(--beams\), not both; .*",
    "sample -m space --temperature 0": r"a temperature is above 0, not 0; .*",
    "sample -m space --top-p 1.5": r"--top-p is a share, above 0 and at most 1, not 1\.5",
    "sample -m space --beams 0": r"--beams is at least 1, not 0",
    "sample -m space --beams 100000": r"--beams is at most 100, not 100,000",
    "sample -m space -n 100000000000": r"--n is at most 1,000,000, not 100,000,000,000",
    "interpolate one two -m space --steps 1000000000": r"--steps is at most 10,000, not 1,000,000,000",
    "traverse one -m space --steps 1000000000": r"--steps is at most 10,000, not 1,000,000,000",
    "sample -m space --max-len 99": r"--max-len is at most 15: the decoder has 16 positions",
    "sample -m lm --beams 2": r"a language model without a latent has only its words to draw, and no use for beams",
    "sample -m lm --prior gaussian --fit all.txt": r"this is a language model without a latent, .*",
    "reconstruct a -m bert": r"this model does not write sentences; an autoencoder does .*",
    "reconstruct a -m lm": r"this is a language model without a latent, so there is no space to move in; .*",
    "reconstruct - -m space": r"standard input is not read; name a file with a text column in place of '-'",
    "reconstruct a -m space --text said": r"--text names the column 'said' of a file, and only sentences are given",
    "reconstruct all.txt -m space -o all.txt": r"sentences are written as \.jsonl, not as 'all\.txt'",
    "reconstruct some.jsonl -m space -o some.jsonl": r"-o some\.jsonl would overwrite the sentences that are read; .*",
    "reconstruct two.csv -m space": r"two\.csv has no column 'text'; it has: id, said \(.* --text; numbers, .*\)",
    "reconstruct none.csv --text said -m space": r"none\.csv holds no sentence: its column 'said' .*",
    "reconstruct space -m space": r"space is a folder; name the files in it",
    "interpolate one -m space": ONE,
    "interpolate one two -m space --steps 0": r"--steps is at least 1, not 0",
    "interpolate one two -m space --how round": r"--how is one of linear, spherical, not 'round'",
    "analogy one two -m space": r"missing argument 'c'; .*",
    "analogy one two three -m space --degree nan": r"--degree is a finite number, not nan",
    "neighbours one -m space": r"missing option '--among'; .*",
    "neighbours one -m space --among all.txt --top 0": r"--top is at least 1, not 0",
    "neighbours one -m space --among all.txt --by cosin": r"--by is one of cosine, .*; did you mean 'cosine'\?",
    "traverse one -m space --top 0": r"--top is at least 1, not 0",
    "sample -m space --max-len 0": r"--max-len is at least 1, not 0",
    "traverse one -m space --dimension 6": r"there is no dimension 6; this model's are numbered from 0 to 5",
    "traverse one -m space --span 0": r"--span is above 0, not 0",
    "traverse one -m space --steps 0": r"--steps is at least 1, not 0",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_known_what_is_refused(place: Path, command: str) -> None:
    (place / "broken.safetensors").write_bytes(b"nothing")
    (place / "some.jsonl").write_text(json.dumps({"text": A}) + "\n")
    refused(place, command.split(), COMMANDS[command])


def test_known_an_empty_sentence_is_refused(place: Path) -> None:
    why = r"a sentence is empty; it takes one word at least"
    for verb in (["reconstruct", ""], ["interpolate", A, " "], ["analogy", A, "", C], ["traverse", "\t"]):
        refused(place, [*verb, "-m", "space"], why)


def refused(place: Path, args: list[str], why: str) -> None:
    before = door.files(place)
    done = door.run("generate", *args, cwd=place)
    assert "Traceback" not in done.err, done.err
    assert (done.code, done.out) == (2, ""), done
    assert re.fullmatch(rf"psitext: {why}\n", done.err), done.err
    assert door.files(place) == before


def test_known_an_evaluation_leaves_out_what_the_training_of_the_space_left_out(place: Path) -> None:
    tellers.space().save(place / "run" / "model")
    order = ["evaluate", "--data", "words.txt", "--sentences", "2", "--draws", "1", "-m"]
    (place / "words.txt").write_text(f"{A}\n{B}\n{C}\n{A} {B}\n")
    for most, kept in ((64, "4 of 4 sentences"), (len(A.split()), "of too many words")):
        RunFolder(place / "run").settle(AutoencodeRecipe(sentences=SentencesConfig(max_words=most)))
        done = door.run(*order, "run", cwd=place)
        assert done.code == 0 and kept in done.out, done
