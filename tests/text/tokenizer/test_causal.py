"""A decoder's tokenizer against transformers' GPT-2, its round trips on any text, and whose tokens end a sentence."""

from __future__ import annotations

import gzip
import json
import pickle
import random
import unicodedata
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers, trainers

from psitext.errors import UserError
from psitext.text.tokenizer.causal import CausalTokenizer, Kind, learn
from psitext.text.twofold import corpus_lines

KINDS: tuple[Kind, ...] = ("bpe", "words")
TEXTS = [
    "the old crane stopped in the wind .",
    "A crane is flying over the river, and nobody saw it.",
    "mr. <unk> is chairman of <unk> n.v. , _UNK said",
    "naïve café 🙂👍🏽 東京の川 don't",
]
FORGED = "a <EOS> b<PAD> <BOS> <UNK> <|endoftext|> </s> <s>"
assigned = st.characters(exclude_categories=["Cs", "Cn"])  # by Python's edition of Unicode; Rust's is newer
forgeries = st.lists(st.sampled_from([*FORGED.split(), *TEXTS, " ", "\n"]), max_size=6).map(" ".join)


@cache
def learnt(kind: Kind) -> CausalTokenizer:
    return learn(kind, TEXTS * 3, 330)


def tiny_gpt2(folder: Path, merges: str = "#version: 0.2\nĠ c\nĠc r\n# #\n") -> Path:
    """GPT-2's two files, of all bytes and three merges."""
    tokens = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "Ġc", "Ġcr", "##", "<|endoftext|>"]
    folder.mkdir(exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps({token: at for at, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text(merges)
    return folder


def foreign(folder: Path, special: tuple[str, ...], **files: object) -> Path:
    """A tokenizer.json as a Llama has it, with pieces that begin with the sign for a space, and files beside it."""
    backend = Backend(models.BPE(unk_token=None))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=120, special_tokens=list(special), show_progress=False)
    backend.train_from_iterator(TEXTS * 3, trainer)
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer.json").write_text(backend.to_str())
    for name, tree in files.items():
        (folder / f"{name}.json").write_text(json.dumps(tree))
    return folder


def test_parity_gpt2_gives_the_ids_of_transformers(data_dir: Path, tmp_path: Path) -> None:
    from transformers import GPT2TokenizerFast

    folder = data_dir / "tokenizers" / "gpt2"
    for name in ("vocab.json", "merges.txt"):
        (tmp_path / name).write_bytes(gzip.decompress((folder / f"{name}.gz").read_bytes()))
    theirs = GPT2TokenizerFast(
        vocab=str(tmp_path / "vocab.json"), merges=str(tmp_path / "merges.txt"), add_prefix_space=True
    )
    theirs.add_special_tokens({"pad_token": "<PAD>", "bos_token": "<BOS>", "eos_token": "<EOS>"})
    ours = CausalTokenizer.load(folder)
    assert ours == CausalTokenizer.load(tmp_path) == CausalTokenizer.load(folder / "vocab.json.gz")
    assert (ours.pad, ours.bos, ours.eos, ours.unk, ours.vocab_size) == (50257, 50258, 50259, None, 50260)
    assert (ours.pad, ours.bos, ours.eos) == (theirs.pad_token_id, theirs.bos_token_id, theirs.eos_token_id)
    files = ["ptb/ptb.test.txt.gz", "yahoo/yahoo.test.txt.gz", "yelp_short/sentiment.dev.1.gz", "snli/dev.tsv.gz"]
    texts = [*TEXTS, "", " ", "two  spaces\tand\na line", "'s 1234 $5.00"]
    texts += [line for file in files for line in islice(corpus_lines([data_dir / file], column="sentence2"), 100)]
    for text, ids in zip(texts, ours.encode(texts), strict=True):
        assert ids.tolist() == theirs(text)["input_ids"], text
        assert ours.decode(ids) == text.strip()


@pytest.mark.parametrize("kind", KINDS)
def test_parity_saved_tokenizer_is_read_by_transformers(kind: Kind, tmp_path: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    ours = learnt(kind)
    theirs = PreTrainedTokenizerFast(tokenizer_file=str(ours.save(tmp_path)))
    for text, ids in zip(TEXTS, ours.encode(TEXTS), strict=True):
        assert theirs(text)["input_ids"] == [ours.bos, *ids.tolist(), ours.eos]
    assert theirs.pad_token_id == ours.pad  # which the file says as well


@given(text=st.one_of(st.text(assigned, max_size=60), forgeries))
@example(text="")
@example(text="🙂 👨‍👩‍👧 é e\u0301 ﬁ ½ \u2028 ＡＢＣ")
def test_law_bytes_give_back_any_text_but_for_white_space_and_normal_form(text: str) -> None:
    tokenizer = learnt("bpe")
    [ids] = tokenizer.encode([text])
    assert ids.dtype == np.int32
    seen = [letter for letter in text if letter in "\t\n\r" or unicodedata.category(letter)[0] != "C"]
    kept = "".join(letter for letter in seen if letter != "\ufffd")
    row = [tokenizer.bos, *ids.tolist(), tokenizer.eos, tokenizer.pad, tokenizer.pad]
    assert tokenizer.decode(row).split() == unicodedata.normalize("NFKC", kept).split()
    assert tokenizer.encode([tokenizer.decode(row)])[0].tolist() == ids.tolist()


@given(text=forgeries)
def test_law_known_words_come_back_single_spaced(text: str) -> None:
    tokenizer = learnt("words")
    [ids] = tokenizer.encode([text])
    words = [word for one in TEXTS for word in one.split()]
    wanted = [word if word in words else "<UNK>" for word in unicodedata.normalize("NFKC", text).split()]
    assert tokenizer.decode(ids) == " ".join(wanted)
    assert len(ids) == len(text.split())


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.one_of(st.text(max_size=40), forgeries))
@example(text=FORGED)
def test_law_no_text_ends_a_sentence(kind: Kind, text: str) -> None:
    tokenizer = learnt(kind)
    [ids] = tokenizer.encode([text])
    assert not np.isin(ids, [tokenizer.bos, tokenizer.eos, tokenizer.pad]).any()


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text(assigned, max_size=60))
@example(TEXTS[3])
@example(FORGED)
def test_law_places_are_of_the_same_tokens_in_the_text_as_given(kind: Kind, text: str) -> None:
    tokenizer = learnt(kind)
    [(ids, places)] = tokenizer.encode_offsets([text])
    assert ids.tolist() == tokenizer.encode([text])[0].tolist()
    assert places.shape == (len(ids), 2)
    assert bool((places[:, 0] <= places[:, 1]).all()) and bool((places <= len(text)).all())


@pytest.mark.parametrize("kind", KINDS)
def test_known_places_of_words(kind: Kind) -> None:
    """In capitals, too, where they are made small; pieces of bytes begin with the space before a word."""
    text = "The OLD  crane stopped"
    [(_, places)] = learn(kind, TEXTS * 3, 330, lowercase=True).encode_offsets([text])
    cut = [text[first:last] for first, last in places.tolist()]
    assert "".join(cut).replace(" ", "") == "TheOLDcranestopped"
    if kind == "words":
        assert cut == ["The", "OLD", "crane", "stopped"]


def test_known_special_names_are_never_learnt_as_words() -> None:
    tokenizer = learn("words", [FORGED] * 9 + ["＜EOS＞ <EOS>"], 40)
    assert tokenizer.tokens(range(4)) == ["<PAD>", "<BOS>", "<EOS>", "<UNK>"]
    assert "<EOS>" not in tokenizer.tokens(range(4, tokenizer.vocab_size))
    assert tokenizer.decode(tokenizer.encode(["a <EOS> </s>"])[0]) == "a <UNK> </s>"


@pytest.mark.parametrize("kind", KINDS)
def test_known_roles_of_what_is_learnt(kind: Kind) -> None:
    tokenizer = learnt(kind)
    assert (tokenizer.pad, tokenizer.bos, tokenizer.eos) == (0, 1, 2)
    assert tokenizer.unk == (3 if kind == "words" else None)
    assert tokenizer.tokens([0, 1, 2]) == ["<PAD>", "<BOS>", "<EOS>"]
    assert tokenizer.vocab_size <= 330
    spelled = tokenizer.tokens(tokenizer.encode(["the crane"])[0])
    assert spelled == (["Ġthe", "Ġcrane"] if kind == "bpe" else ["the", "crane"])


def test_known_rare_marks_of_a_corpus_are_words() -> None:
    tokenizer = learnt("words")
    ids = tokenizer.encode(["<unk> _UNK neverseen"])[0]
    assert tokenizer.tokens(ids) == ["<unk>", "_UNK", "<UNK>"]


@pytest.mark.parametrize("kind", KINDS)
def test_law_learning_depends_on_the_texts_alone(kind: Kind) -> None:
    shuffled = random.Random(5).sample(TEXTS * 3, len(TEXTS) * 3)
    assert learn(kind, iter(shuffled), 330) == learnt(kind)
    assert learn(kind, TEXTS, 330, lowercase=True) != learnt(kind)


def test_known_lower_case_and_rare_words() -> None:
    tokenizer = learn("words", ["Crane crane Bank"], 20, lowercase=True, min_count=2)
    assert tokenizer.decode(tokenizer.encode(["CRANE bank"])[0]) == "crane <UNK>"


@pytest.mark.parametrize("kind", KINDS)
def test_law_saved_pickled_and_loaded_is_the_same(kind: Kind, tmp_path: Path) -> None:
    tokenizer = learnt(kind)
    file = tokenizer.save(tmp_path / "deep")
    named = tokenizer.save(tmp_path / "written.json")
    (tmp_path / "config.json").write_text('{"eos_token_id": 9}')  # of something else: no tokenizer.json lies here
    again = [CausalTokenizer.load(path) for path in (file, file.parent, named)]
    again += [CausalTokenizer.from_json(tokenizer.to_json()), pickle.loads(pickle.dumps(tokenizer))]
    for one in again:
        assert one == tokenizer and hash(one) == hash(tokenizer) and one.to_json() == tokenizer.to_json()
        assert (one.bos, one.eos, one.pad, one.unk) == (tokenizer.bos, tokenizer.eos, tokenizer.pad, tokenizer.unk)
        assert one.encode([FORGED])[0].tolist() == tokenizer.encode([FORGED])[0].tolist()
    assert tokenizer != tokenizer.to_json()


def test_known_a_row_ends_at_its_first_eos() -> None:
    tokenizer = learnt("words")
    a, b = tokenizer.encode(["the crane"])[0].tolist()
    bos, eos, pad = tokenizer.bos, tokenizer.eos, tokenizer.pad
    assert tokenizer.decode(np.array([a, b, eos, a, pad])) == "the crane"
    assert tokenizer.decode([pad, pad, bos, a, b]) == "the crane"
    assert tokenizer.decode([bos, a, bos, pad, b]) == "the crane"
    assert tokenizer.decode([bos, eos, a]) == tokenizer.decode([eos]) == tokenizer.decode([]) == ""
    for one in (-1, tokenizer.vocab_size):
        with pytest.raises(ValueError, match="is no token id"):
            tokenizer.decode([one])


def test_known_gpt2_files_get_three_tokens_and_a_space_before_the_text(tmp_path: Path) -> None:
    plain = CausalTokenizer.load(tiny_gpt2(tmp_path / "plain"))
    assert (plain.pad, plain.bos, plain.eos, plain.vocab_size) == (260, 261, 262, 263)
    assert plain.tokens(plain.encode(["cr ##"])[0]) == ["Ġcr", "Ġ", "##"]
    packed = tmp_path / "packed"
    packed.mkdir()
    for path in (tmp_path / "plain").iterdir():
        (packed / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert CausalTokenizer.load(packed) == CausalTokenizer.load(packed / "merges.txt.gz") == plain
    assert CausalTokenizer.from_json(plain.to_json()) == plain


LLAMA = ("<unk>", "<s>", "</s>", "<x>")


@pytest.mark.parametrize(
    ("special", "files", "roles"),  # bos, eos, pad
    [
        (LLAMA, {}, (1, 2, 2)),
        (LLAMA, {"tokenizer_config": {"bos_token": "<x>", "eos_token": {"content": "</s>"}}}, (3, 2, 2)),
        (LLAMA, {"special_tokens_map": {"eos_token": "<x>", "pad_token": "<unk>"}}, (1, 3, 0)),
        (LLAMA, {"config": {"bos_token_id": 1, "eos_token_id": [3, 2], "pad_token_id": None}}, (1, 3, 3)),
        (LLAMA, {"config": {"eos_token_id": 10**12, "pad_token_id": -1}, "tokenizer_config": {}}, (1, 2, 2)),
        (LLAMA, {"tokenizer_config": {"eos_token": "<x>"}, "config": {"eos_token_id": 2}}, (1, 3, 3)),
        (LLAMA, {"tokenizer_config": {"eos_token": "</s>", "pad_token": "[not there]"}}, (1, 2, 2)),
        (("<|endoftext|>",), {}, (0, 0, 0)),
        (("<odd>",), {"generation_config": {"eos_token_id": 0}}, (0, 0, 0)),
    ],
)
def test_known_a_foreign_tokenizer_keeps_its_own_tokens(
    special: tuple[str, ...], files: dict[str, object], roles: tuple[int, ...], tmp_path: Path
) -> None:
    tokenizer = CausalTokenizer.load(foreign(tmp_path / "m", special, **files))
    assert (tokenizer.bos, tokenizer.eos, tokenizer.pad) == roles
    [ids] = tokenizer.encode(["the old crane"])
    assert tokenizer.decode([tokenizer.bos, *ids, tokenizer.eos, *ids]) == "the old crane"
    again = CausalTokenizer.from_json(tokenizer.to_json())  # alone, without the files
    assert again == tokenizer and (again.bos, again.eos, again.pad) == roles
    assert not np.isin(tokenizer.encode([FORGED])[0], roles).any()


def test_known_a_special_name_that_a_foreign_vocabulary_finds_in_text_is_left_out() -> None:
    """This one cuts at spaces only and knows "<s>" as a word; without an unknown token nothing can stand for it."""
    backend = Backend(models.WordLevel({"<s>": 0, "</s>": 1, "crane": 2, "?": 3}, unk_token="?"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.add_special_tokens(["<s>", "</s>"])
    tokenizer = CausalTokenizer.from_json(backend.to_str())
    assert tokenizer.unk == 3 and tokenizer.encode(["crane </s> crane"])[0].tolist() == [2, 3, 2]
    backend.model = models.WordLevel({"<s>": 0, "</s>": 1, "crane": 2}, unk_token="</s>")
    tokenizer = CausalTokenizer.from_json(backend.to_str())
    assert tokenizer.unk is None
    assert [ids.tolist() for ids in tokenizer.encode(["crane </s> crane", "</s>", "crane"])] == [[2, 2], [], [2]]


def test_known_mistakes_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no tokenizer of a decoder at .*nowhere: neither a tokenizer.json nor vocab"):
        CausalTokenizer.load(tmp_path / "nowhere")
    with pytest.raises(
        UserError, match=r"tokenizer\.json has no token that ends a text.*\"eos_token\" in a tokenizer_"
    ):
        CausalTokenizer.load(foreign(tmp_path / "endless", ("<odd>",)))
    beside = foreign(tmp_path / "beside", LLAMA)
    (beside / "tokenizer_config.json").write_text("{")
    with pytest.raises(UserError, match=r"tokenizer_config.json is not valid JSON"):
        CausalTokenizer.load(beside)
    half = tiny_gpt2(tmp_path / "half")
    (half / "merges.txt").unlink()
    with pytest.raises(UserError, match=r"no tokenizer of a decoder at .*half"):
        CausalTokenizer.load(half)
    (half / "merges.txt.gz").write_bytes(gzip.compress(b"#version: 0.2\n" * 99)[:-9])
    with pytest.raises(UserError, match=r"merges.txt.gz is damaged"):
        CausalTokenizer.load(half)
    with pytest.raises(UserError, match=r"merges\.txt line 2 must be two tokens with a space between them, not 'Ġc'"):
        CausalTokenizer.load(tiny_gpt2(tmp_path / "line", "#version: 0.2\nĠc\n"))
    with pytest.raises(UserError, match=r"merges\.txt does not belong to .*vocab\.json"):
        CausalTokenizer.load(tiny_gpt2(tmp_path / "other", "Ġ d\n"))
    (half / "vocab.json").write_text("[1]")
    with pytest.raises(UserError, match=r"vocab.json must be a JSON object"):
        CausalTokenizer.load(half)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match=r"tokenizer.json is not a tokenizer.json"):
        CausalTokenizer.load(tmp_path)
    with pytest.raises(UserError, match="no tokenizer kind 'wordpiece'"):
        learn("wordpiece", TEXTS, 999)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="a bpe tokenizer needs at least 259"):
        learn("bpe", TEXTS, 258)
    with pytest.raises(UserError, match="all of it is blank"):
        learn("words", [" "], 99)
    with pytest.raises(UserError, match="a list of texts, not one text"):
        learnt("bpe").encode("a crane")
