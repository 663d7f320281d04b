"""One thread, and as many as before."""

from __future__ import annotations

import pytest
import torch

from psitext.nn.threads import one_thread


def test_known_one_thread_is_given_back() -> None:
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
    with pytest.raises(KeyError), one_thread():
        raise KeyError
    assert torch.get_num_threads() == before, "whatever happens in between"
