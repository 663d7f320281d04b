"""The studio on a port of this machine: what it listens to, how much it lets in, and how it ends."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from psitext.errors import UserError
from psitext.studio import bounds

QUIET = {"GRADIO_ANALYTICS_ENABLED": "False", "GRADIO_SHARE": "False", "GRADIO_DEBUG": "0"}


class Bounded:
    """An application that lets no request in whose body is larger than it may be, nor one of unknown size."""

    def __init__(self, app: Any, most: int = bounds.BODY_BYTES) -> None:
        self.app, self.most = app, most

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
        """Pass a request on, or answer 413."""
        if scope["type"] == "http" and scope["method"] in ("POST", "PUT", "PATCH"):
            size = dict(scope["headers"]).get(b"content-length", b"")
            if not size.isdigit() or int(size) > self.most:
                told = f"a request to the studio has at most {self.most:,} bytes"
                body = json.dumps({"detail": told}).encode()
                headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
                await send({"type": "http.response.start", "status": 413, "headers": headers})
                await send({"type": "http.response.body", "body": body})
                return
        await self.app(scope, receive, send)


class Layer(NamedTuple):
    """A layer around the application in the form that its framework, Starlette, unpacks."""

    cls: type
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def check_place(host: str, port: int) -> None:
    """Whether the studio may listen there, before anything is loaded. Errors: gradio missing; a port in use or not
    allowed; an address that is not this machine's.
    """
    if find_spec("gradio") is None:
        raise UserError("the studio needs gradio: pip install 'psitext[web,report]'")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as tried:
            if os.name == "posix":  # a port that has just been given up is free; elsewhere the option takes any
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
    except socket.gaierror:
        raise UserError(_strange(host)) from None
    except OSError as error:
        raise UserError(_why(error, host, port)) from None


def open_page(models: Sequence[str], host: str, port: int, folder: str) -> Any:
    """The studio, running in threads of its own; ``.close()`` ends it. Uploads go into ``folder``.

    Errors: as ``check_place`` and ``models.offered``.
    """
    os.environ |= QUIET | {"GRADIO_TEMP_DIR": folder}
    from psitext.model.shipped import names
    from psitext.studio.models import offered
    from psitext.studio.page import build, look

    shelf = offered(models, names())
    page = build(shelf)
    try:
        page.launch(
            server_name=host,
            server_port=port,
            share=False,
            inbrowser=False,
            inline=False,
            quiet=True,
            show_error=False,
            prevent_thread_lock=True,
            footer_links=[],
            run_history=False,
            enable_monitoring=False,
            ssr_mode=False,
            pwa=False,
            mcp_server=False,
            max_file_size=bounds.FILE_BYTES,
            app_kwargs={
                "middleware": [Layer(Bounded, (), {})],
                "docs_url": None,
                "redoc_url": None,
                "openapi_url": None,
            },
            **look(),
        )
    except OSError:  # somebody was faster
        raise UserError(_in_use(host, port)) from None
    return page


def serve(models: Sequence[str], host: str, port: int, said: Callable[[str], None]) -> None:
    """Run until Ctrl-C. Errors: as ``open_page``."""
    check_place(host, port)
    signal.signal(signal.SIGTERM, _interrupted)
    signal.signal(signal.SIGINT, _interrupted)  # a shell's background job would not hear it
    with tempfile.TemporaryDirectory(prefix="psitext-studio-") as folder:
        page = open_page(models, host, port, folder)
        said(f"studio: http://{_reached(host)}:{port} (Ctrl-C ends it)")
        try:
            while page.is_running:
                time.sleep(0.2)
        except KeyboardInterrupt:
            said("the studio has ended")
        finally:
            page.close(verbose=False)


def _interrupted(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _reached(host: str) -> str:
    """Where a browser finds what listens at ``host``."""
    return "127.0.0.1" if host in ("0.0.0.0", "::") else host


def _in_use(host: str, port: int) -> str:
    return f"port {port} of {host} is in use; end what listens there, or name another with --port"


def _strange(host: str) -> str:
    return f"--host {host!r} is no address of this machine; 127.0.0.1 is, for this machine alone"


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return _in_use(host, port)
    if error.errno == errno.EACCES:
        return f"port {port} is for administrators; name one from 1024 on with --port"
    if error.errno == errno.EADDRNOTAVAIL:
        return _strange(host)
    return f"the studio cannot listen at {host}:{port}: {(error.strerror or str(error)).lower()}"
