"""HTML of the page's answers: everything that somebody typed is escaped, every figure has its numbers in words.

gradio puts an answer into a template of its own, which would read braces, dollar signs and backticks; so these are
written by number.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from psitext.experiments.results.figures import legible

_TEMPLATE = {ord(sign): f"&#{ord(sign)};" for sign in "{}$`\\"}


def text(value: object) -> str:
    """Any text as HTML that says it and does nothing else."""
    return html.escape(legible(str(value))).translate(_TEMPLATE)


def answer(*parts: str) -> str:
    """The whole answer of a tab."""
    return f'<div class="psi">{"".join(parts)}</div>'


def heading(title: str) -> str:
    """The title of a part."""
    return f"<h3>{text(title)}</h3>"


def paragraph(words: str, *, small: bool = False) -> str:
    """A paragraph; a small one is a remark."""
    return f"<p{' class=psi-small' if small else ''}>{text(words)}</p>"


def mistake(words: str) -> str:
    """What was wrong, in the place of an answer; readers of the screen say it at once."""
    return f'<p class="psi-mistake" role="alert">{text(words)}</p>'


def code(*lines: str) -> str:
    """Commands to copy, a line each, as Markdown."""
    return "\n".join(("```", *lines, "```"))


def shortened(sentences: Sequence[str], most: int) -> list[str]:
    """Sentences by number, each in ``most`` characters: cut at the end, or in the middle where another one begins in
    the same way.
    """
    begin = [one[: most - 1] for one in sentences]
    names = []
    for number, one in enumerate(sentences, 1):
        if len(one) <= most:
            short = one
        elif begin.count(one[: most - 1]) == 1:
            short = f"{one[: most - 1].rstrip()}…"
        else:
            short = f"{one[: most // 2 - 1].rstrip()}…{one[most // 2 - most :].lstrip()}"
        names.append(f"{number}. {short}")
    return names


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[object]], *, shades: bool = False) -> str:
    """A table with a caption; the first cell of a row is its heading. With ``shades`` numbers from 0 to 1 are coloured
    by their size, too.

    It scrolls inside itself where the screen is narrower, by keyboard as well.
    """
    top = "".join(f'<th scope="col">{text(name)}</th>' for name in head)
    body = "".join(_row(row, shades) for row in rows)
    return (
        f'<div class="psi-scroll" tabindex="0" role="region" aria-label="{text(caption)}"><table>'
        f"<caption>{text(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def figure(svg: str, caption: str, *, wide: bool = False) -> str:
    """A drawing with a caption that says what it shows. A ``wide`` one scrolls sideways on a narrow screen."""
    kind = ' class="psi-wide"' if wide else ""
    inside = f'<div class="psi-scroll" tabindex="0" role="region" aria-label="{text(caption)}">{svg}</div>'
    return f"<figure{kind}>{inside}<figcaption>{text(caption)}</figcaption></figure>"


def words(each: Sequence[str], values: Sequence[float]) -> str:
    """Words on a ground whose colour says which way their values go, and whose strength how far, with the values."""
    most = max((abs(value) for value in values), default=0.0) or 1.0
    spans = (
        f'<span class="psi-word psi-{"for" if value >= 0 else "against"}" style="--share: {abs(value) / most:.3f}">'
        f"{text(word)} <small>{value:+.2f}</small></span>"
        for word, value in zip(each, values, strict=True)
    )
    return f'<p class="psi-words">{" ".join(spans)}</p>'


def _row(row: Sequence[object], shades: bool) -> str:
    first, *rest = row
    return f'<tr><th scope="row">{text(first)}</th>{"".join(_cell(value, shades) for value in rest)}</tr>'


def _cell(value: object, shades: bool) -> str:
    if isinstance(value, float):
        share = f' style="--share: {min(max(value, 0.0), 1.0):.3f}"' if shades else ""
        return f'<td class="psi-number"{share}>{value:.3f}</td>'
    return f"<td>{text(value)}</td>"
