"""Published results of examples of Modelica's library, and how ours are compared with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from modia_py import translate

DATA = Path(__file__).parent / "data" / "modelica"
ALLOWED = 2e-3
"""Of the largest value of a signal, as the library itself compares."""
OF_INTERVAL = 1e-4
"""How far events may be from those of the reference."""


def meets_published_results(name, model, our_names=None, events=True):
    """Simulate a model as the reference of this name was, and assert that all signals and events agree."""
    reference = json.loads((DATA / f"{name}.json").read_text())
    time, stop = np.array(reference["time"]), reference["stop_time"]
    result = translate(model).simulate(stop, times=np.unique([0.0, *time, stop]))
    at = np.searchsorted(result.time, time, side="right") - 1  # behind an event
    np.testing.assert_array_equal(result.time[at], time)
    for signal, values in reference["signals"].items():
        ours = result[(our_names or {}).get(signal, signal)][at].astype(float)
        error = np.abs(ours - values).max()
        assert error <= ALLOWED * reference["largest"][signal], (signal, error)
    found = np.asarray(result.events.time)
    for event in reference["event_times"] if events else ():
        near = np.abs(found - event).min(initial=np.inf)
        assert near <= OF_INTERVAL * stop, f"nothing happens at {event}"
