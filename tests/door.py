"""The command line in a process of its own for every case, at the price of a fork.

A server imports psitext's heavy parts once; every order then runs ``psitext.cli.main`` in a forked child with its own
arguments, folder, standard streams and limits, which ends (or is killed) like any process. Starting an interpreter
and loading torch for each case would take minutes in all; ``real`` does that, for the cases that need it.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

SERVER = """
import gc, json, os, resource, signal, sys, traceback
import psitext.cli, psitext.cli.early, psitext.cli.terminal, psitext.cli.output
import psitext.experiments.run, psitext.experiments.evaluation, psitext.experiments.export
import accelerate.utils.fsdp_utils, scipy.optimize, torch._dynamo, torch.distributed.fsdp, torch.distributed.tensor
from importlib.util import find_spec
if find_spec("qiskit_aer"):
    import psitext.experiments.circuits.training, qiskit.qasm3, qiskit_qasm3_import, qiskit.synthesis
gc.freeze()
for line in sys.stdin:
    order = json.loads(line)
    if "wait" in order:
        pid = order["wait"]
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(code, flush=True)
        continue
    pid = os.fork()
    if pid:
        print(pid, flush=True)
        continue
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(order["cwd"])
    os.environ.update(order["env"])
    for number, name in ((1, order["out"]), (2, order["err"])):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if order["largest"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["largest"],) * 2)
    sys.argv = ["psitext", *order["args"]]
    exec(order["before"])
    code = 1  # what a traceback ends with
    try:
        psitext.cli.main()
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # an interpreter of this size takes longer to take down than most cases take
"""


@dataclass(frozen=True)
class Done:
    """A process that has ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Child:
    """A process at work."""

    pid: int
    out: Path
    err: Path

    def kill(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def wait(self) -> Done:
        code = _ask({"wait": self.pid})
        return Done(code, self.out.read_text(encoding="utf-8"), self.err.read_text(encoding="utf-8"))


def start(
    *args: object, cwd: Path, env: Mapping[str, str] | None = None, largest: int | None = None, before: str = ""
) -> Child:
    """Start ``psitext <args>`` in ``cwd``.

    ``largest`` bounds the bytes of any file, like a disk that is full; ``before`` is code that the process runs
    first.
    """
    stem = Path(_streams().name) / str(time.monotonic_ns())
    out, err = stem.with_suffix(".out"), stem.with_suffix(".err")
    order = {"args": [str(arg) for arg in args], "cwd": str(cwd), "env": dict(env or {}), "largest": largest}
    return Child(_ask(order | {"out": str(out), "err": str(err), "before": before}), out, err)


def run(*args: object, cwd: Path, env: Mapping[str, str] | None = None, largest: int | None = None) -> Done:
    """Run ``psitext <args>`` to its end."""
    return start(*args, cwd=cwd, env=env, largest=largest).wait()


def ranks(count: int, *args: object, cwd: Path, before: str = "") -> list[Child]:
    """Start ``psitext <args>`` in several processes that find each other the way torchrun and accelerate tell them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    meet = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
    places = [{**meet, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(count)]
    return [start(*args, cwd=cwd, env=place, before=before) for place in places]


def real(*args: object, cwd: Path) -> Done:
    """Run ``python -m psitext <args>`` from a fresh interpreter."""
    command = [sys.executable, "-m", "psitext", *map(str, args)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


def until(true: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait for something that another process does."""
    last = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < last, "it never happened"
        time.sleep(0.005)


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content, hidden ones included."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _ask(order: Mapping[str, object]) -> int:
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(order) + "\n")
    server.stdin.flush()
    answer = server.stdout.readline()
    assert answer, "the server has ended"
    return int(answer)


@cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    )
    atexit.register(_end, server)
    return server


def _end(server: subprocess.Popen[str]) -> None:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.close()
    server.wait()
    server.stdout.close()


@cache
def _streams() -> TemporaryDirectory[str]:
    folder = TemporaryDirectory(prefix="psitext-streams-")
    atexit.register(folder.cleanup)
    return folder


def environment() -> dict[str, str]:
    """The environment without a folder of data, so that no case finds any by chance."""
    return {name: value for name, value in os.environ.items() if name not in ("PSITEXT_DATA", "RANK", "WORLD_SIZE")}
