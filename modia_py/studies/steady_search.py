"""The search for a steady state: Newton's method from a start, and where that fails from a run.

A run is what the model does of its own: it goes where the model settles, if it does. Newton's method is
tried from its end. Discrete values are those of the start, or of the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..errors import ModelError, SimulationError
from ..inspection.linearize import linear_model
from ..program.program import Arguments
from ..program.row_names import row_name
from ..program.signals import Signals, make_signals
from ..simulation.event_data import with_event_data
from ..simulation.missed_events import missed_event
from ..simulation.outputs import Span
from ..simulation.request import RunRequest
from ..solvers import Status
from ..solvers.roots.nearest import NearestRoot
from ..start.events import with_rows_of_mode
from ..start.values import element_name
from .steady_system import SteadySystem, make_system

SETTLE = 1e6
"""Seconds after which a model has settled, if it does; the run ends with its steps, if not."""
SETTLING_STEPS = 20_000
RUN_TIMES, SHORTEST = 401, 1e-12
NUDGE = 0.1
SETTLING_RTOL = 1e-5
LISTED = 8
MOST_EIGENVALUES = 500
"""Unknowns up to which the eigenvalues are computed."""
GROWS = 1e-9
"""An eigenvalue whose real part is above this part of the largest one grows."""


@dataclass(frozen=True, eq=False)
class Found:
    """A steady state, with all that is needed to look at it."""

    system: SteadySystem
    signals: Signals
    t: float
    z: np.ndarray
    arguments: Arguments

    @cached_property
    def eigenvalues(self) -> np.ndarray | None:
        """Of the linear model around it; None if it has none, or is too large."""
        program, span = self.system.program, self.span
        if program.functions.size > MOST_EIGENVALUES:
            return None
        try:
            linear = linear_model(program, self.t, span.x[0], span.xdot[0], self.arguments, {}, {})
        except (ModelError, SimulationError):
            return None
        return linear.eigenvalues() if len(linear.states) else np.zeros(0)

    @property
    def is_stable(self) -> bool | None:
        """Whether small deviations do not grow; None if that is not known."""
        if self.eigenvalues is None:
            return None
        largest = np.abs(self.eigenvalues).max(initial=0.0)
        return bool(np.all(self.eigenvalues.real <= GROWS * largest))

    @property
    def span(self) -> Span:
        """It as a run of one time."""
        x, xdot = (np.asarray(part)[None] for part in self.system.split(self.z))
        program, d = self.system.program, None
        if program.events is not None:
            d = np.asarray(program.events.discretes(self.arguments.p))[None]
        return Span(np.array([self.t]), x, xdot, np.zeros(1), self.arguments, None, d)


def held_inputs(sim: Any, inputs: Mapping[str, Any] | None, t: float) -> dict[str, np.ndarray]:
    """All inputs as constants: their values at a time."""
    signals = make_signals(sim.flat, inputs, t, t + 1.0)
    return {
        signal.entry.name: np.broadcast_to(
            np.asarray(signal.function(jnp.asarray(t), signal.data)), signal.entry.shape
        )
        for signal in signals.each
    }


def find_steady(
    sim: Any, asked: RunRequest, fixed: Mapping[str, Any], settle: float | None, prefer_stable: bool
) -> Found:
    """A steady state for what is asked, whose inputs are constants; or an error that says why not."""
    sim._renew()
    t = float(asked.start_time)
    signals = make_signals(sim.flat, asked.inputs, t, t + 1.0)
    program = sim.translation.program(signals)
    if not program.functions.size:
        raise ModelError(f"{sim.name} has no states: it is always steady.")
    system, values = make_system(sim, program, fixed)
    failures: list[str] = []
    unstable: list[Found] = []
    for z, arguments in _beginnings(sim, asked, system, signals, settle, failures):
        root = system.solve(z, t, arguments, values)
        x, xdot = (np.asarray(part) for part in system.split(root.z))
        arguments = with_rows_of_mode(program, t, x, xdot, arguments)
        found = Found(system, signals, t, root.z, arguments)
        wrong = _why_not(found, root)
        if wrong is not None:
            failures.append(wrong)
        elif not prefer_stable or found.is_stable is not False:
            return found
        else:
            unstable.append(found)
    if unstable:
        return unstable[0]
    raise SimulationError(
        f"No steady state of {sim.name} was found: " + "\nor: ".join(dict.fromkeys(failures))
    )


def _beginnings(
    sim: Any, asked: RunRequest, system: SteadySystem, signals: Signals, settle: float | None,
    failures: list[str],
) -> Iterator[tuple[np.ndarray, Arguments]]:  # fmt: skip
    """Points from which to look, one after the other."""
    if settle is None:
        z, arguments = _from_start(sim, asked, system, signals, failures)
        yield z, arguments
        # At the very start the matrix may be singular: a pendulum that is held horizontally.
        yield z + NUDGE * (1.0 + np.abs(z)) * np.sin(1.0 + np.arange(len(z))), arguments
    try:
        yield from _from_run(sim, asked, system, settle)
    except SimulationError as error:
        failures.append(str(error))


def _from_start(
    sim: Any, asked: RunRequest, system: SteadySystem, signals: Signals, failures: list[str]
) -> tuple[np.ndarray, Arguments]:
    """The start of a run; where there is none, what it would be looked for from."""
    program = system.program
    options = replace(asked, stop_time=asked.start_time + 1.0).checked()
    arguments = Arguments(sim._values.vector(dict(asked.params or {}), asked.init), signals.data)
    try:
        point, arguments = sim._whole_start(program, signals, arguments, asked, options)
        return system.joined(point.x, point.xdot), arguments
    except SimulationError as error:
        failures.append(str(error))
    if program.events is not None:
        arguments = with_event_data(program, arguments, options)
    problem = sim._start_problem(program, arguments, asked.starts, options.start, None)
    return system.joined(*np.split(problem.z_guess, 2)), problem.arguments


def _from_run(
    sim: Any, asked: RunRequest, system: SteadySystem, settle: float | None
) -> Iterator[tuple[np.ndarray, Arguments]]:
    """The end of a run; and its mean, which is where what oscillates would come to rest."""
    seconds = SETTLE if settle is None else settle
    stop = asked.start_time + seconds
    # It may not get far: times of all sizes.
    times = asked.start_time + np.append(0.0, np.geomspace(SHORTEST * seconds, seconds, RUN_TIMES))
    rtol = max(asked.rtol, SETTLING_RTOL)
    run, program, arguments, _, _ = sim._run(
        replace(asked, stop_time=stop, times=np.minimum(times, stop), rtol=rtol, max_steps=SETTLING_STEPS)
    )
    if run.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    (span,) = run.spans
    x, xdot = span.x[-1], span.xdot[-1]
    if program.events is not None:
        arguments = program.with_discretes(arguments, span.discretes[-1])
        arguments = with_rows_of_mode(program, asked.start_time, x, xdot, arguments)
    yield system.joined(x, xdot), arguments
    half = len(span.t) // 2
    yield system.joined(span.x[half:].mean(axis=0), span.xdot[half:].mean(axis=0)), arguments


def _why_not(found: Found, root: NearestRoot) -> str | None:
    """What is wrong with a root; None if it is a steady state."""
    system, program = found.system, found.system.program
    free, equations = system.free(root) if root.finite else ([], [])
    depend = f" These equations depend on each other there: {_listed(equations)}." if equations else ""
    if not root.satisfied:
        rows = [
            row_name(program, int(row)) if row < len(root.z) else "what is fixed"
            for row in root.unsatisfied[:LISTED]
        ]
        never = f" Nothing holds {_listed(free)}, which may go on for ever.{depend}" if free else ""
        return f"with all derivatives zero these equations do not hold: {_listed(rows)}.{never}"
    if free:
        return (
            f"the steady state is not unique: nothing determines {_listed(free)}.{depend} Say at which "
            f"value with fixed={{name: value}}, or add an equation."
        )
    x, xdot = system.split(root.z)
    w = np.asarray(program.values(found.t, x, xdot, found.arguments))
    moving = system.moving(w)
    if moving:
        flat, where = program.structure.flat, program.functions.value_map
        names = [f"{element_name(flat, k, order)} = {w[where.place[order][k]]:.3g}" for order, k in moving]
        return f"the model is driven by the time; these are not zero: {_listed(names)}."
    missed = missed_event(program, [found.span])
    if missed is not None:
        return (
            "with the discrete values from there, a relation is on the wrong side: "
            f"{missed.text(program).splitlines()[1].strip()}."
        )
    return None


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
