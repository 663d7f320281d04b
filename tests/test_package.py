"""The front door: what it shows, and how the command ends when its reader or its user has had enough."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import psitext


def start(code: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120, check=False)


def test_law_the_package_shows_its_public_names_only() -> None:
    shown = [name for name in dir(psitext) if not name.startswith("__")]
    assert shown == sorted(psitext.__all__)


INTERRUPTED = """
import sys
class Slow:
    def find_spec(self, name, *rest):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Slow())
from psitext.__main__ import main
main()
"""


def test_known_an_interrupt_while_the_command_is_loaded() -> None:
    done = start(INTERRUPTED)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"psitext: interrupted\n")


# A library's object goes while the signal comes; Python drops what its __del__ raises.
LOST = """
import signal, time
import psitext.cli
signal.signal(signal.SIGINT, signal.default_int_handler)  # what starts in the background ignores it
class Going:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def command():
    del [Going()][0]
    time.sleep(500)
psitext.cli.main = command
from psitext.__main__ import main
main()
"""


def test_known_an_interrupt_that_a_library_swallows_is_none_the_less_one() -> None:
    done = start(LOST)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"psitext: interrupted\n")


# What a library is in the middle of ends in an error of its own, or of ours, when the signal comes.
TURNED = """
import signal
import psitext.cli
from psitext.errors import UserError
signal.signal(signal.SIGINT, signal.default_int_handler)
def app(**given):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise {error} from None
psitext.cli.app = app
psitext.cli.main()
"""


@pytest.mark.parametrize("error", ["UserError('that needs a library')", "AttributeError('no attribute')", "OSError(5)"])
def test_known_an_interrupt_that_becomes_another_error_is_none_the_less_one(error: str) -> None:
    done = start(TURNED.format(error=error))
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"psitext: interrupted\n")
    alone = start(TURNED.format(error=error).replace("signal.raise_signal(signal.SIGINT)", "raise KeyboardInterrupt"))
    assert alone.returncode != 130, "without a signal it is what it says"


FULL = """
import subprocess, sys
command = [sys.executable, "-m", "psitext", "recipes"]
done = subprocess.run(command, stdout=open("/dev/full", "w"), stderr=subprocess.PIPE)
print(done.returncode, done.stderr)
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_known_printing_to_a_full_disk_says_so() -> None:
    assert start(FULL).stdout == b"2 b'psitext: standard output: no space left on device\\n'\n"


READ = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-m", "psitext", *{args!r}], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
child.stdout.close()
print(child.stderr.read(), child.wait())
"""


@pytest.mark.parametrize("args", [["recipes"], ["--help"]])
def test_known_a_reader_that_has_gone_is_no_error(args: list[str]) -> None:
    assert start(READ.format(args=args)).stdout == b"b'' 0\n"
