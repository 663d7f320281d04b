"""Files of a checkpoint: every layout gives the same, damage is named, nothing is executed."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import huggingface_hub
import pytest
import torch
from safetensors.torch import load_file, save_file

from psitext.errors import UserError
from psitext.hf.bert import read_bert
from theirs import Make, assert_same, copy_without_weights


def test_law_the_layout_of_the_files_does_not_matter(theirs: Make, tmp_path: Path) -> None:
    folder, model = theirs()
    sharded, _ = theirs("sharded", shard="5KB")
    assert len(list(sharded.glob("model-*.safetensors"))) > 2
    assert not (sharded / "model.safetensors").exists()
    pickled = copy_without_weights(folder, tmp_path / "pickled")
    torch.save(model.state_dict(), pickled / "pytorch_model.bin")
    first = copy_without_weights(folder, tmp_path / "first")  # as in the first checkpoints
    old = {}
    for name, value in load_file(folder / "model.safetensors").items():
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        old[name] = value
    old["bert.embeddings.position_ids"] = torch.arange(16)[None]
    save_file(old, first / "model.safetensors")
    settings = json.loads((first / "config.json").read_text())
    del settings["model_type"], settings["architectures"]
    (first / "config.json").write_text(json.dumps(settings))
    reference = read_bert(str(folder))
    for other in (sharded, pickled, first):
        assert_same(read_bert(str(other)), reference)


class Harm:
    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return os.mkdir, ("harm",)


def test_known_files_that_are_refused(theirs: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = theirs()
    good = (folder / "model.safetensors").read_bytes()

    def refused(sentence: str, source: Path = folder, **named: str) -> None:
        with pytest.raises(UserError, match=sentence) as caught:
            read_bert(str(source), **named)
        assert "\n" not in str(caught.value)

    refused("there is no folder .*/absent; give an existing one", tmp_path / "absent")
    refused("is a file; give the folder", folder / "config.json")
    refused("no pool called 'men'; did you mean 'mean'", pool="men")
    for size in (0, 4, 100, len(good) - 8):
        (folder / "model.safetensors").write_bytes(good[:size])
        refused(r"model\.safetensors is cut short or damaged")
    (folder / "model.safetensors").unlink()
    (folder / "tf_model.h5").write_bytes(b"x")
    refused(r"holds no weights \(tf_model.h5 is another framework's\); it needs one of: model.safetensors")
    monkeypatch.chdir(tmp_path)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Harm()}))
    refused(r"pytorch_model\.bin is damaged or holds more than tensors")
    torch.save({"a": Harm()}, folder / "pytorch_model.bin")
    refused(r"pytorch_model\.bin is damaged or holds more than tensors")
    assert not (tmp_path / "harm").exists()
    (folder / "pytorch_model.bin").write_bytes(good[:50])
    refused(r"pytorch_model\.bin is damaged")
    torch.save([1, 2], folder / "pytorch_model.bin")
    refused("not a table of tensors by name")
    (folder / "pytorch_model.bin").unlink()
    index = folder / "model.safetensors.index.json"
    for text, sentence in [
        ("{", "index.json is damaged: it is not JSON"),
        ("[]", "index.json is damaged: it holds no JSON object"),
        ("{}", "index.json is damaged: it has no 'weight_map'"),
        ('{"weight_map": {"a": "../a.safetensors"}}', "which is not a file beside it"),
        ('{"weight_map": {"a": "a.safetensors"}}', r"a\.safetensors is missing"),
    ]:
        index.write_text(text)
        refused(sentence)
    save_file({"b": torch.zeros(1)}, folder / "a.safetensors")
    refused("its index lists 'a', which no file holds")
    (folder / "config.json").write_text("{")
    refused(r"config\.json is damaged: it is not JSON")
    (folder / "config.json").unlink()
    refused("holds no config.json, so it is no checkpoint")


def test_known_a_hub_id_that_cannot_be_had() -> None:
    with pytest.raises(UserError, match=r"there is no folder nobody/nothing, and the hub .* cannot be reached"):
        read_bert("nobody/nothing")
    with pytest.raises(UserError, match=r"the hub does not give it: Repo id must"):
        read_bert("-bad-")


def test_law_only_data_is_downloaded(theirs: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = theirs()
    asked: list[tuple[str, list[str]]] = []

    def download(name: str, *, allow_patterns: list[str]) -> str:
        asked.append((name, allow_patterns))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert_same(read_bert("someone/bert"), read_bert(str(folder)))
    assert asked == [("someone/bert", ["*.json", "*.txt", "*.safetensors"])]


def test_law_reading_does_not_need_transformers(
    theirs: Make,
) -> None:
    folder, _ = theirs()
    code = (
        "import sys; from psitext.hf.bert import read_bert; read_bert(sys.argv[1]); "
        "assert 'transformers' not in sys.modules and 'huggingface_hub' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
