"""The embedded corpus: stories, reviews, questions and words of two senses, generated from a small grammar.

Every sentence pattern was written for psitext, so the corpus may go wherever psitext goes. A text is a pure
function of the seed and its number: ``stories(10)`` gives the first ten of ``stories(100)``. All texts of a
call are different; tasks cut them into train, dev and test by a hash of the text, which keeps the three apart.
docs/toy.md shows grammar and samples.
"""

from psitext.text.toy.questions import questions
from psitext.text.toy.reviews import LABELS, reviews
from psitext.text.toy.senses import Sense, ambiguous
from psitext.text.toy.stories import pairs, stories
from psitext.text.toy.tags import TAGS, tags

__all__ = ["stories", "reviews", "questions", "pairs", "tags", "ambiguous", "Sense", "LABELS", "TAGS"]
