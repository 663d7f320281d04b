"""Words with two senses, in sentences that tell which.

A static embedding gives such a word one vector; a contextual state can tell its senses apart.
"""

from __future__ import annotations

from typing import NamedTuple


class Sense(NamedTuple):
    """A word, a sentence that it occurs in (small or with a capital), and what it means there."""

    word: str
    sentence: str
    sense: str


_SENSES = """
crane = bird
A crane is flying.
The crane opened its wings.
The crane stood in the water on one leg.
A crane caught two fish in the marsh.

crane = machine
A crane driver came.
The crane lifted two beams of steel.
The driver climbed down from the crane.
A crane stood at the building site.

bank = money
The bank gave him a loan.
A clerk at the bank counted the money.
The bank opened the new account.
He paid the money back to the bank.

bank = river
The bank of the river was muddy.
A trout swam under the bank.
Two ducks slept on the bank of the river.
They cooked the fish on the bank.

bat = animal
A bat flew out of the cave.
The bat opened its soft wings.
The bat slept by day.
A bat was hanging from the roof of the cave.

bat = club
She hit the ball with the bat.
The bat was heavy and made of wood.
He swung the bat and missed the ball.
The ball flew past the bat.

spring = season
Spring came late that year.
In spring the garden was full of roses.
The tulips began to grow in spring.
Summer came when the spring was over.

spring = coil
The spring of the clock was broken.
The spring was made of steel.
He put a new spring into the watch.
The wheels turned, because the spring was strong.

spring = water
The goats drank from the spring.
The spring between the stones was cold and clear.
She filled the bottle at the spring.
Water ran from the spring into the grass.

pitcher = player
The pitcher threw a fast ball.
The pitcher of the other team was tired.
The crowd shouted the name of the pitcher.
After the match the pitcher gave him the ball.

pitcher = jug
The pitcher was full of milk.
She poured water from the pitcher into the cups.
The pitcher fell from the table and broke.
He filled the pitcher with lemonade.

seal = animal
The seal swam away in the waves.
A young seal lay on the sand.
He fed the seal with fish.
The hungry seal looked for its mother.

seal = stamp
She pressed the seal into the wax.
The king broke the seal on the letter.
The seal was made of silver.
The queen sent an answer under a new seal.

trunk = elephant
The elephant waved its trunk.
The elephant drank with its trunk.
The trunk took the apples slowly.
Suddenly the trunk threw water over her.

trunk = luggage
She packed a trunk for the journey.
They carried the trunk to the station.
The trunk was made of leather.
He put the shoes into the trunk.

mouse = animal
A mouse lived in the barn.
The cat saw the mouse.
The mouse ate the cheese.
The mouse slept in the hay.

mouse = device
The mouse of the computer was broken.
He clicked twice with the mouse.
The cable of the mouse was loose.
She moved the mouse, but the screen stayed dark.
"""


def ambiguous() -> list[Sense]:
    """Four sentences for every sense of the ambiguous words, in words that the stories use in that sense too."""
    found = []
    for block in _SENSES.strip().split("\n\n"):
        head, *sentences = block.splitlines()
        word, _, sense = head.partition(" = ")
        found += [Sense(word, sentence, sense) for sentence in sentences]
    return found
