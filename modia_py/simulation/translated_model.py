"""A translated model with all that a run of it needs: start, integrate, certify.

`CompiledModel` adds what a user sees of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..collector import collector_paused
from ..errors import ModelError, SimulationError
from ..expressions.symbol_kinds import SymbolKind
from ..language.flat_model import FlatModel
from ..language.function_renewal import functions_of, with_current_functions
from ..lowering.parameters import ParameterValues
from ..program.program import Arguments, Program
from ..program.remembered import digest_of, remembered
from ..program.run_plan import make_plan
from ..program.signals import Signals, make_signals
from ..program.translation import Translation
from ..program.variable_roles import variable_roles
from ..results.result import ResultVariable
from ..solvers import Status
from ..start.consistent import consistent_start, fully_assigned_start
from ..start.errors import NoStartFound
from ..start.events import start_with_events, with_rows_of_mode
from ..start.impulse import impulsive_start, in_other_form
from ..start.problem import StartPoint, StartProblem, slow_start_report, start_digest
from ..start.regularity import check_regular
from ..start.values import Starts, StartValues, check_starts, resolve_variable, start_values
from .certificate import OutputTolerances, certify, violation_text
from .compile_times import SlowCompilation, watch_compilation
from .event_data import with_event_data
from .missed_events import missed_event
from .nominal_values import below_tolerance, nominal_of_x
from .outputs import Outputs, declared_discretes
from .polished_output import polished
from .request import ATOL, RunRequest, checked_atol
from .run import Run, RunOptions, evaluate_only, integrate

MOST_STARTS = 8
"""Start points that are remembered for a program."""


class TranslatedModel:
    """A flat model, its translation, and how to run it. Translated anew if functions of the user change."""

    def __init__(
        self, flat: FlatModel, translation: Translation, retranslate: Callable[[FlatModel], Translation]
    ):
        self._retranslate = retranslate
        self._use(flat, translation)

    @property
    def name(self) -> str:
        """The name of the model: that of its class."""
        return self.flat.name

    def _use(self, flat: FlatModel, translation: Translation) -> None:
        self.flat, self.translation = flat, translation
        self.__dict__.pop("_variables", None)
        self._values = ParameterValues(flat)
        self._has_nominal = any(variable.symbol.nominal is not None for variable in flat.variables)
        self._functions = functions_of(flat)

    @cached_property
    def _variables(self) -> dict[str, ResultVariable]:
        """What a result tells of the variables and inputs."""
        roles = variable_roles(self.translation)
        return {
            symbol.name: ResultVariable(
                symbol.name,
                symbol.shape,
                len(symbol.lead),
                symbol.symbol.unit,
                symbol.symbol.doc,
                tuple(k for k, (_, is_array) in enumerate(symbol.symbol.segments()) if is_array),
                symbol.kind is SymbolKind.DISCRETE,
                roles.get(symbol.name, ""),
            )
            for symbol in (*self.flat.variables, *self.flat.inputs, *declared_discretes(self.flat))
        }

    def _renew(self) -> None:
        """Look at what the functions of the user do now, and translate anew if that is something else."""
        if self._functions:
            flat = with_current_functions(self.flat, self._functions)
            if flat is not self.flat:
                self._use(flat, self._retranslate(flat))

    def _run(self, asked: RunRequest) -> tuple[Run, Program, Arguments, StartPoint, dict[str, float]]:
        options = asked.checked()
        self._renew()
        check_starts(self.flat, asked.starts)
        slow = (
            SlowCompilation(self.flat.name, self.translation.functions.size) if options.progress else None
        )
        with watch_compilation(slow) as initializing, collector_paused():
            signals = make_signals(self.flat, asked.inputs, options.start, options.stop)
            program = self.translation.program(signals)
            arguments = Arguments(self._values.vector(dict(asked.params or {}), asked.init), signals.data)
            plan = make_plan(program, signals, arguments, options.start, options.stop)
            report = slow_start_report() if options.progress else None
            declared = None if program.events is None else np.asarray(program.events.discretes(arguments.p))
            point, arguments = self._whole_start(program, signals, arguments, asked, options, report)
        if isinstance(asked.atol, Mapping) or (asked.atol is None and self._has_nominal):
            options = replace(options, atol=self._atol_of_x(asked.atol or {}, options.rtol, program))
        with watch_compilation(slow) as integrating:
            if program.functions.size or program.events is not None:
                run = integrate(program, arguments, point, options, plan)
            else:
                run = evaluate_only(program, arguments, options, plan)
        with watch_compilation(slow) as checking:
            run = replace(self._certified(program, run, options), declared=declared)

        def init() -> StartValues:
            where = program.functions.value_map
            return start_values(self._values, arguments.p, "init", asked.starts, where)

        small = below_tolerance(self.flat, program, run.spans, options, init)
        point = replace(
            point,
            notes=(*point.notes, *plan.notes, *run.notes, *run.lost_reinits, *small, *_not_inlined(run)),
        )
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
        missed = missed_event(program, spans)
        if missed is not None:
            message = f"{Status.VIOLATED.advice} {missed.text(program)}"
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
        if not program.functions.size:
            return

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

    def _whole_start(
        self,
        program: Program,
        signals: Signals,
        arguments: Arguments,
        asked: RunRequest,
        options: RunOptions,
        report: Callable[[str], None] | None = None,
    ) -> tuple[StartPoint, Arguments]:
        """The start of a run, with the event that takes place there, and the data after it."""

        def find(arguments: Arguments) -> StartPoint:
            t, how = options.start, asked.start
            return self._start(program, signals, arguments, asked.starts, t, how, report)

        if program.events is None:
            return find(arguments), arguments
        arguments = with_event_data(program, arguments, options)

        def begin() -> tuple[StartPoint, Arguments]:
            point, after = start_with_events(program, arguments, options.start, find)
            own = with_rows_of_mode(program, options.start, point.x, point.xdot, after)
            self._check_regular(program, signals, own, options.start, point)
            return point, own

        if not program.is_repeatable:
            return begin()
        where = program.functions.value_map
        given = start_values(self._values, arguments.p, "init", asked.starts, where)
        guess = start_values(self._values, arguments.p, "guess", asked.starts, where)
        key = start_digest(asked.start, options.start, arguments, given, guess)
        return remembered(program.cache.event_starts, key, MOST_STARTS, begin)

    def _declared_start(self, asked: RunRequest) -> StartPoint | None:
        """The start with the declared values of parameters and start values: near it, those of other values
        are found in fewer iterations. None if there is none."""
        options = asked.checked()
        signals = make_signals(self.flat, asked.inputs, options.start, options.stop)
        program = self.translation.program(signals)
        arguments = Arguments(self._values.vector({}), signals.data)

        def find() -> StartPoint | None:
            try:
                return self._whole_start(program, signals, arguments, asked, options)[0]
            except (ModelError, SimulationError):
                return None

        key = asked.start.encode() + digest_of(options.start, arguments)
        return remembered(program.cache.declared_starts, key, MOST_STARTS, find)

    def _start(
        self,
        program: Program,
        signals: Signals,
        arguments: Arguments,
        starts: Starts,
        t: float,
        how: str,
        report: Callable[[str], None] | None = None,
    ) -> StartPoint:
        """The start of a run; found again if a run before has begun with the same data."""
        own = program if how == "init" else self.translation.plain().program(signals)
        problem = self._start_problem(own, arguments, starts, t, report)

        def find() -> StartPoint:
            point = self._found_start(program, signals, problem, starts, how)
            if program.events is None:
                self._check_regular(program, signals, arguments, t, point)
            return point

        if not program.is_repeatable:
            return find()
        return remembered(program.cache.start_points, problem.digest(how), MOST_STARTS, find)

    def _found_start(
        self,
        program: Program,
        signals: Signals,
        problem: StartProblem,
        starts: Starts,
        how: str,
    ) -> StartPoint:
        """The start in the form of a program, from a problem in this form or in the one without tearing."""
        if not problem.program.functions.size:
            return fully_assigned_start(problem)
        if how != "init":
            return impulsive_start(problem, program)
        try:
            return consistent_start(problem)
        except NoStartFound as failure:
            # Assignments put into each other can make of mild equations a steep one.
            own = self.translation.plain().program(signals)
            if own is program:
                raise
            try:
                cold = replace(starts, near=None)
                problem = self._start_problem(own, problem.arguments, cold, problem.t, problem.report)
                found = consistent_start(problem)
                x, xdot = in_other_form(own, program, problem, found.x, found.xdot)
            except SimulationError:
                raise failure from None
            return StartPoint(x, xdot, found.notes)

    def _start_problem(
        self,
        program: Program,
        arguments: Arguments,
        starts: Starts,
        t: float,
        report: Callable[[str], None] | None,
    ) -> StartProblem:
        where = program.functions.value_map
        given = start_values(self._values, arguments.p, "init", starts, where)
        guess = start_values(self._values, arguments.p, "guess", starts, where)
        problem = StartProblem(program, given, guess, arguments, t, report, starts.near)
        if program.events is not None and program.functions.size:
            x, xdot = np.split(problem.z_guess, 2)
            problem.arguments = with_rows_of_mode(program, t, x, xdot, arguments)
        return problem

    def _places(self, program: Program, name: str) -> tuple[np.ndarray, np.ndarray]:
        found = resolve_variable(self.flat, name)
        where, elements, order = program.functions.value_map, found.places, found.order
        if order >= where.orders or (where.place[order][elements] < 0).any():
            raise ModelError(f"{name} is not part of the equations.")
        return where.place[order][elements], where.sign[order][elements].astype(float)

    def _shaped_places(self, program: Program, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Places and signs of a variable in w, in its shape."""
        places, signs = self._places(program, name)
        shape = resolve_variable(self.flat, name).shape
        return places.reshape(shape), signs.reshape(shape)


def _not_inlined(run: Run) -> list[str]:
    """What a user should know of a method that did not do what it is for."""
    if not run.not_inlined:
        return []
    return [f"Nothing was inlined: {run.not_inlined}. The steps are those of method 'bdf'."]
