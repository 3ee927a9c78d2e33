"""A translated model: simulate it, and look inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .errors import ModelError, SimulationError, SimulationInterrupted
from .inspection.linearize import Linearization, linear_model
from .inspection.report import report_text
from .inspection.structure_plot import structure_figure
from .inspection.transformed_equations import equations_text
from .interruptions import Interruptible, check_process
from .language.flat_model import FlatModel
from .language.function_renewal import functions_of, with_current_functions
from .lowering.parameters import ParameterValues
from .program.program import Arguments, Program
from .program.run_plan import make_plan
from .program.signals import Signals, make_signals
from .program.translation import Translation
from .results.result import Result, ResultVariable
from .results.statistics import RunStatistics
from .simulation.certificate import OutputTolerances, certify, violation_text
from .simulation.compile_times import watch_compilation
from .simulation.nominal_values import below_tolerance, nominal_of_x
from .simulation.outputs import Outputs
from .simulation.polished_output import polished
from .simulation.request import ATOL, POINTS, RunRequest, checked_atol
from .simulation.run import Run, RunOptions, evaluate_only, integrate
from .solvers import Status, consistent_xdot
from .start.consistent import consistent_start, fully_assigned_start
from .start.errors import NoStartFound
from .start.impulse import impulsive_start, in_other_form
from .start.problem import StartPoint, StartProblem, slow_start_report
from .start.regularity import check_regular
from .start.values import StartValues, resolve_variable, start_values


class CompiledModel:
    """A model in its special index-1 form, ready to be simulated again and again.

    What is compiled is kept: other parameters, start values, tables, times and tolerances compile
    nothing.
    """

    def __init__(
        self, flat: FlatModel, translation: Translation, retranslate: Callable[[FlatModel], Translation]
    ):
        self._retranslate = retranslate
        self._use(flat, translation)

    def _use(self, flat: FlatModel, translation: Translation) -> None:
        self.flat, self.translation = flat, translation
        self._values = ParameterValues(flat)
        self._has_nominal = any(variable.symbol.nominal is not None for variable in flat.variables)
        self._functions = functions_of(flat)

    def _renew(self) -> None:
        """Look at what the functions of the user do now, and translate anew if that is something else."""
        if self._functions:
            flat = with_current_functions(self.flat, self._functions)
            if flat is not self.flat:
                self._use(flat, self._retranslate(flat))

    @property
    def name(self) -> str:
        return self.flat.name

    @property
    def structure(self) -> Any:
        """The result of the structural passes."""
        return self.translation.transformed

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
            For each `Input` a function of time, `(function, breaks)` with the times at which it or a
            derivative of it jumps, a table `(times, values)` or `(times, values, interpolation)` with
            "linear", "previous", "cubic" or "akima", or a constant.
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
        asked = RunRequest(
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
        check_process()
        with Interruptible(f"The simulation of {self.name}") as reached:
            run, program, arguments, point, seconds = self._run(asked)
            result = reached.result = self._result(program, arguments, point, run, seconds)
            if run.status is Status.INTERRUPTED:
                raise SimulationInterrupted(f"{self.name}: {run.message}", result)
        if run.status.failed:
            raise SimulationError(f"{self.name}: {run.message}", result)
        return result

    def _run(self, asked: RunRequest) -> tuple[Run, Program, Arguments, StartPoint, dict[str, float]]:
        options = asked.checked()
        self._renew()
        with watch_compilation() as initializing:
            signals = make_signals(self.flat, asked.inputs, options.start, options.stop)
            program = self.translation.program(signals)
            arguments = Arguments(self._values.vector(dict(asked.params or {})), signals.data)
            plan = make_plan(program, signals, arguments, options.start, options.stop)
            report = slow_start_report() if options.progress else None
            point = self._start(program, signals, arguments, asked.init, options.start, asked.start, report)
            if program.functions.size:
                self._check_regular(program, signals, arguments, options.start, point)
        if isinstance(asked.atol, Mapping) or (asked.atol is None and self._has_nominal):
            options = replace(options, atol=self._atol_of_x(asked.atol or {}, options.rtol, program))
        with watch_compilation() as integrating:
            if program.functions.size:
                run = integrate(program, arguments, point, options, plan)
            else:
                run = evaluate_only(program, arguments, options, plan)
        with watch_compilation() as checking:
            run = self._certified(program, run, options)

        def init() -> StartValues:
            return start_values(self._values, arguments.p, "init", asked.init, program.functions.value_map)

        small = below_tolerance(self.flat, program, run.spans, options, init)
        point = replace(point, notes=(*point.notes, *plan.notes, *run.notes, *small))
        compiling = initializing.compiling + integrating.compiling + checking.compiling
        self.translation.note_run(run.linear_solver, compiling)
        seconds = {
            "translate": sum(self.translation.seconds.values()),
            "compile": compiling,
            "initialize": initializing.other,
            "integrate": integrating.other,
            "check": checking.other,
        }
        return run, program, arguments, point, seconds

    def _certified(self, program: Program, run: Run, options: RunOptions) -> Run:
        """Output made consistent, and the run with what is known of it; failed if equations do not hold."""
        spans, unresolved, notes = polished(
            program, run.spans, run.work, options.rtol, options.atol, options.linear_solver
        )
        outputs = Outputs(self.flat, program, spans)
        run = replace(run, spans=spans, outputs=outputs, notes=notes)
        if run.status.failed:
            return run
        if unresolved is not None:
            message = f"{Status.VIOLATED.advice} {unresolved.text(program)}"
            return replace(run, status=Status.VIOLATED, message=message)
        certificate = certify(program, outputs, run.work, self._tolerances(program, options))
        run = replace(run, certificate=certificate)
        if certificate.holds:
            return run
        text = violation_text(certificate, outputs)
        return replace(run, status=Status.VIOLATED, message=f"{Status.VIOLATED.advice} {text}")

    def _tolerances(self, program: Program, options: RunOptions) -> OutputTolerances:
        """For every element of the variables: that of x where it stands in x."""
        where = program.functions.value_map
        atol = np.full(self.flat.unknowns, ATOL * options.rtol)
        if np.ndim(options.atol) == 0:
            atol[:] = options.atol
        else:
            in_x = program.layout.x_of_place[where.place[0]]
            atol[in_x >= 0] = np.asarray(options.atol)[in_x[in_x >= 0]]
        return OutputTolerances(options.rtol, atol)

    def _check_regular(
        self, program: Program, signals: Signals, arguments: Arguments, t: float, point: StartPoint
    ) -> None:
        """Complain about dependent equations while nothing else is compiled yet."""

        def plain() -> Program:
            return self.translation.plain().program(signals)

        check_regular(program, plain, arguments, t, point.x, point.xdot)

    def _atol_of_x(self, atol: Mapping[str, float], rtol: float, program: Program) -> np.ndarray:
        """One absolute tolerance for each element of x: given by name, or from nominal values."""
        vector = ATOL * rtol * nominal_of_x(self.flat, program)
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
        report: Callable[[str], None] | None = None,
    ) -> StartPoint:
        plain = how != "init"
        own = self.translation.plain().program(signals) if plain else program
        problem = self._start_problem(own, arguments, init, t, report)
        if not own.functions.size:
            return fully_assigned_start(problem)
        if plain:
            return impulsive_start(problem, program)
        try:
            return consistent_start(problem)
        except NoStartFound as failure:
            # Assignments put into each other can make of mild equations a steep one.
            own = self.translation.plain().program(signals)
            if own is program:
                raise
            try:
                problem = self._start_problem(own, arguments, init, t, report)
                found = consistent_start(problem)
                x, xdot = in_other_form(own, program, problem, found.x, found.xdot)
            except SimulationError:
                raise failure from None
            return StartPoint(x, xdot, found.notes)

    def _start_problem(
        self,
        program: Program,
        arguments: Arguments,
        init: Mapping[str, Any] | None,
        t: float,
        report: Callable[[str], None] | None,
    ) -> StartProblem:
        where = program.functions.value_map
        given = start_values(self._values, arguments.p, "init", init, where)
        guess = start_values(self._values, arguments.p, "guess", None, where)
        return StartProblem(program, given, guess, arguments, t, report)

    def _result(
        self, program: Program, arguments: Arguments, point: StartPoint, run: Run, seconds: dict[str, float]
    ) -> Result:
        flat, outputs = self.flat, run.outputs
        assert outputs is not None
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
        warnings = tuple(self.translation.transformed.simplified.warnings())
        return Result(
            self.name,
            np.concatenate([np.zeros(0), *(span.t for span in run.spans)]),
            variables,
            outputs.read,
            parameters=parameters,
            stats=RunStatistics(run.work, run.linear_solver, run.multipliers, seconds, run.certificate),
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
        return equations_text(
            translation.structure, translation.transformed, translation.functions.value_map
        )

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
        check_process()
        with Interruptible(f"The linearization of {self.name}"):
            return self._linearize(float(time), inputs, outputs, float(start_time), options)

    def _linearize(
        self,
        time: float,
        inputs: Mapping[str, Any] | None,
        outputs: Sequence[str],
        start_time: float,
        options: dict[str, Any],
    ) -> Linearization:
        self._renew()
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
            if run.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if run.status is not Status.SUCCESS:
                raise SimulationError(f"{self.name} cannot be linearized at time {time:g}. {run.message}")
            x, xdot = run.spans[-1].x[-1], run.spans[-1].xdot[-1]
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
        return f"CompiledModel({self.name}: {self.translation.transformed.form})"
