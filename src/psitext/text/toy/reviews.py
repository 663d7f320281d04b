"""Reviews: the label is what the writer thinks in the end, said plainly, by denial, by contrast, against others.

The text alone decides the label, and it takes more than its words to tell: a denial turns its word around, good
words stand beside bad ones wherever something is compared, and what others think is of no consequence.
"""

from __future__ import annotations

from psitext.text.examples import Example
from psitext.text.toy.grammar import Dice, distinct, expand
from psitext.text.toy.people import FIRST_PERSON, TOWNS, WEATHER

GOOD = tuple("gripping funny tender clever warm lovely moving charming".split())
BAD = tuple("dull boring clumsy stupid cold silly noisy weak".split())
LABELS = ("negative", "positive")
OTHERS = ("the critics", "{his} friends", "the papers", "{his} neighbours", "most people")
WORKS = ("film", "play", "show")

# p and q are words of the label, n and m of the other label; {they} are somebody else than {I}.
FRAMES: dict[str, tuple[str, ...]] = {
    "plain": (
        "It was [|very |really ]{p}.",
        "It was {p} and {q}.",
        "{I} thought it was [|very |really ]{p}.",
        "{I} found it {p}.",
        "It was a {p} {x}.",
        "Everybody called it {p}.",
        "Every scene was {p}.",
        "{They} said it was {p}, and that was right.",
    ),
    "denial": (
        "It was not [at all |really |very ]{n}.",
        "It was never [really |even once ]{n}.",
        "It was neither {n} nor {m}.",
        "{I} did not think it was [|very |really ]{n}.",
        "{I} did not find it {n}.",
        "Nobody called it {n}.",
        "Not one scene was {n}.",
        "{They} said it was {n}, and that was wrong.",
    ),
    "contrast": (
        "It was not {n} but {p}.",
        "It was {p}, not {n}.",
        "It was more {p} than {n}.",
        "It was less {n} than {p}.",
    ),
    "others": (
        "{They} thought it was {n}, but {I} thought it was {p}.",
        "{I} thought it was {p}, but {they} thought it was {n}.",
        "{They} found it {n}, although {I} found it {p}.",
        "{I} found it {p}, although {they} found it {n}.",
    ),
    "time": (
        "At first it was {n}, but in the end it was {p}.",
        "In the end it was {p}, although at first it was {n}.",
        "It began {n} and ended {p}.",
    ),
    "book": (
        "The book was {n}, but the {x} was {p}.",
        "The {x} was {p}, but the book was {n}.",
    ),
}
# Plain words are most frequent, as in life, and show what the words mean; seven in twelve reviews are not plain.
_KINDS = ("plain",) * 5 + ("denial",) * 2 + ("contrast", "others", "others", "time", "book")
_BEFORE = (
    "We saw it on a {rainy} evening in {town}.",
    "The hall was [full|half empty].",
    "{They} wrote about this {x}.",
    "I took my [sister|brother|mother] to see the {x}.",
    "{They} promised a {r} {x}.",
)
_AFTER = (
    "The [man|woman] beside me called it {r}.",
    "My [sister|brother|mother] found it {r}.",
    "{They} called the book {r}.",
    "We walked home through the {rain}.",
    "Then we drank [coffee|tea] at home.",
)


def reviews(count: int, seed: int = 0) -> list[Example]:
    """``count`` different reviews with the labels ``negative`` and ``positive``, each in half of the cases.

    A larger count adds to the same reviews. Errors: so large a count that the grammar runs out of them.
    """
    return list(distinct(_review, lambda review: review.text, "reviews", seed, 32, count))


def speakers(dice: Dice, slots: dict[str, str], others: str) -> dict[str, str]:
    """The slots of an opinion: I (the hero A), the others as ``they`` and ``They``, and r, what somebody thinks."""
    they = others.format_map(slots)
    r = dice.pick(GOOD if dice.chance(0.5) else BAD)
    return {"I": slots["A"], "they": they, "They": they[0].upper() + they[1:], "r": r}


def verdict(dice: Dice, good: bool, slots: dict[str, str]) -> str:
    """One sentence in which the I of ``speakers`` thinks well or ill of the x."""
    right, wrong = (GOOD, BAD) if good else (BAD, GOOD)
    p, q = dice.sample(right, 2)
    n, m = dice.sample(wrong, 2)
    frame = dice.pick(FRAMES[dice.pick(_KINDS)])
    sentence = expand(frame, dice, {**slots, "p": p, "q": q, "n": n, "m": m})
    return sentence[0].upper() + sentence[1:]


def _review(dice: Dice) -> Example:
    good = dice.chance(0.5)
    rainy, rain = dice.pick(WEATHER)
    slots = {**FIRST_PERSON, "x": dice.pick(WORKS), "town": dice.pick(TOWNS), "rainy": rainy, "rain": rain}
    slots |= speakers(dice, slots, dice.pick(OTHERS))
    before = [expand(dice.pick(_BEFORE), dice, slots)] if dice.chance(0.4) else []
    middle = verdict(dice, good, slots)
    after = [expand(dice.pick(_AFTER), dice, slots)] if dice.chance(0.3) else []
    return Example(" ".join([*before, middle, *after]), label=LABELS[good])
