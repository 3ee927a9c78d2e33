"""A steady state by names: values, whether it is stable, and where a run may begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.index1 import Slot
from ..errors import ModelError, SimulationError
from ..interruptions import Interruptible, check_process
from ..results.result import Result
from ..simulation.certificate import certify, violation_text
from ..simulation.outputs import Outputs
from ..simulation.request import RunRequest
from ..simulation.run import Run, RunOptions
from ..solvers import Statistics, Status
from ..start.problem import StartPoint
from .steady_search import Found, find_steady, held_inputs


@dataclass(frozen=True, eq=False, repr=False)
class SteadyState:
    """Values of all variables where all derivatives are zero: `CompiledModel.steady_state` makes it.

    `state["s"]` is a value, without an axis of time; elements and derivatives are named as in a `Result`.

    Attributes
    ----------
    model : str
        The name of the model.
    result : Result
        The values as a result with one time, and the certificate that the equations hold.
    start_values : dict
        Values of the variables that a run begins with: `sim.simulate(..., init=state.start_values)` stays
        there.
    eigenvalues : array or None
        Of the linear model around it, the slowest first; None for models with more than 500 unknowns.
    is_stable : bool or None
        Whether small deviations do not grow.

    Examples
    --------
    >>> from modia_py import translate
    >>> from modia_py.models.examples import SlidingMass
    >>> state = translate(SlidingMass()).steady_state()
    >>> round(float(state["s"]), 6), state.is_stable
    (-0.007848, True)
    """

    model: str
    result: Result
    start_values: dict[str, np.ndarray]
    eigenvalues: np.ndarray | None
    is_stable: bool | None

    def __getitem__(self, name: str) -> Any:
        return self.result.final(name)

    def __repr__(self) -> str:
        word = {None: "", True: ", stable", False: ", unstable"}[self.is_stable]
        return f"SteadyState({self.model}: {len(self.result.names)} variables{word})"


def steady_state(
    sim: Any, asked: RunRequest, fixed: Mapping[str, Any] | None, settle: float | None, prefer_stable: bool
) -> SteadyState:
    """See `CompiledModel.steady_state`."""
    check_process()
    if settle is not None and not (np.isfinite(settle) and settle > 0):
        raise ModelError(f"settle = {settle!r}: the seconds of a run are positive.")
    options = asked.checked()
    with Interruptible(f"The search for a steady state of {sim.name}"):
        sim._renew()
        asked = RunRequest(**{**asked.__dict__, "inputs": held_inputs(sim, asked.inputs, options.start)})
        found = find_steady(sim, asked, fixed or {}, settle, prefer_stable)
        return _described(sim, found, options)


def _described(sim: Any, found: Found, options: RunOptions) -> SteadyState:
    program, span = found.system.program, found.span
    outputs = Outputs(sim.flat, program, [span])
    certificate = certify(program, outputs, Statistics(), sim._tolerances(program, options))
    message = "" if certificate.holds else violation_text(certificate, outputs)
    status = Status.SUCCESS if certificate.holds else Status.VIOLATED
    run = Run(
        [span], status, message or "The model is at rest.", Statistics(), "steady state", "none is needed",
        {}, 0.0, outputs=outputs, certificate=certificate, options=options, end=found.t,
    )  # fmt: skip
    notes = ("it is unstable: small deviations grow",) if found.is_stable is False else ()
    point = StartPoint(span.x[0], span.xdot[0], notes)
    result = sim._result(program, found.arguments, point, run, {})
    if not certificate.holds:
        raise SimulationError(f"{sim.name}: {Status.VIOLATED.advice} {message}", result)
    starts = _start_values(sim, found, result)
    return SteadyState(sim.name, result, starts, found.eigenvalues, found.is_stable)


def _start_values(sim: Any, found: Found, result: Result) -> dict[str, np.ndarray]:
    """Whole variables of which an element, or a derivative, is a state."""
    program = found.system.program
    is_state = np.append(program.layout.kind == Slot.STATE, False)
    where, values = program.functions.value_map, {}
    for variable in sim.flat.variables:
        own = slice(variable.offset, variable.offset + variable.size)
        if is_state[program.layout.x_of_place[where.place[0][own]]].any():
            values[variable.name] = np.asarray(result.final(variable.name))
    return values
