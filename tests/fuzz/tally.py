"""The table of a campaign, between two markers of a document."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path

from .campaign import Campaign
from .judge import Outcome

BEGIN, END = "<!-- tally: begin -->", "<!-- tally: end -->"


def table(campaign: Campaign, seed: int, command: str) -> str:
    """Kind by outcome, with what it was made with."""
    import modia_py

    kinds = list(dict.fromkeys(kind for kind, _ in campaign.outcomes))
    counts: Mapping = campaign.outcomes
    head = ["kind", "models", *(str(outcome) for outcome in Outcome), "largest error"]
    rows = []
    for kind in sorted(kinds):
        row = [counts[kind, outcome] for outcome in Outcome]
        error = campaign.largest.get(kind)
        rows.append([kind, sum(row), *row, "" if error is None else f"{error:.2g}"])
    totals = [sum(row[k] for row in rows) for k in range(1, 2 + len(Outcome))]
    rows.append(["all", *totals, ""])
    lines = [
        f"`{command}`, seed {seed}, modia_py {modia_py.__version__}, {datetime.date.today().isoformat()}, "
        f"{campaign.seconds / 60:.0f} minutes; {campaign.alone} of the models ran alone.",
        "",
        *(f"| {' | '.join(str(entry) for entry in row)} |" for row in [head, ["---"] * len(head), *rows]),
    ]
    return "\n".join(lines)


def write(path: Path, text: str) -> None:
    """Put the table between the markers of the document."""
    document = path.read_text()
    if BEGIN not in document or END not in document:
        raise SystemExit(f"{path} has no markers {BEGIN} and {END}")
    before, _, rest = document.partition(BEGIN)
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}")
