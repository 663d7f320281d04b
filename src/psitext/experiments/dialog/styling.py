"""Text of a style: which of it teaches the space and which the judges; and judges, who were trained on none of the
former.

Two judges, as in Gao et al. 2019b (StyleFusion): one reads runs of words (tf-idf of words and pairs, logistic
regression), the other the states of a pre-trained encoder that stays as it is (logistic regression on frozen sentence
vectors; there an LSTM). How intense a style is, is the mean probability that they give it.

Letters: N texts, D width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psitext.baselines import bag_of_words
from psitext.baselines.bag_of_words import BagOfWords
from psitext.errors import UserError
from psitext.experiments.runs import corpus
from psitext.experiments.runs.recipes import CorpusConfig
from psitext.model import Model
from psitext.randomness import generator
from psitext.text.examples import Example

Floats = npt.NDArray[np.float64]
BLOCK = 200  # sentences that stand for a document where a text has none
IN_STYLE, OTHER = "style", "other"
TESTED = 0.2  # of the judges' text, on which they are tested themselves
STRENGTHS = (1e-3, 1e-2, 1e-1)  # inverse regularisation of the neural judge, chosen by cross-validation
MOST_WORDS = 40  # of a sentence that judges learn from: answers are not longer


@dataclass(frozen=True)
class Judges:
    """Two classifiers of one style, and how often each was right on text that nothing was trained on."""

    ngram: BagOfWords
    neural: Any | None  # of scikit-learn, over frozen sentence vectors
    encoder: Model | None
    accuracy: dict[str, float]
    rows: dict[str, int]

    def intensity(self, texts: Sequence[str]) -> dict[str, float]:
        """``ngram`` and, with an encoder, ``neural``: the mean probability that texts are of the style."""
        found = {"ngram": float(_ngram(self.ngram, texts).mean())}
        if self.neural is not None and self.encoder is not None:
            found["neural"] = float(_neural(self.neural, self.encoder, texts).mean())
        return found


def shared_out(parts: Sequence[CorpusConfig], share: float) -> tuple[list[str], list[str]]:
    """The sentences of a text in two parts, whole documents in each, of which the first has ``share`` of all
    sentences, as near as whole documents allow. The same text is always parted alike.
    """
    documents = _documents(parts)
    total = sum(map(len, documents))
    first: list[str] = []
    second: list[str] = []
    # The longest first, each to whom it brings nearer to the due share.
    for number in sorted(range(len(documents)), key=lambda at: (-len(documents[at]), at)):
        if len(first) + len(documents[number]) / 2 <= share * total:
            first += documents[number]
        else:
            second += documents[number]
    return first, second


def _documents(parts: Sequence[CorpusConfig]) -> list[list[str]]:
    """Documents of a text; one document alone is cut into blocks."""
    found: list[list[str]] = [[]]
    for sentence in corpus.read(parts):
        if sentence is None:
            found.append([])
        else:
            found[-1].append(sentence)
    found = [one for one in found if one]
    if len(found) == 1:
        found = [found[0][at : at + BLOCK] for at in range(0, len(found[0]), BLOCK)]
    return found


def judges(
    style: Sequence[str], others: Sequence[Sequence[str]], encoder: Model | None, limit: int = 5_000, seed: int = 0
) -> Judges:
    """Train both judges on sentences of a style against those of several other texts, as many of each.

    At most ``limit`` sentences of the style, and together as many of the others, drawn by the seed; a fifth of each
    tests the judges. Errors: a text of fewer than ten sentences that are short enough.
    """
    if not others:
        raise UserError("judges of a style learn what it is not: name other text for them (against)")
    size = min(limit, len(_short(style)))
    texts = [
        (_drawn(style, size, seed), IN_STYLE),
        *((_drawn(one, size // len(others), seed), OTHER) for one in others),
    ]
    train, test = _halved(texts)
    ngram = bag_of_words.fit(train, (IN_STYLE, OTHER), seed)
    gold = np.asarray([one.label == IN_STYLE for one in test])
    asked = [one.text for one in test]
    accuracy = {"ngram accuracy": float(np.mean((_ngram(ngram, asked) > 0.5) == gold))}
    neural = None
    if encoder is not None:
        neural = _fit_neural(encoder, train, seed)
        accuracy["neural accuracy"] = float(np.mean((_neural(neural, encoder, asked) > 0.5) == gold))
    return Judges(ngram, neural, encoder, accuracy, {"judges train": len(train), "judges test": len(test)})


def _halved(texts: Sequence[tuple[list[str], str]]) -> tuple[list[Example], list[Example]]:
    """Labelled sentences to train on, and to test on."""
    train, test = [], []
    for some, label in texts:
        if len(some) < 10:
            raise UserError(f"judges of a style take ten sentences of each text at least, and one has {len(some)}")
        tested = round(len(some) * TESTED)
        test += [Example(text=one, label=label) for one in some[:tested]]
        train += [Example(text=one, label=label) for one in some[tested:]]
    return train, test


def _short(texts: Sequence[str]) -> list[str]:
    """Different sentences of a few words at least, which a judge can say something of, and not too many."""
    return [one for one in dict.fromkeys(texts) if 3 <= len(one.split()) <= MOST_WORDS]


def _drawn(texts: Sequence[str], count: int, seed: int) -> list[str]:
    short = _short(texts)
    order = generator(seed, "judges").permutation(len(short))[:count]
    return [short[at] for at in order.tolist()]


def _ngram(fitted: BagOfWords, texts: Sequence[str]) -> Floats:
    """(N,) probabilities of the style."""
    return fitted.probs([Example(text=one) for one in texts])[:, 0]


def _fit_neural(encoder: Model, train: Sequence[Example], seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    vectors = encoder.encode([one.text for one in train]).to_real().numpy()
    labels = np.asarray([one.label == IN_STYLE for one in train])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2_000))
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    return GridSearchCV(model, {"logisticregression__C": STRENGTHS}, cv=folds).fit(vectors, labels)


def _neural(fitted: Any, encoder: Model, texts: Sequence[str]) -> Floats:
    """(N,) probabilities of the style."""
    return np.asarray(fitted.predict_proba(encoder.encode(texts).to_real().numpy())[:, 1])
