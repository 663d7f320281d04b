"""Options that several commands share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

# What is checked before the modules that know it are loaded; a test compares them.
LIFTED = ("qbert", "cvbert")  # what --encoder makes of a BERT
FRESH = ("rac",)  # and what it starts from nothing, by the recipe of that name
LENT = "rac-words"  # the recipe of one that reads another model's words
HEADS = ("affine", "measurement", "modulus")
MAX_INT = 2**63 - 1

Config = Annotated[
    str | None,
    typer.Option("--config", help="A recipe: a name that `psitext recipes` lists, or a TOML file."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="a.b=c", help="Lay one value over the recipe; may be repeated."),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        envvar="PSITEXT_DATA",
        help="Where the data sets of the tasks lie (GLUE folders and such).",
    ),
]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Where the results go.")]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, max=MAX_INT, help="Decides weights, order, masks and dropout.")
]
Text = Annotated[
    str | None,
    typer.Option("--text", help="The column that holds the text: its name, or its number without a header line."),
]
Pair = Annotated[str | None, typer.Option("--pair", help="The column that holds the second text of a pair.")]
Label = Annotated[str | None, typer.Option("--label", help="The column that holds the label.")]

# What a finished model is scored on.
Task = Annotated[str | None, typer.Option("--task", help="A task; without it, the one the model was trained for.")]
Splits = Annotated[
    list[str] | None,
    typer.Option("--split", help="A split of the task; may be repeated.", show_default="every dev split"),
]
Split = Annotated[str | None, typer.Option("--split", help="A split of the task; without it, every dev split.")]
Data = Annotated[str | None, typer.Option("--data", help="A labelled file of your own.")]


def columns_given(text: str | None, pair: str | None, label: str | None) -> dict[str, str]:
    """The columns of a file that the options name. Errors: one that two of them name."""
    from psitext.text.cells.columns import check_apart

    named = {"text": text, "pair": pair, "label": label}
    check_apart(named)
    return {option: name for option, name in named.items() if name is not None}


ModelName = Annotated[
    str,
    typer.Option("--model", "-m", help="A run, a model folder, a name of `psitext models`, or hf:<folder or hub id>."),
]
TensorBoard = Annotated[
    bool, typer.Option("--tensorboard", help="Write TensorBoard's event files into the run's folder too.")
]


class Once(TyperCommand):
    """A command of which no option is given twice, but for those that may be repeated: one value would be dropped."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as ever. Errors: an option that is given twice."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        options: list[Any] = [one for one in given if one.param_type_name == "option"]
        single = [one for one in options if not one.is_flag and not one.multiple]
        twice = next((one for one in single if single.count(one) > 1), None)
        if twice is not None:
            ctx.fail(f"option {twice.opts[0]} is given twice, and takes one value")
        return super().parse_args(ctx, args)
