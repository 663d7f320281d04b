"""Text to token ids and back, on the Rust library ``tokenizers``.

A ``Tokenizer`` comes from a Hugging Face ``tokenizer.json``, from BERT's ``vocab.txt`` or from ``train``.
It adds no special tokens and never truncates: batches do both, where the room is known. Text is only ever
text: a user who writes "[MASK]" gets the tokens of a bracket, a word and a bracket, so no input can forge
[CLS], [SEP], [MASK] or [PAD]; the one special id that ``encode`` gives is [UNK]. docs/tokenizers.md shows
all of it at work.
"""

from psitext.text.tokenizer.learn import Kind, train
from psitext.text.tokenizer.rules import SPECIAL
from psitext.text.tokenizer.vocabulary import FILE, Ids, Tokenizer

__all__ = ["Tokenizer", "train", "Kind", "Ids", "SPECIAL", "FILE"]
