"""Answers as HTML: what was typed is text, whatever it is."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from psitext.experiments.results.figures import legible
from psitext.studio.shown import markup


class Read(HTMLParser):
    """Tags and text of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.said = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.said += data


@given(st.text(st.characters(exclude_characters="\r"), max_size=40))
def test_law_text_is_said_and_nothing_else(typed: str) -> None:
    found = markup.text(typed)
    read = Read(found)
    assert read.tags == []
    assert read.said == legible(typed)
    assert not set("{}$`<>\"'\\") & set(found)


@given(st.lists(st.text(max_size=8), min_size=1, max_size=4))
def test_law_what_is_typed_adds_no_tag(cells: list[str]) -> None:
    plain = markup.table("c", ["h"] * len(cells), [["x"] * len(cells)])
    assert Read(markup.table("c", ["h"] * len(cells), [cells])).tags == Read(plain).tags
    assert Read(markup.words(cells, [0.5] * len(cells))).tags == ["p", *["span", "small"] * len(cells)]


def test_known_a_table() -> None:
    found = markup.table("two", ("name", "share"), [("<a>", 0.25)], shades=True)
    assert '<th scope="row">&lt;a&gt;</th>' in found
    assert '<td class="psi-number" style="--share: 0.250">0.250</td>' in found
    assert 'tabindex="0" role="region" aria-label="two"' in found


def test_known_short_names_end_in_a_sign_and_differ() -> None:
    same = "the film of last night in the old town was "
    found = markup.shortened([f"{same}good", f"{same}bad", "a" * 30, "short"], 28)
    assert found == ["1. the film of l…town was good", "2. the film of l…d town was bad", f"3. {'a' * 27}…", "4. short"]


@given(st.lists(st.text("ab ", min_size=1, max_size=70), max_size=6))
def test_law_short_names_are_short(sentences: list[str]) -> None:
    assert all(len(name) <= 28 + 3 for name in markup.shortened(sentences, 28))


def test_known_words_carry_their_sign_and_share() -> None:
    found = markup.words(["not", "bad"], [-2.0, 1.0])
    assert 'psi-against" style="--share: 1.000">not <small>-2.00' in found
    assert 'psi-for" style="--share: 0.500">bad <small>+1.00' in found
    assert "0.000" in markup.words(["a"], [0.0])
