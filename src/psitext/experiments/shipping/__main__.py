"""``python -m psitext.experiments.shipping``: what ``make models`` runs."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from psitext.errors import UserError
from psitext.experiments.shipping.packing import judge_again, make
from psitext.model.shipped import catalog


def main() -> None:
    """Train what is missing, pack and describe; a mistake is one sentence and exit code 2."""
    parser = argparse.ArgumentParser(prog="psitext.experiments.shipping", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="models of the plan; without any, all")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of the runs")
    named = os.environ.get("PSITEXT_DATA")
    where = "folder that holds books/; without it, the one that PSITEXT_DATA names"
    parser.add_argument("--data-dir", type=Path, default=Path(named) if named else None, help=where)
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the queues' result lines")
    parser.add_argument("--judge", action="store_true", help="put new result lines on the cards, and nothing else")
    given = parser.parse_args()
    try:
        if given.judge:
            judge_again(catalog.FOLDER, given.results, given.names, print)
            return
        make(given.runs, given.data_dir, given.results, given.names, print)
    except UserError as error:
        print(f"psitext: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
