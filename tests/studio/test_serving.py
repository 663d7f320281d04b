"""What the studio listens to and lets in; the page itself is tried in test_browser.py."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from psitext.errors import UserError
from psitext.studio import serving
from psitext.studio.serving import Bounded, check_place

pytest.importorskip("gradio", reason="the studio needs gradio")


def test_law_a_port_in_use_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"port {port} of 127.0.0.1 is in use; .*--port"):
            check_place("127.0.0.1", port)
    check_place("127.0.0.1", port)


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host", ""])
def test_law_an_address_of_others_is_refused(host: str) -> None:
    with pytest.raises(UserError, match="no address of this machine"):
        check_place(host, 7860)


def test_law_without_gradio_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'psitext\[web,report\]'"):
        check_place("127.0.0.1", 7860)


@pytest.mark.parametrize(
    ("method", "length", "status"),
    [("GET", None, 200), ("POST", b"99", 200), ("POST", b"101", 413), ("POST", None, 413), ("POST", b"-1", 413)],
)
def test_law_large_requests_are_refused_before_they_are_read(method: str, length: bytes | None, status: int) -> None:
    sent: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200})

    async def receive() -> Any:
        raise AssertionError("the body was read")

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [] if length is None else [(b"content-length", length)]
    asyncio.run(Bounded(app, 100)({"type": "http", "method": method, "headers": headers}, receive, send))
    assert sent[0]["status"] == status
    if status == 413:
        assert b"at most 100 bytes" in sent[1]["body"]
