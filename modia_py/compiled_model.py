"""A translated model: simulate it, and look inside."""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Mapping
from typing import Any

import numpy as np

from .errors import ModelError, SimulationError
from .flat_model import FlatModel
from .impulse import impulsive_start
from .initialization import consistent_start, fully_assigned_start
from .outputs import Outputs
from .parameters import ParameterValues
from .program import Arguments, Program
from .result import Result, ResultVariable
from .run import Run, RunOptions, evaluate_only, integrate
from .run_statistics import RunStatistics
from .signals import Signals, make_signals
from .solvers import Status
from .start_problem import StartPoint, StartProblem
from .start_values import start_values
from .translation import Translation

POINTS = 501
"""Times of output if nothing else is asked for."""
ATOL = 1e-3
"""Absolute tolerance, compared with the relative one, if it is not given."""
METHODS = ("bdf",)
STARTS = ("init", "impulse")
LINEAR_SOLVERS = ("auto", "dense", "klu", "superlu", "cholmod")


class CompiledModel:
    """A model in its special index-1 form, ready to be simulated again and again.

    What is compiled is kept: other parameters, start values, tables, times and tolerances compile
    nothing.
    """

    def __init__(self, flat: FlatModel, translation: Translation):
        self.flat, self.translation = flat, translation
        self._values = ParameterValues(flat)

    @property
    def name(self) -> str:
        return self.flat.name

    @property
    def structure(self) -> Any:
        """The result of the structural passes."""
        return self.translation.result

    def simulate(
        self,
        stop_time: float,
        *,
        start_time: float = 0.0,
        params: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        init: Mapping[str, Any] | None = None,
        times: int | Any = POINTS,
        rtol: float = 1e-6,
        atol: Any = None,
        method: str = "bdf",
        linear_solver: str = "auto",
        progress: bool | None = None,
        max_steps: int = 1_000_000,
        start: str = "init",
    ) -> Result:
        """Simulate from `start_time` to `stop_time`.

        Parameters
        ----------
        params, init
            Values by dotted name, scalars or arrays, in place of the declared ones. `init` may name a
            derivative, too: `{"der(s)": 1.0}`.
        inputs
            For each `Input` a function of time, a table `(times, values)` or `(times, values,
            interpolation)` with "linear", "previous", "cubic" or "akima", or a constant.
        times
            A number of equidistant times of output, or the times themselves.
        atol
            One number, or a dictionary by name; `rtol` / 1000 by default.
        progress
            True: a progress bar after a second; False: none; None: one if the output is a terminal.
        start
            "init": the model starts consistently with the `init` values; "impulse": `init` values are left
            limits, and what has to jump does.
        """
        options = self._options(
            stop_time, start_time, times, rtol, atol, method, linear_solver, progress, max_steps, start
        )
        began = clock.perf_counter()
        signals = make_signals(self.flat, inputs, options.start, options.stop)
        program = self.translation.program(signals)
        arguments = Arguments(self._values.vector(dict(params or {})), signals.data)
        point = self._start(program, signals, arguments, init, options.start, start)
        initialized = clock.perf_counter() - began
        if program.functions.size:
            run = integrate(program, signals, arguments, point, options)
        else:
            run = evaluate_only(program, arguments, options)
        result = self._result(program, arguments, point, run, initialized)
        if run.status.failed and run.status is not Status.INTERRUPTED:
            raise SimulationError(f"{self.name}: {run.message}", result)
        return result

    def _options(
        self,
        stop_time: float,
        start_time: float,
        times: Any,
        rtol: float,
        atol: Any,
        method: str,
        linear_solver: str,
        progress: bool | None,
        max_steps: int,
        start: str,
    ) -> RunOptions:
        for word, value, known in (
            ("method", method, METHODS),
            ("linear_solver", linear_solver, LINEAR_SOLVERS),
            ("start", start, STARTS),
        ):
            if value not in known:
                raise ModelError(f"There is no {word} {value!r}; there {_are(known)}.")
        for word, number in (("start_time", start_time), ("stop_time", stop_time), ("rtol", rtol)):
            if not isinstance(number, (int, float, np.number)) or not np.isfinite(number):
                raise ModelError(f"{word} must be a finite number, not {number!r}.")
        if stop_time <= start_time:
            raise ModelError(f"stop_time = {stop_time:g} is not after start_time = {start_time:g}.")
        if not 1e-14 <= rtol <= 0.1:
            raise ModelError(f"rtol = {rtol:g} is not between 1e-14 and 0.1.")
        if not isinstance(max_steps, (int, np.integer)) or max_steps < 1:
            raise ModelError(f"max_steps must be a positive integer, not {max_steps!r}.")
        if progress is None:
            progress = sys.stderr.isatty()
        return RunOptions(
            float(start_time),
            float(stop_time),
            _times(times, float(start_time), float(stop_time)),
            float(rtol),
            self._atol(atol, rtol),
            int(max_steps),
            linear_solver,
            bool(progress),
        )

    def _atol(self, atol: Any, rtol: float) -> Any:
        if atol is None:
            return ATOL * rtol
        try:
            value = float(atol)
        except (TypeError, ValueError):
            raise ModelError(f"atol must be a number, not {atol!r}.") from None
        if not (np.isfinite(value) and value > 0):
            raise ModelError(f"atol must be positive and finite, not {atol!r}.")
        return value

    def _start(
        self,
        program: Program,
        signals: Signals,
        arguments: Arguments,
        init: Mapping[str, Any] | None,
        t: float,
        how: str,
    ) -> StartPoint:
        own = program if how == "init" else self.translation.plain().program(signals)
        where = own.functions.value_map
        given = start_values(self._values, arguments.p, "init", init, where)
        guess = start_values(self._values, arguments.p, "guess", None, where)
        problem = StartProblem(own, given, guess, arguments, t)
        if not own.functions.size:
            return fully_assigned_start(problem)
        return consistent_start(problem) if how == "init" else impulsive_start(problem, program)

    def _result(
        self, program: Program, arguments: Arguments, point: StartPoint, run: Run, initialized: float
    ) -> Result:
        flat = self.flat
        outputs = Outputs(flat, program, run.pieces)
        variables = {
            symbol.name: ResultVariable(
                symbol.name,
                symbol.shape,
                len(symbol.lead),
                symbol.symbol.unit,
                symbol.symbol.doc,
                tuple(k for k, (_, is_array) in enumerate(symbol.symbol.segments()) if is_array),
            )
            for symbol in (*flat.variables, *flat.inputs)
        }
        vector = np.asarray(arguments.p)
        parameters = {
            p.name: vector[p.offset : p.offset + p.size].reshape(p.shape) for p in flat.parameters
        }
        warnings = tuple(self.translation.result.simplified.warnings())
        seconds = {
            "translate": sum(self.translation.seconds.values()),
            "initialize": initialized,
            "integrate": run.seconds,
        }
        return Result(
            self.name,
            np.concatenate([np.zeros(0), *(piece.t for piece in run.pieces)]),
            variables,
            outputs.read,
            parameters=parameters,
            stats=RunStatistics(run.work, run.linear_solver, run.multipliers, seconds),
            status=run.status,
            message=run.message,
            notes=warnings + point.notes,
        )

    def __repr__(self) -> str:
        return f"CompiledModel({self.name}: {self.translation.result.form})"


def _times(times: Any, start: float, stop: float) -> np.ndarray:
    if isinstance(times, (int, np.integer)) and not isinstance(times, bool):
        if times < 2:
            raise ModelError(f"times = {times}: output needs two points at least.")
        return np.linspace(start, stop, int(times))
    try:
        array = np.atleast_1d(np.asarray(times, float))
    except (TypeError, ValueError):
        raise ModelError(f"times is a number of points or an array of times, not {times!r}.") from None
    if array.ndim != 1 or not len(array) or not np.all(np.isfinite(array)) or np.any(np.diff(array) <= 0):
        raise ModelError("times must be finite and increase.")
    if array[0] < start or array[-1] > stop:
        raise ModelError(
            f"times go from {array[0]:g} to {array[-1]:g}, the simulation from {start:g} to {stop:g}."
        )
    return array


def _are(known: tuple[str, ...]) -> str:
    return f"is {known[0]!r}" if len(known) == 1 else f"are {', '.join(map(repr, known))}"
