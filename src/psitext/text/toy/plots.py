"""The plots of the stories: a line is a moment's number and a sentence in the notation of ``grammar``.

A story tells its moments in order, one line for each; it may leave out any that are not in ``Plot.always``.
Most plots are in pairs that use one word in two senses: that is what there is to learn from context.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Plot:
    """``senses``: what ambiguous words mean here; ``things``: one of these fills x (and y) through a story."""

    name: str
    text: str
    things: tuple[tuple[str, ...], ...] = ((),)
    senses: Mapping[str, str] = field(default_factory=dict)
    always: tuple[int, ...] = (1, 7)


def _things(*lines: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(line.split("/")) for line in lines)


PLOTS = (
    Plot("marsh", senses={"crane": "bird"},
         things=_things("fish", "frogs", "snails"), text="""
1 {A} went to the marsh near {town} to [draw|see] the birds.
1 On a {rainy} morning {A} [hid|waited] in the reeds of the marsh.
2 A [white|grey] crane was flying over the water.
2 A crane came down from the sky on wide wings.
2 Two cranes were flying over the reeds in the {rain}.
3 The crane stood on one leg and looked for {x}.
3 The bird folded its wings and caught [two|three] {x}.
4 {A} did not move, because a crane is a shy bird.
4 {He} drew the long neck of the crane in a {colour} book.
5 Then {his} {sister} {B} found the nest of the crane with [two|three] eggs.
5 {B} saw the nest in the reeds first, and {she} [smiled|laughed].
6 The crane opened its wings and flew [away|to its nest].
6 Suddenly the bird called, and all the cranes flew up.
7 In the evening {A} showed the {colour} book to {B}.
7 {A} and {B} walked home with wet shoes and a happy heart.
"""),
    Plot("site", senses={"crane": "machine"},
         things=_things("tower", "bridge", "school"), text="""
1 {A} drove a {colour} crane at the building site in {town}.
1 On a {rainy} morning {A} came to the building site of the new {x}.
2 The crane driver came early and climbed up to {his} seat.
2 {He} started the engine of the crane and checked the rope.
3 The crane lifted [two|three] beams of steel to the top of the {x}.
3 The long arm of the crane turned slowly over the street.
4 Below the crane stood {his} {sister} {B} and waved a flag.
4 {B} called from the ground that the load was too heavy.
5 The crane stopped in the {rain}, because the rope was [weak|wet].
5 {A} pulled a lever, and the machine stopped.
6 The workers sat on the beams and drank [coffee|tea].
6 {He} turned the crane once more and set the steel on the {x}.
7 In the evening the {colour} crane stood still over the {x}.
7 The driver climbed down from the crane and ate with {B}, tired but proud.
"""),
    Plot("loan", senses={"bank": "money"},
         things=_things("boat", "bakery", "farm", "shop"), text="""
1 {A} went to the bank in {town} to borrow money for a {x}.
1 The bank in {town} opened at nine, and {A} was the first customer.
2 {He} waited in a long line at the bank with {his} papers.
2 {A} put [two|three] coins and a letter on the counter.
3 The clerk at the bank was {B}, {his} {sister}.
3 A clerk called {B} looked at {his} account.
4 {B} asked how much money {he} wanted to borrow.
4 {She} counted the money twice, because a bank makes no mistakes.
5 {A} said that the {x} would be {colour}.
5 The bank wanted to know the price of the {x}.
6 {He} signed the paper, and {B} opened the safe of the bank.
6 {B} gave {him} the loan and a new account.
7 {A} left the bank and bought the {colour} {x} [the same day|at last].
7 A year later {he} paid the money back to the bank.
"""),
    Plot("river", senses={"bank": "river"},
         things=_things("trout", "perch", "pike"), text="""
1 {A} walked along the river to the green bank near {town}.
1 On a {rainy} morning {A} and {B} sat on the bank of the river.
2 The bank was [steep|muddy], and the water was [cold|deep].
2 {He} leaned a {colour} rod against a tree on the bank.
3 {A} threw the line into the river and waited.
3 The river ran [slowly|fast] past the bank in the {rain}.
4 A {x} swam under the bank, but it did not bite.
4 [Two|Three] ducks watched {him} from the other bank of the river.
5 Suddenly a {x} pulled at the line.
5 {B} shouted that the fish was on the hook.
6 {He} pulled the {x} out of the water, and {B} held the net.
6 {A} slipped on the muddy bank and fell into the river.
7 In the end they let the fish swim home along the bank.
7 In the evening they cooked the {x} over a fire on the bank.
"""),
    Plot("cave", senses={"bat": "animal"},
         things=_things("moths", "flies", "beetles"), text="""
1 {A} and {B} climbed to a cave above {town} in the evening.
1 {A} wanted to count the bats in the cave above {town}.
2 {He} held a {colour} lamp, because the cave was dark.
2 A bat was hanging from the roof with its head down.
3 [Two|Three] bats woke up and opened their [small|soft] wings.
3 The bat slept by day and caught {x} by night.
4 {B} said that a bat sees with its ears.
4 {She} was not afraid of bats, but {she} held {his} hand.
5 Suddenly a bat flew over {hers} head.
5 The bat caught [two|three] {x} in the air.
6 At night a cloud of bats flew out of the cave.
6 {A} wrote the number of the bats on the wall of the cave.
7 They went down with the {colour} lamp and slept well.
7 At home {B} was hanging from a tree like a bat, and {A} laughed.
"""),
    Plot("match", senses={"bat": "club", "pitcher": "player"},
         things=_things("lions", "foxes", "bears"), text="""
1 {B} was the pitcher when the {x} of {town} played the last match.
1 {A} played for the {x} of {town}, and {B} was the pitcher of the other team.
2 {A} picked up a [heavy|wooden] bat and waited for the ball.
2 The pitcher looked at {him} and threw the ball.
3 {He} swung the bat and missed.
3 The ball flew past the bat [twice|again].
4 The pitcher threw a [fast|slow] ball, and the crowd was silent.
4 {B} was a strong pitcher, but {she} was tired of the {rain}.
5 Then {A} hit the ball with the bat, and it flew over the roof.
5 The bat broke in two, but the ball was gone.
6 {He} ran around the field, and the crowd shouted {his} name.
6 The pitcher threw down {hers} {colour} cap.
7 The {x} won the match, and {A} kissed {his} bat.
7 After the match the pitcher gave {him} {hers} {colour} cap.
"""),
    Plot("garden", senses={"spring": "season"},
         things=_things("roses", "tulips", "lilies"), text="""
1 Spring came late to {town} that year.
1 In spring {A} painted the gate of {his} garden in {town}.
2 The snow was gone, and the spring sun was warm.
2 {He} opened the wet earth and planted {colour} {x}.
3 {A} gave the {x} water every morning of that spring.
3 After a {rainy} week in spring the {x} began to grow.
4 {B} brought [two|three] young trees from {hers} farm.
4 {His} {sister} {B} asked when the {x} would open.
5 By the end of spring the garden was full of {x}.
5 Bees came to the {colour} {x} all day.
6 {A} cut some {x} in the garden and gave them to {B}.
6 {B} sat under the trees and sang, because {she} loved the spring.
7 Then summer came, and spring was over.
7 {A} was sad when the spring ended, but the {x} stayed {colour}.
"""),
    Plot("clock", senses={"spring": "coil"},
         things=_things("clock/clocks", "watch/watches", "lock/locks"), text="""
1 {B} brought a broken {x} to the small shop of {A} in {town}.
1 {A} repaired {y} in a small shop in {town}.
2 {He} opened the {x} with a small key and looked inside.
2 The {x} was silent, because its spring was broken.
3 The spring of the {x} was thin and made of steel.
3 {A} found the spring between two wheels.
4 {He} took a new spring of steel and put it into the {x}.
4 {A} cleaned the wheels and turned the spring with a key.
5 The spring jumped out and fell into {his} [coffee|tea].
5 {B} held the lamp while {he} turned the spring.
6 Now the wheels turned, and the {x} worked again.
6 The new spring was strong, and the wheels ran fast.
7 {B} was so glad that {she} painted the door of the shop {colour}.
7 {A} put the {x} into a {colour} box and gave it to {B}.
"""),
    Plot("kitchen", senses={"pitcher": "jug"},
         things=_things("milk", "lemonade", "water"), text="""
1 {A} stood in {his} kitchen in {town} and baked bread.
1 Guests came to the house of {A} in {town}, and all of them were thirsty.
2 {He} took a {colour} pitcher from the shelf.
2 On the table stood a {colour} pitcher of [glass|clay].
3 {A} filled the pitcher with cold {x}.
3 The pitcher was full of {x} and very heavy.
4 {B} set the table with plates and cups.
4 {His} {sister} {B} cut the bread and the cheese.
5 {She} poured {x} from the pitcher into the cups.
5 The cat put its head into the pitcher and drank the {x}.
6 Then the pitcher fell from the table and broke.
6 Soon the pitcher was empty, and {A} filled it again.
7 They ate and drank until the evening.
7 {B} bought {him} a new {colour} pitcher at the market.
"""),
    Plot("beach", senses={"seal": "animal"},
         things=_things("fish", "crabs"), text="""
1 {A} lived by the sea near {town} and counted the seals.
1 On a {rainy} morning {A} found a young seal on the beach near {town}.
2 The seal lay on the sand and looked at {him} with round eyes.
2 The seal had lost its mother and was [hungry|thin].
3 {He} put a wet {colour} blanket over the seal.
3 {A} fed the seal with {x} from a bucket.
4 {B} came with a boat, because {she} knew all the seals of the sea.
4 The seal called twice when it saw {B}.
5 Day after day the seal grew fat and strong.
5 The seal learned to swim in the waves beside {B}.
6 They carried the seal to the water.
6 Then a big seal called from the waves.
7 The seal swam away and never looked back.
7 {A} kept the {colour} blanket, and {B} kept the bucket.
"""),
    Plot("letter", senses={"seal": "stamp"},
         things=_things("king", "queen", "judge"), text="""
1 {A} wrote a long letter to the {x} in {town}.
1 The {x} in {town} waited for a letter from {A}.
2 {He} asked the {x} for [help|peace] and folded the paper.
2 {A} folded the letter twice and lit a lamp.
3 {He} held {colour} wax over the fire.
3 The wax on the letter was hot and {colour}.
4 {A} pressed the seal into the hot wax.
4 The seal was made of silver and showed a [lion|tree|star].
5 {B} carried the letter through the {rain}.
5 {His} {sister} {B} rode all night with the letter.
6 The {x} looked at the seal on the letter and broke it.
6 Nobody had opened the seal, so the {x} believed the letter.
7 The {x} sent {B} back with an answer under a new seal.
7 {A} read the answer twice and [laughed|wept].
"""),
    Plot("zoo", senses={"trunk": "elephant"},
         things=_things("apples", "pears", "carrots"), text="""
1 {A} fed the elephant at the zoo in {town}.
1 On a {rainy} day {A} and {B} visited the elephant at the zoo.
2 The elephant waved its long trunk.
2 The elephant drank with its trunk and took its time.
3 {A} held out [two|three] {x}, and the trunk took them slowly.
3 The elephant found the {x} with its trunk.
4 The elephant filled its trunk with water.
4 {B} held the trunk in {hers} hand and said that it was soft and warm.
5 Suddenly the trunk threw water over {B}.
5 The trunk of the elephant stole {hers} {colour} hat.
6 {A} laughed so much that {he} fell into the grass.
6 {She} was wet, but {she} was not angry.
7 The elephant put the {colour} hat on its head.
7 In the evening the animals slept, and {A} closed the gate of the zoo.
"""),
    Plot("journey", senses={"trunk": "luggage"},
         things=_things("train/station", "ship/harbour", "bus/market"), text="""
1 {A} packed a {colour} trunk for a long journey to {town}.
1 {A} wanted to leave {town} with one heavy trunk.
2 {He} put [books|letters] and shoes into the trunk.
2 The trunk was old and made of [leather|wood].
3 {B} sat on the trunk until it closed.
3 The lock of the trunk was broken, so {B} brought a rope.
4 They carried the trunk to the {y} in the {rain}.
4 At the {y} the trunk was too heavy for two.
5 The {x} was late, and {A} slept on the trunk.
5 {A} bought a ticket for the {x}, and {B} watched the trunk.
6 Suddenly the trunk opened, and all the [books|shoes] fell out.
6 Another man took the {colour} trunk by mistake.
7 The {x} left, and {B} waved until it was gone.
7 At last {he} sat in the {x} with the trunk under {his} feet.
"""),
    Plot("barn", senses={"mouse": "animal"},
         things=_things("cheese", "corn", "bread"), text="""
1 A [small|grey] mouse lived in the barn of {A} near {town}.
1 {A} heard a mouse in {his} barn near {town} at night.
2 The mouse ate the {x} and slept in the hay.
2 Every night the mouse stole some {x}.
3 {A} brought a fat cat, but the cat was lazy.
3 {He} built a trap and put {x} into it.
4 The mouse ran under the door of the barn and was gone.
4 The cat saw the mouse and closed its eyes.
5 {B} found the nest of the mouse in {hers} shoe.
5 {His} {sister} {B} said that the mouse had [two|three] young ones.
6 The mouse looked at {B} with small round eyes.
6 So {A} gave the mouse some {x} in a {colour} cup.
7 In the end the cat and the mouse shared the {x}.
7 {A} carried the mouse to the field in the {colour} cup.
"""),
    Plot("office", senses={"mouse": "device"},
         things=_things("letter", "report", "poem"), text="""
1 {A} sat at the computer in the office in {town} and wrote a {x}.
1 The office in {town} had a new computer, and {A} wrote a {x} on it.
2 {He} moved the mouse, but the screen stayed dark.
2 {A} clicked [twice|again] with the mouse.
3 The cable of the mouse was [loose|broken].
3 The mouse was new, but its button was [loose|broken].
4 {B} brought another mouse for the computer.
4 {His} {sister} {B} knew computers and looked under the desk.
5 {She} cleaned the mouse and the cable.
5 {B} turned the computer off and on again.
6 The mouse clicked, and the {x} came back to the screen.
6 Now the mouse worked, but the keys did not.
7 {A} printed the {x} on {colour} paper.
7 {He} sent the {x} and closed the office.
"""),
    Plot("hill", senses={"spring": "water"},
         things=_things("goats", "sheep", "dogs"), text="""
1 {A} and {B} climbed the hill above {town} with their {x}.
1 {A} lived on a dry hill above {town} with [two|three] {x}.
2 The day was hot, and the {x} were thirsty.
2 {He} carried an empty {colour} bottle.
3 Under a stone {B} heard a spring.
3 {His} {sister} {B} found a spring between the stones.
4 The water of the spring was cold and clear.
4 Cold water ran from the spring into the grass.
5 The {x} drank from the spring first.
5 {A} filled the {colour} bottle at the spring.
6 {B} washed {hers} hands in the spring.
6 They built a small wall around the spring.
7 The whole village drank from that spring for years.
7 They slept beside the spring under the stars.
"""),
)  # fmt: skip

# A = is what A thinks, in the words of the reviews; lines of + or - need that to be good or bad.
EVENING = Plot("evening", always=(1, 3, 4, 6, 7),
               things=_things("film/cinema", "play/theatre", "show/hall"), text="""
1 {B} and {A} went to the {y} in {town} to see a new {x}.
1 On a {rainy} evening {A} took {his} {sister} {B} to the {y} in {town}.
2 The {y} was [full|half empty], and the seats were {colour}.
2 {They} promised a {r} {x}.
2 The {x} began at nine.
3 =.
3+ =, so {he} was glad.
3- =, so {he} was sad.
4+ {A} clapped until {his} hands were red.
4+ {He} laughed and wept and forgot the time.
4+ {He} was so happy that {he} kissed {B}.
4- {A} fell asleep before the end.
4- {He} looked at {his} watch and wanted to go home.
4- {He} was so angry that {he} threw {his} hat.
5 {B} asked {him} about this {x}.
5 {We} walked home through the {rain}.
5 The [man|woman] beside {him} called it {r}.
6 =.
6+ =, so {he} sang on the way home.
6- =, so {he} was silent on the way home.
7+ {A} bought a ticket for the next evening.
7+ {He} told all {his} friends to see the {x}.
7+ {He} was happy for a week.
7- {A} wanted {his} money back.
7- {He} told all {his} friends to stay at home.
7- {He} was angry for a week.
""")  # fmt: skip

# Lines that fit into any story, after its first.
ANYWHERE = (
    "It was {rainy} in {town} that day.",
    "All day {we} looked at the {rain}.",
    "{A} was [hungry|tired], but {he} said nothing.",
    "{B} said nothing and smiled.",
    "{B} laughed, and then {he} laughed too.",
    "{A} looked at {B}, and {she} looked at {him}.",
)
