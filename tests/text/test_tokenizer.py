"""The tokenizer against transformers' own, and its laws on any text that hypothesis can think of."""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
import unicodedata
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from psitext.errors import UserError
from psitext.text.tokenizer import SPECIAL, Kind, Tokenizer, train

KINDS: tuple[Kind, ...] = ("wordpiece", "bpe", "words", "plain-words")
ENGLISH = [
    "A crane is flying over the river, and nobody saw it.",
    "The crane driver came to the bank; she hadn't slept.",
    "Wasn't the old bank (the red one) closed at 3.50?",
    "Flying cranes, flying drivers: unflyable, unbanked, rebanking!",
    "don't won't they're we've I'll he'd it's",
]
EASTERN = ["この鶴は銀行の上を飛んでいる。", "スーパーマーケットへ行く人々", "ไปโรงเรียน", "은행에 갔다", "我在银行工作"]
# What trips tokenizers: accents, marks without a letter, ligatures, wide forms, invisible and control characters, ...
HARD = [
    *ENGLISH,
    *EASTERN,
    "Ünïcödé naïve café e\u0301 ﬁne ＡＢＣ１２３ ½ ™ ℡ ǅ İstanbul ẞ ς",
    "tab\tnew\nline\r\u00a0\u3000\u2028x \u200bzero\u00adsoft \x00\x01\ufffd end",
    "a" * 99 + " " + "b" * 100 + " " + "c" * 101,
    "## ##ing # wow ### $5.00 + 7% @you_and_me http://x.y/z?q=1&r=2 :-) 🙂👍🏽 — “q” ‘r’ … ١٢٣",
    "がぎぐ ｶﾞｷﾞ が 々 〆 ㍿ 𠮷野家 龍",
    "",
    "   ",
]
FORGERIES = "[MASK]|a [SEP] b|[CLS][PAD][UNK]|x[MASK]y|[mask]|[ MASK ]|<mask></s>|[MASK|[[MASK]]".split("|")
any_text = st.text(max_size=60)
pieces = st.lists(st.one_of(st.sampled_from(FORGERIES + HARD[:12]), st.text(max_size=8)), max_size=6).map(" ".join)
assigned = st.characters(exclude_categories=["Cs", "Cn"])  # by Python's edition of Unicode; Rust's is newer
known_words = st.lists(st.sampled_from(" ".join(ENGLISH).split()), max_size=12).map(" ".join)


@cache
def trained(kind: Kind, lowercase: bool = True) -> Tokenizer:
    return train(kind, ENGLISH * 3 + EASTERN, 420, lowercase=lowercase)


def same(ours: list[np.ndarray], theirs: list[list[int]], texts: list[str]) -> None:
    for mine, other, text in zip(ours, theirs, texts, strict=True):
        assert mine.tolist() == other, text


@pytest.mark.parametrize("name", ["bert-base-uncased", "bert-base-cased"])
def test_parity_vocab_txt_gives_the_ids_of_transformers(name: str, data_dir: Path) -> None:
    from transformers import BertTokenizerFast

    folder = data_dir / "tokenizers" / name
    vocabulary = str(folder / "vocab.txt")
    theirs = BertTokenizerFast(vocab=vocabulary, do_lower_case=name.endswith("uncased"))
    ours = Tokenizer.load(folder)
    assert ours == Tokenizer.load(folder / "vocab.txt", lowercase=name.endswith("uncased"))
    expected = [theirs(text, add_special_tokens=False)["input_ids"] for text in HARD]
    same(ours.encode(HARD), expected, HARD)
    assert [ours.cls, ours.sep, ours.mask, ours.pad, ours.unk] == [
        theirs.cls_token_id,
        theirs.sep_token_id,
        theirs.mask_token_id,
        theirs.pad_token_id,
        theirs.unk_token_id,
    ]
    assert ours.vocab_size == len(theirs)


def test_parity_model_folder_gives_the_ids_of_transformers_and_never_truncates(minilm: Path) -> None:
    from transformers import BertTokenizerFast

    theirs = BertTokenizerFast.from_pretrained(minilm)
    ours = Tokenizer.load(minilm)
    texts = [*HARD, " ".join(HARD * 20)]  # the folder's own tokenizer.json cuts at 128 and pads to it
    expected = [theirs(text, add_special_tokens=False, truncation=False)["input_ids"] for text in texts]
    assert max(map(len, expected)) > 1000
    same(ours.encode(texts), expected, texts)
    words = "The crane-driver saw unflyable things .".split()
    ids, owner = ours.encode_words(words)
    encoded = theirs(words, is_split_into_words=True, add_special_tokens=False)
    assert (ids.tolist(), owner.tolist()) == (encoded["input_ids"], encoded.word_ids())
    for text, (ids, places) in zip(HARD, ours.encode_offsets(HARD), strict=True):
        encoded = theirs(text, add_special_tokens=False, return_offsets_mapping=True)
        assert ids.tolist() == encoded["input_ids"]
        assert [tuple(place) for place in places.tolist()] == encoded["offset_mapping"]


@pytest.mark.parametrize("kind", KINDS)
def test_parity_saved_tokenizer_is_read_by_transformers(kind: Kind, tmp_path: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    ours = trained(kind)
    theirs = PreTrainedTokenizerFast(tokenizer_file=str(ours.save(tmp_path)))
    for text, ids in zip(HARD, ours.encode(HARD), strict=True):
        assert theirs(text)["input_ids"] == [ours.cls, *ids.tolist(), ours.sep]


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.one_of(any_text, pieces))
@example(text="[MASK] [SEP] [CLS] [PAD]")
def test_law_no_text_gives_a_special_id(kind: Kind, text: str) -> None:
    tokenizer = trained(kind)
    forbidden = [tokenizer.cls, tokenizer.sep, tokenizer.mask, tokenizer.pad]
    [ids] = tokenizer.encode([text])
    assert ids.dtype == np.int32
    assert not np.isin(ids, forbidden).any()
    assert not np.isin(tokenizer.encode_words(text.split())[0], forbidden).any()
    assert not np.isin(tokenizer.encode_offsets([text])[0][0], forbidden).any()


def test_known_special_names_in_a_text_are_plain_words(minilm: Path) -> None:
    tokenizer = Tokenizer.load(minilm)
    [ids] = tokenizer.encode(["a [MASK]!"])
    assert tokenizer.tokens(ids) == ["a", "[", "mask", "]", "!"]
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again == tokenizer and again.encode(["a [MASK]!"])[0].tolist() == ids.tolist()


def test_known_a_foreign_tokenizer_cannot_give_special_ids_either() -> None:
    """This one cuts at spaces only, so that "[MASK]" is a word, and one that its vocabulary has."""
    tree = json.loads(trained("words").to_json())
    tree["pre_tokenizer"] = {"type": "WhitespaceSplit"}
    tokenizer = Tokenizer.from_json(json.dumps(tree))
    [ids] = tokenizer.encode(["a [MASK] crane"])
    assert tokenizer.tokens(ids) == ["a", "[UNK]", "crane"]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(text=st.one_of(any_text, pieces))
def test_law_saved_and_loaded_is_the_same(kind: Kind, text: str) -> None:
    tokenizer = trained(kind)
    again = Tokenizer.from_json(tokenizer.to_json())
    assert again.to_json() == tokenizer.to_json()
    assert again == tokenizer and hash(again) == hash(tokenizer)
    assert again.encode([text])[0].tolist() == tokenizer.encode([text])[0].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_law_save_writes_what_load_reads(kind: Kind, tmp_path: Path) -> None:
    tokenizer = trained(kind)
    file = tokenizer.save(tmp_path / "deep" / "folder")
    assert Tokenizer.load(file) == Tokenizer.load(file.parent) == tokenizer
    assert tokenizer.save(tmp_path / "mine.json") == tmp_path / "mine.json"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "mine.json"]


@pytest.mark.parametrize("kind", KINDS)
@given(text=known_words)
def test_law_offsets_slice_to_the_surface(kind: Kind, text: str) -> None:
    tokenizer = trained(kind, False)
    [(ids, places)] = tokenizer.encode_offsets([text])
    assert ids.tolist() == tokenizer.encode([text])[0].tolist()
    surface = [token.removeprefix("##").removeprefix("Ġ") for token in tokenizer.tokens(ids)]
    assert [text[first:end] for first, end in places.tolist()] == surface


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.one_of(any_text, pieces))
def test_law_offsets_of_any_text_are_ranges_in_it(kind: Kind, text: str) -> None:
    [(ids, places)] = trained(kind).encode_offsets([text])
    assert places.shape == (len(ids), 2) and places.dtype == np.int64
    assert ((places >= 0) & (places <= len(text))).all()
    assert (places[:, 0] <= places[:, 1]).all()


@given(text=st.text(assigned, max_size=60))
@example(text="\n".join(HARD + FORGERIES))
def test_law_bytes_decode_to_the_normal_form_of_any_text(text: str) -> None:
    tokenizer = trained("bpe", False)
    [ids] = tokenizer.encode([text])
    decoded = tokenizer.decode(ids)
    assert tokenizer.encode([decoded])[0].tolist() == ids.tolist()
    seen = [letter for letter in text if letter in "\t\n\r" or unicodedata.category(letter)[0] != "C"]
    kept = "".join(letter for letter in seen if letter != "\ufffd")
    assert decoded.split() == unicodedata.normalize("NFKC", kept).split()


@pytest.mark.parametrize("kind", ["wordpiece", "words"])
@given(text=st.one_of(known_words, pieces))
def test_law_decoded_text_encodes_to_the_same_ids(kind: Kind, text: str) -> None:
    tokenizer = trained(kind)
    [ids] = tokenizer.encode([text])
    ids = ids[ids != tokenizer.unk]
    decoded = tokenizer.decode(ids)
    assert tokenizer.encode([decoded])[0].tolist() == ids.tolist()
    assert tokenizer.decode([tokenizer.cls, *ids, tokenizer.sep, tokenizer.pad]) == decoded


@pytest.mark.parametrize("kind", KINDS)
@given(texts=st.lists(pieces, max_size=5))
def test_law_a_batch_is_its_texts_one_by_one(kind: Kind, texts: list[str]) -> None:
    tokenizer = trained(kind)
    together = tokenizer.encode(texts)
    assert [ids.tolist() for ids in together] == [tokenizer.encode([text])[0].tolist() for text in texts]


@pytest.mark.parametrize("kind", KINDS)
@given(text=known_words)
def test_law_words_keep_their_index(kind: Kind, text: str) -> None:
    tokenizer = trained(kind)
    words = text.split()
    ids, owner = tokenizer.encode_words(words)
    for index, word in enumerate(words):
        assert ids[owner == index].tolist() == tokenizer.encode([word])[0].tolist()
    assert (np.diff(owner) >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_law_special_and_ordinary_ids_share_out_the_vocabulary(kind: Kind) -> None:
    tokenizer = trained(kind)
    assert tokenizer.vocab_size <= 420
    assert tokenizer.special.tolist() == [0, 1, 2, 3, 4]
    assert tokenizer.tokens(tokenizer.special) == list(SPECIAL.values())
    ids = np.concatenate([tokenizer.special, tokenizer.ordinary])
    assert ids.tolist() == list(range(tokenizer.vocab_size)) and ids.dtype == np.int64
    assert tokenizer.continuation.shape == (tokenizer.vocab_size,)
    assert not tokenizer.continuation[tokenizer.special].any()
    with pytest.raises(ValueError, match="read-only"):
        tokenizer.ordinary[0] = 0
    with pytest.raises(AttributeError):
        tokenizer.cls = 7  # type: ignore[misc]


@pytest.mark.parametrize("kind", KINDS)
@given(words=st.lists(st.sampled_from(["crane", "flying", "unflyable", "drivers", "café"]), min_size=1, max_size=9))
def test_law_continuation_marks_all_but_the_first_token_of_a_word(kind: Kind, words: list[str]) -> None:
    tokenizer = trained(kind)
    ids, owner = tokenizer.encode_words(words)
    starts = np.diff(owner, prepend=-1) > 0
    known = ids != tokenizer.unk
    assert (tokenizer.continuation[ids] == ~starts)[known].all()


def test_known_byte_tokens_that_start_a_word_without_a_space() -> None:
    tokenizer = trained("bpe")
    [ids] = tokenizer.encode(["(bank's) 鶴"])
    starts = tokenizer.tokens(ids[~tokenizer.continuation[ids]])
    assert starts[0] == "Ġ(" or starts[:2] == ["Ġ", "("]
    assert "'s" in starts or "'" in starts
    assert starts[-1] != "´"  # the last byte of 鶴 continues it


@pytest.mark.parametrize("kind", KINDS)
def test_law_training_depends_on_the_texts_alone(kind: Kind) -> None:
    texts = ENGLISH * 3 + EASTERN
    shuffled = random.Random(7).sample(texts, len(texts))
    assert train(kind, iter(shuffled), 420) == trained(kind)


def test_law_training_is_the_same_in_another_process() -> None:
    code = (
        "import json, sys; from psitext.text.tokenizer import train; "
        "print(train('wordpiece', json.loads(sys.stdin.read()), 420).fingerprint)"
    )
    texts = json.dumps(ENGLISH * 3 + EASTERN)
    done = subprocess.run([sys.executable, "-c", code], input=texts, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == trained("wordpiece").fingerprint


@pytest.mark.parametrize("size", [7, 20, 60, 100])
def test_law_no_vocabulary_is_larger_than_asked_for(size: int) -> None:
    texts = ENGLISH + EASTERN
    assert train("wordpiece", texts, size).vocab_size == size
    assert train("words", texts, size).vocab_size <= size


@pytest.mark.parametrize("kind", KINDS)
def test_known_frequent_words_are_one_token(kind: Kind) -> None:
    tokenizer = trained(kind)
    ids, owner = tokenizer.encode_words(["The", "crane", "flying"])
    assert owner.tolist() == [0, 1, 2]
    assert [token.removeprefix("Ġ") for token in tokenizer.tokens(ids)] == ["the", "crane", "flying"]


def test_known_rare_words_leave_the_vocabulary() -> None:
    tokenizer = train("words", ENGLISH, 420, min_count=2)
    assert tokenizer.tokens(tokenizer.encode(["the unbanked crane"])[0]) == ["the", "[UNK]", "crane"]


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("この鶴は銀行の上を飛んでいる。", "この 鶴 は 銀 行 の 上 を 飛 んでいる 。"),
        ("スーパーマーケットへ行く人々", "スーパーマーケット へ 行 く 人 々"),
        ("ｶﾞｽ銀行１２３", "ガス 銀 行 123"),  # half and full width forms are made one by NFKC
        ("ไปโรงเรียน", "ไป โร ง เรี ย น"),
        ("은행에 갔다", "은행에 갔다"),
        ("Hadn't naïve-2x", "hadn ' t naïve - 2x"),
    ],
)
def test_known_scripts_are_cut_sensibly(text: str, cut: str) -> None:
    tokenizer = train("words", [text], 100)
    assert tokenizer.tokens(tokenizer.encode([text])[0]) == cut.split()


def test_known_plain_words_have_no_marks_between_them() -> None:
    text = "I don't -- like it's 'quoted', well-made U.S. films; 10/10!<br />銀行。"
    tokenizer = train("plain-words", [text], 100)
    cut = "i don't like it's quoted well made u s films 10 10 br 銀 行"
    assert tokenizer.tokens(tokenizer.encode([text])[0]) == cut.split(), "a mark is nothing, not an unknown word"
    assert tokenizer.tokens(tokenizer.encode(["fly?! like"])[0]) == ["[UNK]", "like"]


def test_known_decoded_text_reads_well() -> None:
    text = "wasn't it (the crane), closed: it's over the bank; 銀行の上を飛ぶ。"
    tokenizer = train("words", [text], 100)
    assert tokenizer.decode(tokenizer.encode([text])[0]) == text
    assert tokenizer.decode([tokenizer.mask, tokenizer.unk]) == "[MASK] [UNK]"
    with pytest.raises(ValueError, match="-100 is no token id"):
        tokenizer.decode([-100])


def test_known_capitals_of_a_vocabulary_decide_the_case(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join([*SPECIAL.values(), "crane", "Crane", "bank"]) + "\n")
    assert Tokenizer.load(tmp_path).encode(["Crane"])[0].tolist() == [6]
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    assert Tokenizer.load(tmp_path).encode(["Crane"])[0].tolist() == [5]
    assert Tokenizer.load(tmp_path, lowercase=False).encode(["Crane"])[0].tolist() == [6]


def test_known_of_equal_lines_the_last_counts(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join([*SPECIAL.values(), "bank", "crane", "bank"]) + "\n")
    tokenizer = Tokenizer.load(tmp_path)
    assert tokenizer.vocab_size == 8
    assert tokenizer.encode(["bank"])[0].tolist() == [7]
    assert tokenizer.ordinary.tolist() == [6, 7]
    assert tokenizer.tokens([5]) == [""]


def broken(folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder / "no_mask.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nbank\n")
    (folder / "latin.txt").write_bytes(b"[PAD]\n\xff\n")
    (folder / "broken.json").write_text('{"version": "1.0"')
    (folder / "tokenizer.json").write_text(trained("words").to_json())
    tree = json.loads(trained("words").to_json())
    del tree["model"]["vocab"]["[SEP]"]
    tree["added_tokens"] = [token for token in tree["added_tokens"] if token["content"] != "[SEP]"]
    tree["post_processor"] = None
    (folder / "no_sep.json").write_text(json.dumps(tree))


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("nowhere", r"there is no tokenizer at .*nowhere: neither a tokenizer\.json nor a vocab\.txt"),
        ("empty", "there is no tokenizer at .*empty"),
        ("no_mask.txt", r"no_mask.txt lacks \[MASK\]; an encoder needs"),
        ("latin.txt", r"latin.txt is not UTF-8 text \(byte 6\)"),
        ("broken.json", "broken.json is not a tokenizer.json: EOF"),
        ("no_sep.json", r"no_sep.json lacks \[SEP\]; an encoder needs"),
    ],
)
def test_known_broken_files_are_named(file: str, sentence: str, tmp_path: Path) -> None:
    broken(tmp_path)
    with pytest.raises(UserError, match=sentence):
        Tokenizer.load(tmp_path / file)


def test_known_mistakes_are_one_sentence(tmp_path: Path) -> None:
    broken(tmp_path)
    tokenizer = trained("words")
    with pytest.raises(UserError, match="says itself whether it lowers case"):
        Tokenizer.load(tmp_path, lowercase=True)
    with pytest.raises(UserError, match="a list of texts, not one text"):
        tokenizer.encode("a crane")
    with pytest.raises(UserError, match="a text to encode is no string: nan"):
        tokenizer.encode(["a crane", float("nan")])  # type: ignore[list-item]
    with pytest.raises(UserError, match="holds half a character"):
        tokenizer.encode(["a crane", "\ud800"])
    with pytest.raises(UserError, match="no tokenizer kind 'wordpeice'; did you mean 'wordpiece'"):
        train("wordpeice", ENGLISH, 100)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="a bpe tokenizer needs at least 261"):
        train("bpe", ENGLISH, 100)
    with pytest.raises(UserError, match="all of it is blank"):
        train("wordpiece", iter(["", " \n"]), 100)


def test_law_an_error_of_the_texts_stays_itself() -> None:
    def texts():  # type: ignore[no-untyped-def]
        yield "a crane"
        raise UserError("books.txt is not UTF-8 text (byte 3)")

    with pytest.raises(UserError, match=r"books\.txt"):
        train("bpe", texts(), 300)
