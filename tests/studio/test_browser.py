"""The studio as people use it: the command in a process, a real browser without a window, every tab, a phone's width,
both themes.

Screenshots go into the test's folder; what they have to show is asked of the page, too.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

CHROMIUM = next((path for path in map(Path, ("/usr/bin/chromium", "/usr/bin/chromium-browser")) if path.exists()), None)
pytest.importorskip("gradio", reason="the studio needs gradio")
playwright = pytest.importorskip("playwright.sync_api", reason="a browser is driven by playwright")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no /usr/bin/chromium on this machine")
WAIT = 120_000  # milliseconds; a busy machine is no failure
AGAIN = 15_000  # after which a button is pressed once more: the page may not have listened yet
NASTY = 'a <img src=x onerror="window.hit=1"> film ${window.hit=2} {{constructor}} `'


@pytest.fixture(scope="module")
def server(models: dict[str, str]) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The studio's address and process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    named = [part for name, path in models.items() if name != "language" for part in ("--model", path)]
    command = [sys.executable, "-m", "psitext", "studio", "--port", str(port), *named]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = f"http://127.0.0.1:{port}"
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith(f"studio: {address}"), line + (process.stderr.read() if process.stderr else "")
        yield address, process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture(params=[(1200, "light"), (390, "dark")], ids=["desk", "phone"])
def page(request: pytest.FixtureRequest, browser: Any, server: tuple[str, Any]) -> Iterator[Any]:
    """A page at one of the widths; it must ask nobody else for anything, and raise no error of its own."""
    width, theme = request.param
    found = browser.new_page(viewport={"width": width, "height": 900})
    asked: list[str] = []
    errors: list[str] = []
    found.on("request", lambda one: asked.append(one.url))
    found.on("pageerror", lambda one: errors.append(str(one)))
    found.set_default_timeout(WAIT)
    found.goto(f"{server[0]}/?__theme={theme}")
    found.wait_for_selector("#states-go")
    yield found
    others = [url for url in asked if not url.startswith((server[0], "data:", "blob:"))]
    assert others == [], "the page asks others"
    assert errors == []
    assert found.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "the page scrolls sideways"
    found.close()


def opened(page: Any, tab: str) -> None:
    page.get_by_role("tab", name=tab, exact=True).click()


def asked(page: Any, name: str, inside: str) -> str:
    """Press a tab's button and wait for the answer; a mistake in its place fails with what it says."""
    either = f"#{name}-shown {inside}, #{name}-shown .psi-mistake"
    page.click(f"#{name}-go")
    try:
        page.wait_for_selector(either, timeout=AGAIN)
    except playwright.TimeoutError:
        page.click(f"#{name}-go")
        page.wait_for_selector(either)
    said = str(page.inner_text(f"#{name}-shown"))
    assert page.locator(f"#{name}-shown .psi-mistake").count() == 0, said
    return said


def box(page: Any, name: str) -> Any:
    return page.locator(f"#{name} textarea, #{name} input").first


def test_smoke_every_tab_answers(page: Any, models: dict[str, str], tmp_path: Path) -> None:
    found = asked(page, "states", "figure svg")
    assert "Fidelities" in found and "Entanglement across qubit cuts" in found
    page.screenshot(path=tmp_path / "states.png", full_page=True)

    opened(page, "Measurement")
    found = asked(page, "measurement", "svg.psi-circuit")
    assert "1,000 shots" in found and "two-qubit gates" in found
    page.screenshot(path=tmp_path / "measurement.png", full_page=True)

    opened(page, "Circuits")
    box(page, "circuits-text").fill("not a fine zebra film")
    found = asked(page, "circuits", "figure svg")
    assert "do not know" not in found and "does not know: zebra" in found
    page.screenshot(path=tmp_path / "circuits.png", full_page=True)

    opened(page, "Writing")
    box(page, "between-start").fill("a girl sits")
    box(page, "between-end").fill("two men sleeps in a bed")
    assert "two men sleeps in a bed" in asked(page, "between", "table")
    opened(page, "Arithmetic")
    for name, text in zip("abc", ("a girl sits", "one boy sits", "a girl is running fast"), strict=True):
        box(page, f"analogy-{name}").fill(text)
    assert "one boy" in asked(page, "analogy", "table")
    opened(page, "Sampling")
    asked(page, "sample", "tbody tr:nth-child(5)")
    page.screenshot(path=tmp_path / "writing.png", full_page=True)

    opened(page, "Neighbours")
    rows = [f"{a} {b} film,{kind}" for kind, a in (("good", "fine"), ("bad", "dull")) for b in ("a", "the", "funny")]
    file = tmp_path / "reviews.csv"
    file.write_text("\n".join(["review,sentiment", *rows]), encoding="utf-8")
    page.set_input_files("#neighbours-file input[type=file]", file)
    page.wait_for_selector("#neighbours-file .file-preview")
    found = asked(page, "neighbours", "svg.psi-plane")
    assert "6 sentences of the column 'review', labels of the column 'sentiment'" in found
    page.screenshot(path=tmp_path / "neighbours.png", full_page=True)
    assert len(list(tmp_path.glob("*.png"))) == 5


def test_law_mistakes_are_sentences_and_what_is_typed_is_only_text(page: Any, tmp_path: Path) -> None:
    box(page, "states-sentences").fill("")
    page.click("#states-go")
    mistake = page.locator("#states-shown .psi-mistake")
    mistake.wait_for()
    assert mistake.inner_text() == "type a sentence at least, one a line"
    assert page.locator(".toast-body").count() == 0 and not page.locator("#states-shown .error").count()
    page.screenshot(path=tmp_path / "mistake.png")
    box(page, "states-sentences").fill(NASTY)
    page.click("#states-go")
    page.wait_for_selector("#states-shown figure svg")
    assert mistake.count() == 0, "an answer takes the place of a mistake"
    page.wait_for_function("s => document.querySelector('#states-shown').innerText.includes(s)", arg=NASTY[:27])
    opened(page, "Neighbours")
    large = tmp_path / "large.txt"
    with large.open("wb") as file:
        file.truncate(30_000_000)
    page.set_input_files("#neighbours-file input[type=file]", large)
    page.wait_for_function(
        "[...document.querySelectorAll('.toast-body')].some(e => /size of 2.0 MB/i.test(e.innerText))"
    )
    page.click("#neighbours-go")
    page.wait_for_function(
        "/no file to read.*at most 2 MB/.test(document.querySelector('#neighbours-shown .psi-mistake')?.innerText)"
    )
    page.wait_for_function("[...document.querySelectorAll('.toast-body')].every(e => e.offsetHeight < 2)")
    binary = tmp_path / "binary.csv"
    binary.write_bytes(bytes(range(256)) * 8)
    page.reload()
    opened(page, "Neighbours")
    page.set_input_files("#neighbours-file input[type=file]", binary)
    page.wait_for_selector("#neighbours-file .file-preview")
    page.click("#neighbours-go")
    page.wait_for_function("/UTF-8|NUL/.test(document.querySelector('#neighbours-shown .psi-mistake')?.innerText)")
    assert page.evaluate("window.hit === undefined"), "what somebody typed was run"


def test_law_the_keyboard_is_enough_and_every_field_has_a_name(page: Any) -> None:
    page.get_by_role("tab", name="States", exact=True).focus()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('#states-go') !== null"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("#states-shown figure svg")
    fields = "[...document.querySelectorAll('input:not([type=file]), textarea')]"
    nameless = f"{fields}.filter(e => !(e.labels?.length || e.ariaLabel)).map(e => e.outerHTML)"
    assert page.evaluate(nameless) == []
    pictures = "[...document.querySelectorAll('.psi figure svg[role=img]')]"
    assert page.evaluate(f"{pictures}.length") >= 2
    assert page.evaluate(f"{pictures}.every(e => e.getAttribute('aria-label').length > 10)")


def test_law_half_a_gigabyte_is_refused_before_it_is_sent(server: tuple[str, subprocess.Popen[str]]) -> None:
    place = urlsplit(server[0])
    with socket.create_connection((place.hostname, place.port), timeout=60) as wire:
        head = "POST /gradio_api/upload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500000000\r\n\r\n"
        wire.sendall(head.encode())
        reply = wire.recv(4_096).decode()
    assert reply.startswith("HTTP/1.1 413"), reply


def test_law_ctrl_c_ends_it_and_nothing_went_wrong(server: tuple[str, subprocess.Popen[str]]) -> None:
    address, process = server
    with urlopen(address) as reply:
        assert reply.status == 200
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.strip() == "the studio has ended"
    assert err == "", f"after {time.monotonic() - began:.0f} s"
