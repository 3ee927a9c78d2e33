"""A translated model: simulate it, and look inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .compile_times import watch_compilation
from .errors import ModelError, SimulationError
from .flat_model import FlatModel
from .impulse import impulsive_start
from .initialization import consistent_start, fully_assigned_start
from .linearize import Linearization, linear_model
from .outputs import Outputs
from .parameters import ParameterValues
from .program import Arguments, Program
from .regularity import check_regular
from .report import report_text
from .result import Result, ResultVariable
from .run import Run, evaluate_only, integrate
from .run_request import ATOL, POINTS, RunRequest, checked_atol
from .run_statistics import RunStatistics
from .signals import Signals, make_signals
from .solvers import Status, consistent_xdot
from .start_problem import StartPoint, StartProblem
from .start_values import resolve_variable, start_values
from .structure_plot import structure_figure
from .transformed_equations import equations_text
from .translation import Translation


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
            One number, or numbers by name for variables in x; `rtol` / 1000 by default.
        progress
            True: a progress bar after a second; False: none; None: one if the output is a terminal.
        start
            "init": the model starts consistently with the `init` values; "impulse": `init` values are left
            limits, and what has to jump does.
        """
        run, program, arguments, point, seconds = self._run(
            RunRequest(
                stop_time,
                start_time,
                params,
                inputs,
                init,
                times,
                rtol,
                atol,
                method,
                linear_solver,
                progress,
                max_steps,
                start,
            )
        )
        result = self._result(program, arguments, point, run, seconds)
        if run.status.failed and run.status is not Status.INTERRUPTED:
            raise SimulationError(f"{self.name}: {run.message}", result)
        return result

    def _run(self, asked: RunRequest) -> tuple[Run, Program, Arguments, StartPoint, dict[str, float]]:
        options = asked.checked()
        with watch_compilation() as initializing:
            signals = make_signals(self.flat, asked.inputs, options.start, options.stop)
            program = self.translation.program(signals)
            arguments = Arguments(self._values.vector(dict(asked.params or {})), signals.data)
            point = self._start(program, signals, arguments, asked.init, options.start, asked.start)
            if program.functions.size:
                self._check_regular(program, signals, arguments, options.start, point)
        if isinstance(asked.atol, Mapping):
            options = replace(options, atol=self._atol_of_x(asked.atol, options.rtol, program))
        with watch_compilation() as integrating:
            if program.functions.size:
                run = integrate(program, signals, arguments, point, options)
            else:
                run = evaluate_only(program, arguments, options)
        compiling = initializing.compiling + integrating.compiling
        self.translation.note_run(run.linear_solver, compiling)
        seconds = {
            "translate": sum(self.translation.seconds.values()),
            "compile": compiling,
            "initialize": initializing.other,
            "integrate": integrating.other,
        }
        return run, program, arguments, point, seconds

    def _check_regular(
        self, program: Program, signals: Signals, arguments: Arguments, t: float, point: StartPoint
    ) -> None:
        """Complain about dependent equations while nothing else is compiled yet."""

        def plain() -> Program:
            return self.translation.plain().program(signals)

        check_regular(program, plain, arguments, t, point.x, point.xdot)

    def _atol_of_x(self, atol: Mapping[str, float], rtol: float, program: Program) -> np.ndarray:
        """Absolute tolerances given by name, as one for each element of x."""
        vector = np.full(max(1, program.functions.size), ATOL * rtol)
        for name, value in atol.items():
            places, _ = self._places(program, name)
            in_x = program.layout.x_of_place[places]
            vector[in_x[in_x >= 0]] = checked_atol(value, rtol)
        return vector

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
        self, program: Program, arguments: Arguments, point: StartPoint, run: Run, seconds: dict[str, float]
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
        if len(run.pieces) > 1 and program.functions.input_order:
            warnings += (
                "an input has jumps or kinks, and the equations contain its derivative: there, "
                "impulses that follow from that derivative are not computed",
            )
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

    def report(self) -> str:
        """What every pass of the translation did, in the names of the model."""
        return report_text(self.name, self.translation)

    def equations(self) -> str:
        """The transformed equations in the notation of the model."""
        translation = self.translation
        return equations_text(translation.structure, translation.result, translation.functions.value_map)

    def structure_plot(self, file: str | None = None) -> Any:
        """A picture of the incidence as written, and of the blocks after sorting; returns the figure."""
        return structure_figure(self.translation, self.name, file)

    def linearize(
        self,
        time: float = 0.0,
        *,
        inputs: Mapping[str, Any] | None = None,
        outputs: Sequence[str] = (),
        start_time: float = 0.0,
        **options: Any,
    ) -> Linearization:
        """A, B, C, D of the linear model at a time of a simulation, or at its start.

        Parameters
        ----------
        time
            When; the model is simulated up to it, with the options of `simulate`. To linearize at another
            point, give it as `init`.
        inputs
            As for `simulate`: what drives the model until then. All of them are inputs of the linear model.
        outputs
            Names of variables.
        """
        time, start_time = float(time), float(start_time)
        if not (np.isfinite(time) and time >= start_time):
            raise ModelError(f"time = {time:g} is before start_time = {start_time:g}, or not finite.")
        signals = make_signals(self.flat, inputs, start_time, max(time, start_time + 1e-300))
        program = self.translation.program(signals)
        arguments = Arguments(self._values.vector(dict(options.get("params") or {})), signals.data)
        if not program.functions.size:
            raise ModelError(f"{self.name} has no states: there is nothing to linearize.")
        if time > start_time:
            asked = RunRequest(time, start_time, inputs=inputs, times=[time], **options)
            run = self._run(asked)[0]
            if run.status is not Status.SUCCESS:
                raise SimulationError(f"{self.name} cannot be linearized at time {time:g}. {run.message}")
            x, xdot = run.pieces[-1].x[-1], run.pieces[-1].xdot[-1]
            xdot = consistent_xdot(program.problem, time, x, arguments, xdot).xdot
        else:
            point = self._start(
                program, signals, arguments, options.get("init"), start_time, options.get("start", "init")
            )
            x, xdot = point.x, point.xdot
        named = {
            entry.name: np.arange(entry.offset, entry.offset + entry.size) for entry in self.flat.inputs
        }
        chosen = {name: self._places(program, name) for name in outputs}
        return linear_model(program, time, x, xdot, arguments, named, chosen)

    def _places(self, program: Program, name: str) -> tuple[np.ndarray, np.ndarray]:
        symbol, order = resolve_variable(self.flat, name)
        where, elements = program.functions.value_map, slice(symbol.offset, symbol.offset + symbol.size)
        if order >= where.orders or (where.place[order][elements] < 0).any():
            raise ModelError(f"{name} is not part of the equations.")
        return where.place[order][elements], where.sign[order][elements].astype(float)

    def __repr__(self) -> str:
        return f"CompiledModel({self.name}: {self.translation.result.form})"
