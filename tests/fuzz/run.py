"""Run a batch in this process, and judge each of its parts."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .judge import Outcome, Verdict, judge_refusal, judge_success, prefixed, worst_of
from .parts import Part, batch_source, single_source

TOLERANCES = (1e-5, 1e-8)
POINTS = 61


def model_class(source: str, name: str, file: str = "<fuzz>") -> Any:
    """The class of that name in the text. The text is kept where tracebacks and messages look for lines."""
    import linecache

    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": "fuzz"}
    exec(compile(source, file, "exec"), namespace)
    return namespace[name]


def run_parts(parts: Sequence[Part], tolerances: Sequence[float] = TOLERANCES) -> list[Verdict]:
    """A verdict for each part. An error ends the run of all of them; what was judged before counts, too."""
    alone = len(parts) == 1
    prefixes = [""] if alone else [f"p{i}." for i in range(len(parts))]
    inputs = {
        prefix + name: f
        for prefix, part in zip(prefixes, parts, strict=True)
        for name, f in part.inputs().items()
    }
    stop_time = parts[0].stop_time
    times = np.linspace(0.0, stop_time, POINTS)
    collected: list[list[Verdict]] = [[] for _ in parts]
    try:
        from modia_py import translate

        source = single_source(parts[0], "Alone") if alone else batch_source(parts)
        model = model_class(source, "Alone" if alone else "Batch")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = translate(model())
            for rtol in tolerances:
                result = compiled.simulate(stop_time, inputs=inputs, times=times, rtol=rtol, progress=False)
                if not result.success:
                    raise RuntimeError(f"simulate returned {result.status}: {result.message}")
                for part, prefix, verdicts in zip(parts, prefixes, collected, strict=True):
                    verdicts.append(
                        judge_success(part, result.time, prefixed(result, prefix), rtol, rtol / 1000)
                    )
    except Exception as error:
        for part, verdicts in zip(parts, collected, strict=True):
            verdict = judge_refusal(part, error)
            if verdict.outcome == Outcome.CRASH:
                trace = traceback.format_exc(limit=-4)
                verdict = Verdict(verdict.outcome, verdict.text + "\n" + trace, verdict.error)
            verdicts.append(verdict)
    return [worst_of(verdicts) for verdicts in collected]
