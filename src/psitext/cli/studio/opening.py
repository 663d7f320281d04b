"""The verb that opens the studio."""

from __future__ import annotations

from typing import Annotated

import typer


def studio(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", help="One of your own: a run, a model folder, or hf:<folder or hub id>; may be repeated."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen at; any other lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65_535, help="The port to listen at.")] = 7860,
) -> None:
    """Open a page on this machine: states, measurements, circuits, writing, neighbours.

    Example: psitext studio --model runs/mine
    """
    from psitext.cli import early
    from psitext.studio.serving import check_place, serve

    check_place(host, port)
    for name in model or ():
        early.model(name)
    serve(model or (), host, port, lambda told: typer.echo(told))


COMMANDS = (studio,)
