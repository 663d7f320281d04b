"""The pages do what they say: their python runs, their commands parse, and those of the README, the tour and the quick
start run.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from typer.main import get_command

import tellers
from docs_blocks import DOCS, ROOT, SITE, blocks, called, commands, run_page
from psitext.cli import app, main
from psitext.text import toy
from psitext.text.tasks import TASKS, Task
from psitext.text.tokenizer import train

PAGES = sorted([ROOT / "README.md", *SITE])
CHAPTER = DOCS / "chapter-15-8.md"  # has a test of its own, with values
PYTHON = [page for page in PAGES if blocks(page) and page != CHAPTER]
SHELL = [(page, *command) for page in PAGES for command in commands(page)]
# What takes too long is done with a recipe of seconds; everything else is done as it stands.
SHORT = {
    '"bert-mini"': '"seconds.toml"',
    'pretrain("qbert-tiny"': 'pretrain("complex-seconds.toml"',
    '"optimus-mini"': '"space-seconds.toml"',
    "minutes=30": "minutes=None",
}
SECONDS = """
verb = "pretrain"
tokenizer.vocab_size = 300
encoder = { width = 16, layers = 1, heads = 2, hidden = 32, max_len = 64, dropout = 0.0, attention_dropout = 0.0 }
samples = { max_len = 64, held_out = 0.1 }
train = { steps = 2, batch_tokens = 512 }
"""
SPACE_SECONDS = """
extends = "optimus-mini"
sentences = { max_len = 32, max_tokens = 32 }
tokenizer = { kind = "words", vocab_size = 100 }
writer = { kind = "words", vocab_size = 100 }
encoder = { latent = 4, trunk = { width = 16, layers = 1, heads = 2, hidden = 16, max_len = 40 } }
decoder = { width = 16, layers = 1, heads = 2, hidden = 16, max_len = 40, latent = 4 }
train = { steps = 2 }
"""
COMPLEX_SECONDS = SECONDS.replace("encoder = { ", 'encoder = { family = "qbert", ')
# Not run here: they take minutes, other people's data, or a server.
ELSEWHERE = {"demo", "reproduce", "doctor", "compare", "studio"}
QUICK = DOCS / "quickstart.md"
# Pages whose commands run, and verbs that have to be among them.
RUN = {
    ROOT / "README.md": {"pretrain", "finetune", "predict", "encode", "report", "export", "resume"},
    DOCS / "tour.md": {"pretrain", "finetune", "predict", "encode", "report", "export", "resume"},
    QUICK: {"models", "encode", "finetune", "predict", "report", "explain", "generate", "circuit"},
}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages speak of, as the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PSITEXT_DATA", raising=False)
    books = ["\n".join(story) for story in toy.stories(200)]
    Path("books").mkdir()
    for number in range(2):
        Path(f"books/{number}.txt").write_text("\n\n".join(books[number::2]))
    Path("books.txt").write_text("\n\n".join(books))
    Path("wiki.txt").write_text("\n\n".join(books[:5]))
    records = "".join(json.dumps({"text": book}) + "\n" for book in books)
    Path("corpus.jsonl").write_text(records)
    Path("books.jsonl.gz").write_bytes(gzip.compress(records.encode()))
    reviews = toy.reviews(60)
    for name, part in (("reviews", reviews), ("train", reviews[:40]), ("dev", reviews[40:]), ("new", reviews[50:])):
        rows = "".join(f'"{example.text}",{example.label}\n' for example in part)
        Path(f"{name}.csv").write_text(f"review,sentiment\n{rows}")
    sentences = "\n".join(tellers.SENTENCES * 5)
    for name in ("sentences.txt", "unseen.txt"):
        Path(name).write_text(sentences)
    Path("seconds.toml").write_text(SECONDS)
    Path("space-seconds.toml").write_text(SPACE_SECONDS)
    Path("complex-seconds.toml").write_text(COMPLEX_SECONDS)
    few = {**TASKS["toy-sentiment"].tree(), "files": {"train": "toy:reviews:200"}}  # in place of 8,000
    monkeypatch.setitem(TASKS, "toy-sentiment", Task.model_validate(few))
    return tmp_path


@pytest.mark.parametrize("page", PYTHON, ids=called)
def test_smoke_the_python_of_a_page_runs(page: Path, desk: Path) -> None:
    if "tokenizer.json" in page.read_text(encoding="utf-8"):
        train("wordpiece", (" ".join(story) for story in toy.stories(50)), 200).save(desk / "tokenizer.json")
    if "runs/space" in page.read_text(encoding="utf-8"):
        tellers.space().save(desk / "runs" / "space")
    run_page(page, SHORT)


@pytest.mark.parametrize(
    "page, line, arguments, launched", SHELL, ids=[f"{called(page)}:{line}" for page, line, _, _ in SHELL]
)
def test_law_every_command_of_a_page_is_one(page: Path, line: int, arguments: list[str], launched: bool) -> None:
    command = get_command(app)
    rest = list(arguments)
    while hasattr(command, "commands") and not rest[0].startswith("-"):  # a group may have options of its own
        command = command.commands[rest.pop(0)]
    command.make_context("psitext", rest)  # an unknown option, a missing or superfluous argument raises


def test_known_the_quick_starts_are_one_in_all_languages() -> None:
    """The same commands and the same code, but for comments."""

    def shown(page: Path) -> tuple[list[list[str]], list[str]]:
        code = [re.sub(r"  # .*", "", code) for _, code in blocks(page)]
        return [arguments for _, arguments, _ in commands(page)], code

    assert shown(DOCS / "ja" / "quickstart.md") == shown(QUICK)


@pytest.mark.parametrize("page", RUN, ids=called)
def test_smoke_the_commands_of_a_page_run_in_order(page: Path, desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    done = []
    for line, arguments, launched in commands(page):
        if launched or arguments[0] in ELSEWHERE or "--data-dir" in arguments:
            continue
        capsys.readouterr()
        if lines[line].startswith("psitext: "):  # the page shows what goes wrong
            with pytest.raises(SystemExit) as stopped:
                main(arguments)
            assert (stopped.value.code, capsys.readouterr().err) == (2, f"{lines[line]}\n")
        else:
            app(args=in_seconds(arguments), standalone_mode=False)
            done.append(arguments[0])
        if done[-1:] == ["pretrain"] and not Path("my-bert-folder").exists():
            app(args=["export", "--model", arguments[-1], "-o", "my-bert-folder"], standalone_mode=False)
    assert RUN[page] <= set(done)


def in_seconds(arguments: list[str]) -> list[str]:
    """The command with a recipe of seconds."""
    quick = {"bert-mini": "seconds.toml", "qbert-tiny": "complex-seconds.toml", "optimus-mini": "space-seconds.toml"}
    before = ["", *arguments[:-1]]
    words = [quick.get(word, word) if at == "--config" else word for at, word in zip(before, arguments, strict=True)]
    at = words.index("--minutes") if "--minutes" in words else len(words)
    return words[:at] + words[at + 2 :]
