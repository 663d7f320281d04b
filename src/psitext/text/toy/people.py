"""Who and where the texts are about: names with their pronouns, towns, colours, weather."""

from __future__ import annotations

from psitext.text.toy.grammar import Dice

WOMEN = tuple("Mira Anna Yuki Lena Amara Ruth Mei Clara".split())
MEN = tuple("Tomas Kofi Omar Emil Hiro Paul Leo Ravi".split())
NAMES = WOMEN + MEN
TOWNS = tuple("Arles Kobe Bergen Lima Accra Quito".split())
COLOURS = tuple("red blue green yellow white black".split())
WEATHER = (("rainy", "rain"), ("windy", "wind"), ("snowy", "snow"), ("foggy", "fog"), ("sunny", "sun"))
# The hero tells the story: A and all its pronouns.
FIRST_PERSON = {"A": "I", "he": "I", "him": "me", "his": "my", "He": "I", "His": "My", "we": "we", "We": "We"}
_HER = {"he": "she", "him": "her", "his": "her", "He": "She", "His": "Her"}
_HIM = {"he": "he", "him": "him", "his": "his", "He": "He", "His": "His"}
_FAMILY = (("sister", "aunt", "mother", "neighbour"), ("brother", "uncle", "father", "neighbour"))


def cast(dice: Dice) -> dict[str, str]:
    """The slots of one story.

    A is the hero, with ``he``, ``him`` and ``his``. B is of the other sex, so that no pronoun is in doubt, has
    ``she``, ``her`` (object) and ``hers`` (owner), and is the ``sister`` of A; ``we`` are both. ``rainy`` and
    ``rain`` go together.
    """
    woman = dice.chance(0.5)
    hero, friend = (dice.pick(WOMEN), dice.pick(MEN)) if woman else (dice.pick(MEN), dice.pick(WOMEN))
    his, her = (_HER, _HIM) if woman else (_HIM, _HER)
    rainy, rain = dice.pick(WEATHER)
    return {
        "A": hero,
        **his,
        "B": friend,
        "we": "they",
        "We": "They",
        "she": her["he"],
        "her": her["him"],
        "hers": her["his"],
        "She": her["He"],
        "sister": dice.pick(_FAMILY[woman]),
        "town": dice.pick(TOWNS),
        "colour": dice.pick(COLOURS),
        "rainy": rainy,
        "rain": rain,
    }
