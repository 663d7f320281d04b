"""Learning a vocabulary from text. The same texts give the same tokenizer, in whatever order they come.

Control characters are dropped, then Unicode's NFKC is applied and, if wanted, lower case; accents stay, since
BERT's own stripping of them turns the Japanese が into か.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, get_args

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import Tokenizer as Backend

from psitext.errors import UserError, near
from psitext.text.tokenizer.rules import SPECIAL, framed, pieces
from psitext.text.tokenizer.vocabulary import Tokenizer
from psitext.text.tokenizer.words import BYTE_WORD, PLAIN_WORD, WORD

Kind = Literal["wordpiece", "bpe", "words", "plain-words"]


def train(
    kind: Kind, texts: Iterable[str], vocab_size: int, *, lowercase: bool = True, min_count: int = 1
) -> Tokenizer:
    """Learn a vocabulary of at most ``vocab_size`` tokens from ``texts``, which are read once and not kept.

    ``wordpiece`` gives BERT's subwords, ``bpe`` GPT-2's (of bytes, so nothing is ever unknown), ``words`` the
    most frequent words and marks, ``plain-words`` words alone: marks between them are no tokens and not unknown
    either. What occurs less than ``min_count`` times becomes no token. [PAD] [UNK] [CLS] [SEP] [MASK] have the ids 0
    to 4. Errors: an unknown kind, a size too small for it, texts that are all blank.
    """
    check(kind, get_args(Kind), vocab_size, len(SPECIAL) + (256 if kind == "bpe" else 2))
    steps, some = cleaning(lowercase), lists(texts)
    if kind == "wordpiece":
        backend = framed(_wordpiece(steps, some, vocab_size, min_count))
    elif kind == "bpe":
        backend = framed(
            byte_pieces(steps, some, vocab_size, min_count, SPECIAL), processors.ByteLevel(trim_offsets=True)
        )
    else:
        pattern = WORD if kind == "words" else PLAIN_WORD
        cut = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
        backend = framed(whole_words(steps, cut, some, vocab_size, min_count, SPECIAL))
    return Tokenizer.from_json(backend.to_str(), "the trained tokenizer")


def check(kind: str, kinds: Sequence[str], vocab_size: int, least: int) -> None:
    """Refuse a kind that is none and a vocabulary too small for it."""
    if kind not in kinds:
        raise UserError(f"no tokenizer kind {kind!r}{near(kind, kinds)}; there are: {', '.join(kinds)}")
    if vocab_size < least:
        raise UserError(f"vocab_size is {vocab_size}; a {kind} tokenizer needs at least {least}")


def cleaning(lowercase: bool) -> list[Any]:
    """What happens to a text before it is cut."""
    clean = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False
    )
    steps: list[Any] = [clean, normalizers.NFKC()]
    if lowercase:  # small letters can be composed where their capitals cannot, hence the second composition
        steps += [normalizers.Lowercase(), normalizers.NFC()]
    return steps


def whole_words(
    steps: list[Any],
    cut: Any,
    texts: Iterator[list[str]],
    vocab_size: int,
    min_count: int,
    special: Mapping[str, str],
) -> Backend:
    """The most frequent words, as the pre-tokenizer ``cut`` has them; ``special`` names the first ids."""
    backend = Backend(models.WordLevel({}, unk_token=special["unk"]))
    backend.normalizer, backend.pre_tokenizer = normalizers.Sequence(steps), cut
    trainer = trainers.WordLevelTrainer(
        vocab_size=vocab_size,
        min_frequency=min_count,
        special_tokens=list(special.values()),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    return backend


def byte_pieces(
    steps: list[Any], texts: Iterator[list[str]], vocab_size: int, min_count: int, special: Mapping[str, str]
) -> Backend:
    """Byte-level BPE over single-spaced text with a space before its first word."""
    backend = Backend(models.BPE())
    one_space = [normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip(), normalizers.Prepend(" ")]
    backend.normalizer = normalizers.Sequence([*steps, *one_space])
    cut = pre_tokenizers.Split(Regex(BYTE_WORD), "isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([cut, to_bytes])
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_count,
        special_tokens=list(special.values()),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    return backend


def _wordpiece(steps: list[Any], texts: Iterator[list[str]], vocab_size: int, min_count: int) -> Backend:
    """WordPiece by way of BPE over words that carry a mark at their front.

    The library's own WordPiece trainer numbers the inner letters in the order of a hash map, which changes with
    every run: ties then fall differently, and two vocabularies of the same text are not alike.
    """
    mark = "\ue000"  # for private use, so the cleaning has dropped it from any text
    cut = pre_tokenizers.Split(Regex(WORD), "removed", invert=True)
    marked = pre_tokenizers.Metaspace(replacement=mark, prepend_scheme="always", split=False)
    learner = Backend(models.BPE())
    learner.normalizer = normalizers.Sequence(steps)
    learner.pre_tokenizer = pre_tokenizers.Sequence([cut, marked])
    alphabet = (vocab_size - len(SPECIAL)) // 2  # a letter may count twice, at the front and inside
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size + alphabet,
        min_frequency=min_count,
        limit_alphabet=alphabet + 1,  # and the mark
        show_progress=False,
    )
    learner.train_from_iterator(texts, trainer)
    learnt = sorted(learner.get_vocab().items(), key=lambda item: item[1])  # letters, then merges as made
    letters = [token for token, _ in learnt if len(token) == 1 and token != mark]
    inner = [f"##{letter}" for letter in letters if len(cut.pre_tokenize_str(letter * 2)) == 1]
    merged = [token[1:] if token[0] == mark else f"##{token}" for token, _ in learnt if len(token) > 1]
    # The mark merged with a letter is that letter once more, hence the dict: a set that keeps its order.
    order = dict.fromkeys([*SPECIAL.values(), *letters, *inner, *merged])
    backend = Backend(pieces({token: at for at, token in enumerate(islice(order, vocab_size))}))
    backend.normalizer, backend.pre_tokenizer = learner.normalizer, cut
    backend.decoder = decoders.WordPiece()
    return backend


def lists(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts in lists, for fewer steps between Python and Rust; refuses texts that are all blank."""
    stream = iter(texts)
    blank = True
    while some := list(islice(stream, 1000)):
        blank = blank and not any(text.strip() for text in some)
        yield some
    if blank:
        raise UserError("there is no text to learn a tokenizer from: all of it is blank")
