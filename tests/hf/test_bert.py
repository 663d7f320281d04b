"""BERT in and out: the same numbers as transformers, and nothing lost on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import BertForPreTraining, BertForSequenceClassification, BertModel

import tiny
from disk import largest_file
from psitext.errors import UserError
from psitext.heads.affine import AffineConfig, SequenceHead
from psitext.heads.pretraining import PretrainingConfig, PretrainingHead
from psitext.hf.bert import read_bert, write_bert
from psitext.text.batches import Batch, lay_out, packed, padded
from psitext.text.tokenizer import Tokenizer
from theirs import (
    WORDS,
    Make,
    as_inputs,
    change,
    close,
    copy_without_weights,
    encoder_of,
    head_of,
    sequences,
    with_targets,
)

LENGTHS = [9, 3, 16, 5, 12, 2]
TEXTS = [
    "a crane is flying",
    "a crane driver came",
    "The 2nd bank's interest (4.5 %) wasn't what I'd hoped for!",
    "北京の銀行 café",
    "no",
]


@pytest.fixture(scope="module")
def sentences(minilm: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Ids and segments of real sentences and a pair, special tokens included."""
    tokenizer = Tokenizer.load(minilm)
    texts = [[tokenizer.cls, *ids, tokenizer.sep] for ids in tokenizer.encode(TEXTS)]
    first, second = tokenizer.encode(["who is flying ?", "the crane is , over the bank ."])
    texts.append([tokenizer.cls, *first, tokenizer.sep, *second, tokenizer.sep])
    segments = [np.zeros(len(text), dtype=np.int64) for text in texts]
    segments[-1][len(first) + 2 :] = 1
    return [np.array(text, dtype=np.int64) for text in texts], segments


def laid_out(texts: list[np.ndarray], segments: list[np.ndarray], row: int | None) -> Batch:
    lengths = np.array([len(text) for text in texts])
    layout = padded(lengths) if row is None else packed(lengths, row)
    samples = np.arange(len(texts))
    return lay_out(np.concatenate(texts), np.concatenate(segments), layout, samples, pad=0, targets={})


def test_parity_states_of_a_real_bert(minilm: Path, sentences: tuple[list[np.ndarray], list[np.ndarray]]) -> None:
    model = BertModel.from_pretrained(minilm).eval()
    found = read_bert(str(minilm), pool="pooled")
    mean = read_bert(str(minilm))
    assert (found.config.pool, mean.config.pool) == ("pooled", "mean")
    assert mean.pretraining is None
    with torch.no_grad():
        one_by_one = [
            model(input_ids=torch.from_numpy(text)[None], token_type_ids=torch.from_numpy(segment)[None])
            for text, segment in zip(*sentences, strict=True)
        ]
        for row in (None, 64):
            batch = laid_out(*sentences, row)
            assert (len(batch.ids) < len(batch.starts)) == (row is not None)
            state = encoder_of(found)(batch)
            averaged = encoder_of(mean)(batch)
            close(sequences(batch, state.tokens), [output.last_hidden_state[0] for output in one_by_one])
            close([state.vector], [torch.cat([output.pooler_output for output in one_by_one])])
            means = torch.cat([output.last_hidden_state.mean(1) for output in one_by_one])
            close([averaged.vector], [means])
        batch = laid_out(*sentences, None)
        whole = model(**as_inputs(batch))
        state = encoder_of(found)(batch)
    close(sequences(batch, state.tokens), sequences(batch, whole.last_hidden_state))


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_parity_pretraining_logits(theirs: Make, tie: bool, activation: str) -> None:
    folder, model = theirs(tie_word_embeddings=tie, hidden_act=activation)
    found = read_bert(str(folder))
    assert found.tied == tie
    assert found.pretraining_config == PretrainingConfig(tied=tie, next_sentence=True)
    encoder = encoder_of(found)
    head = head_of(found, encoder)
    batch = with_targets(LENGTHS, range(sum(LENGTHS)))
    with torch.no_grad():
        expected = model(**as_inputs(batch))
        words = torch.cat(sequences(batch, expected.prediction_logits))
        for row in (None, 20):
            everywhere = with_targets(LENGTHS, range(sum(LENGTHS)), row)
            predicted = head(encoder(everywhere), everywhere)
            close([predicted["words"], predicted["next"]], [words, expected.seq_relationship_logits], 2e-5)
            some = [1, 30, 5, 46, 17]
            gathered = with_targets(LENGTHS, some, row)
            close([head(encoder(gathered), gathered)["words"]], [words[some]], 2e-5)
    assert words.std() > 0.5, "logits so small that everything would be equal"


def test_known_a_bare_encoder_without_pooler(theirs: Make, tmp_path: Path) -> None:
    folder, model = theirs()
    bare = copy_without_weights(folder, tmp_path / "bare")
    parts = {name: value for name, value in model.bert.state_dict().items() if not name.startswith("pooler")}
    save_file(parts, bare / "model.safetensors")
    found, whole = read_bert(str(bare)), read_bert(str(folder), pool="cls")
    assert found.config.pool == "cls"
    assert found.pretraining is None
    assert found.encoder.keys() == whole.encoder.keys()
    assert all(torch.equal(value, whole.encoder[name]) for name, value in found.encoder.items())
    assert whole.pretraining is not None and not whole.pretraining_config.next_sentence
    with pytest.raises(UserError, match="has no pooler"):
        read_bert(str(bare), pool="pooled")


def test_known_half_precision_is_read_as_float32(
    theirs: Make,
) -> None:
    folder, model = theirs()
    half = {name: value.to(torch.bfloat16) for name, value in load_file(folder / "model.safetensors").items()}
    save_file(half, folder / "model.safetensors")
    found = read_bert(str(folder))
    assert {value.dtype for value in found.encoder.values()} == {torch.float32}
    assert torch.equal(found.encoder["token.weight"], model.bert.embeddings.word_embeddings.weight.bfloat16().float())


def test_known_weights_that_differ_are_not_tied_whatever_the_config_says(
    theirs: Make,
) -> None:
    folder, _ = theirs(tie_word_embeddings=False)
    change(folder / "config.json", tie_word_embeddings=True)
    assert not read_bert(str(folder)).tied
    tensors = load_file(folder / "model.safetensors")
    tensors["cls.predictions.decoder.weight"] = tensors["bert.embeddings.word_embeddings.weight"].clone()
    save_file(tensors, folder / "model.safetensors")
    assert read_bert(str(folder)).tied


def load_there(kind: Any, folder: Path) -> Any:
    model, info = kind.from_pretrained(folder, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"]
    return model.eval()


@pytest.mark.parametrize("tied", [True, False])
def test_parity_a_pretrained_model_is_read_by_transformers(tmp_path: Path, tokenizer: Tokenizer, tied: bool) -> None:
    encoder = tiny.bert()
    head = PretrainingHead(encoder, PretrainingConfig(tied=tied)).eval()
    torch.nn.init.normal_(head.words.decoder.bias)
    write_bert(tmp_path / "out", encoder, pretraining=head, tokenizer=tokenizer)
    model = load_there(BertForPreTraining, tmp_path / "out")
    batch = with_targets(LENGTHS, range(sum(LENGTHS)))
    with torch.no_grad():
        predicted, expected = head(encoder(batch), batch), model(**as_inputs(batch))
    words = torch.cat(sequences(batch, expected.prediction_logits))
    close([predicted["words"], predicted["next"]], [words, expected.seq_relationship_logits], 2e-5)
    assert type(transformers.AutoModel.from_pretrained(tmp_path / "out")) is BertModel


def test_parity_a_bare_encoder_is_read_by_transformers(tmp_path: Path, tokenizer: Tokenizer) -> None:
    encoder, batch = tiny.bert(), tiny.batch(LENGTHS)
    write_bert(tmp_path / "out", encoder, tokenizer=tokenizer)
    model = load_there(BertModel, tmp_path / "out")
    with torch.no_grad():
        state, expected = encoder(batch), model(**as_inputs(batch))
    close([state.vector], [expected.pooler_output])
    close(sequences(batch, state.tokens), sequences(batch, expected.last_hidden_state))


def test_parity_a_classifier_is_read_by_transformers(tmp_path: Path, tokenizer: Tokenizer) -> None:
    encoder = tiny.bert()
    classifier = SequenceHead(16, 3, AffineConfig(dropout=0.25)).eval()
    torch.nn.init.normal_(classifier.output.bias)
    labels = ["entailment", "neutral", "contradiction"]
    write_bert(tmp_path / "out", encoder, classifier=classifier, labels=labels, tokenizer=tokenizer)
    model = load_there(BertForSequenceClassification, tmp_path / "out")
    assert model.config.id2label == dict(enumerate(labels))
    assert model.config.label2id == {label: index for index, label in enumerate(labels)}
    assert (model.config.problem_type, model.dropout.p) == ("single_label_classification", 0.25)
    batch = tiny.batch(LENGTHS)
    with torch.no_grad():
        close([classifier(encoder(batch), batch)["logits"]], [model(**as_inputs(batch)).logits])
    regression = SequenceHead(16, 1, AffineConfig())
    write_bert(tmp_path / "score", encoder, classifier=regression, tokenizer=tokenizer)
    assert load_there(BertForSequenceClassification, tmp_path / "score").config.problem_type == "regression"


@pytest.mark.parametrize("pool", ["pooled", "cls", "mean"])
@pytest.mark.parametrize("heads", ["none", "tied", "untied"])
def test_law_ours_to_theirs_and_back_is_exact(tmp_path: Path, tokenizer: Tokenizer, pool: str, heads: str) -> None:
    encoder = tiny.bert(pool=pool, dropout=0.2, attention_dropout=0.0, norm_eps=1e-6, activation="relu")
    head = None
    if heads != "none":
        settings = PretrainingConfig(tied=heads == "tied", next_sentence=pool == "pooled")
        head = PretrainingHead(encoder, settings)
    write_bert(tmp_path / "out", encoder, pretraining=head, tokenizer=tokenizer)
    found = read_bert(str(tmp_path / "out"))
    assert found.config == encoder.config
    assert (
        found.tokenizer.encode(["the dogs saw 人 é"])[0].tolist() == tokenizer.encode(["the dogs saw 人 é"])[0].tolist()
    )
    assert found.encoder.keys() == encoder.state_dict().keys()
    assert all(torch.equal(value, encoder.state_dict()[name]) for name, value in found.encoder.items())
    if head is None:
        assert found.pretraining is None
        return
    assert found.pretraining is not None
    assert found.tied == (heads == "tied")
    own = {name: value for name, value in head.state_dict().items() if name != "words.decoder.weight" or not found.tied}
    assert found.pretraining.keys() == own.keys()
    assert all(torch.equal(value, own[name]) for name, value in found.pretraining.items())


def test_law_theirs_to_ours_and_back_is_exact(theirs: Make, tmp_path: Path) -> None:
    folder, _ = theirs()
    found = read_bert(str(folder))
    encoder = encoder_of(found)
    write_bert(tmp_path / "back", encoder, pretraining=head_of(found, encoder), tokenizer=found.tokenizer)
    before, after = (load_file(path / "model.safetensors") for path in (folder, tmp_path / "back"))
    assert before.keys() == after.keys()
    assert all(torch.equal(value, after[name]) for name, value in before.items())


def test_known_parts_that_do_not_belong_together(
    theirs: Make,
) -> None:
    folder, _ = theirs()
    tensors = load_file(folder / "model.safetensors")
    save_file(
        tensors | {"bert.embeddings.word_embeddings.weight": torch.zeros(50, 16, dtype=torch.int8)},
        folder / "model.safetensors",
    )
    with pytest.raises(UserError, match="is quantised"):
        read_bert(str(folder))
    save_file(tensors, folder / "model.safetensors")
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS) + "".join(f"w{i}\n" for i in range(40)))
    with pytest.raises(UserError, match="has 55 tokens, the embedding only 50 rows"):
        read_bert(str(folder))
    (folder / "vocab.txt").unlink()
    with pytest.raises(UserError, match="no tokenizer"):
        read_bert(str(folder))


def test_law_a_full_disk_leaves_nothing(tmp_path: Path, tokenizer: Tokenizer) -> None:
    with largest_file(5_000), pytest.raises(UserError, match=r"cannot write .*/out: .*what was there is as it was"):
        write_bert(tmp_path / "out", tiny.bert(), tokenizer=tokenizer)
    assert list(tmp_path.iterdir()) == []


def test_law_every_file_follows_the_umask(tmp_path: Path, tokenizer: Tokenizer) -> None:
    write_bert(tmp_path / "out", tiny.bert(), tokenizer=tokenizer)
    (tmp_path / "other").touch()
    modes = {file.stat().st_mode for file in (tmp_path / "out").rglob("*") if file.is_file()}
    assert modes == {(tmp_path / "other").stat().st_mode}
