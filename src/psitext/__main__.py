"""``python -m psitext`` is the command ``psitext``; launchers of several processes start it this way."""

from __future__ import annotations

import _thread
import signal
import sys
import threading

AGAIN = 0.05  # seconds until an interrupt that was lost is raised again


def main() -> None:
    """Run the command line; Ctrl-C while it is still being loaded ends it in one sentence, like one later on."""
    sys.unraisablehook = _raised_again
    try:
        from psitext.cli import main as command

        command()
    except KeyboardInterrupt:
        print("psitext: interrupted", file=sys.stderr)
        sys.exit(130)


def _raised_again(lost: sys.UnraisableHookArgs) -> None:
    """Ctrl-C that came while some library's ``__del__`` ran, where Python prints what is raised and goes on."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        threading.Timer(AGAIN, _interrupt).start()
    else:
        sys.__unraisablehook__(lost)


def _interrupt() -> None:
    """Interrupt the main thread, where the system can also what it waits for."""
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


if __name__ == "__main__":
    main()
