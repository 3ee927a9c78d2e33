"""The command: `python -m tests.fuzz --models 3000 --seed 1`. Ends with 1 if anything was wrong."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .campaign import SHARES, Campaign, Label, plan
from .parts import single_source
from .tally import table, write


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first model of each kind")
    parser.add_argument("--kind", choices=list(SHARES), action="append", help="only these kinds")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=60.0, help="no batch is started after that")
    parser.add_argument(
        "--alone", type=float, default=0.2, help="share of structures that also run by themselves"
    )
    parser.add_argument("--tally", type=Path, help="document that the table is written into")
    parser.add_argument(
        "--show", type=int, metavar="NUMBER", help="print one model of the kind, and run nothing"
    )
    options = parser.parse_args()
    kinds = options.kind or list(SHARES)
    if options.show is not None:
        print(single_source(Label(kinds[0], options.seed, options.show).part()))
        return 0
    jobs = plan(kinds, options.models, options.seed, options.alone, options.first)
    models = sum(len(job) for job in jobs)
    alone = sum(len(job) == 1 for job in jobs)
    print(f"{models} models in {len(jobs)} runs, {alone} of them of one model, seed {options.seed}")
    campaign = Campaign(report=lambda text: print(text, flush=True))
    campaign.run(jobs, options.processes, options.minutes)
    text = table(
        campaign, options.seed, f"python -m tests.fuzz --models {options.models} --seed {options.seed}"
    )
    print(text)
    if options.tally:
        write(options.tally, text)
    return 1 if campaign.bad else 0


if __name__ == "__main__":
    sys.exit(main())
