"""Sentences for autoencoders and language models: read by one tokenizer, written by another.

``corpus_lines`` reads files of one sentence a line, ``gather`` keeps what is short enough, ``TwofoldSource`` makes
batches of it, and ``split`` holds some of it out.
"""

from psitext.text.twofold.reading import corpus_lines
from psitext.text.twofold.sentences import Counts, Sentences, SentencesConfig, gather
from psitext.text.twofold.source import TwofoldSource, split

__all__ = ["corpus_lines", "gather", "Sentences", "SentencesConfig", "Counts", "TwofoldSource", "split"]
