r"""Where words end: the patterns of the tokenizers trained here, and the spaces that decoding leaves out.

A Chinese character is a word, runs of hiragana and of katakana are words, Thai, Lao, Khmer and Burmese fall
into base letters with their marks, and a punctuation mark stands alone. No language needs an analyser.

The patterns are in Oniguruma's syntax: ``&&`` intersects classes; \p{M} are combining marks, which stay
with their letter.
"""

from __future__ import annotations

import re

_UNSPACED = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_EAST = (
    r"\p{Han}\p{M}*|(?:[\p{Hiragana}ー]\p{M}*)+|(?:[\p{Katakana}ー]\p{M}*)+"
    rf"|[เ-ไເ-ໄ]?[{_UNSPACED}]\p{{M}}*[ะาະາ]?"  # Thai and Lao write some vowels before their consonant
)
_WEST = rf"[^\p{{Han}}\p{{Hiragana}}\p{{Katakana}}ー{_UNSPACED}]"
_SUFFIX = "(?:[sdmt]|ll|ve|re)"
_LETTERS = rf"[[\p{{L}}\p{{M}}\p{{N}}]&&{_WEST}]+"

WORD = rf"{_LETTERS}|{_EAST}|\S"
# As people count words, and Keras: marks are none, and "don't" is one.
PLAIN_WORD = rf"{_LETTERS}(?:['’]{_LETTERS})*|{_EAST}"
# GPT-2's idea: a word takes the space before it along, so that decoding finds every space again.
BYTE_WORD = (
    rf"'{_SUFFIX}(?!\p{{L}})| ?[[\p{{L}}\p{{M}}]&&{_WEST}]+| ?[\p{{N}}&&{_WEST}]+| ?(?:{_EAST})"
    r"| ?[^\s\p{L}\p{M}\p{N}]+|\s+"
)

# BERT's own rules cut at every one of these places too, so encoding without the space gives the same ids.
_HAN = "㐀-䶿一-鿿"
_NEEDLESS_SPACE = re.compile(
    r" (?=[,.!?;:%)\]}…。、！？」』])|(?<=[(\[{「『。、！？」』]) "
    rf"|(?<=\w) (?=['’] {_SUFFIX}\b)|(?<=\w ['’]) (?={_SUFFIX}\b)"
    rf"|(?<=[{_HAN}]) (?=[{_HAN}々「『ぁ-ゖァ-ヺ])|(?<=[ぁ-ゖァ-ヺー々]) (?=[{_HAN}「『])"
)


def tight(text: str) -> str:
    """``text`` in single-spaced words and marks, without the spaces that a reader would not write."""
    return _NEEDLESS_SPACE.sub("", text)
