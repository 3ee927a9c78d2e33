"""A translated model: simulate it, and look inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .errors import ModelError, SimulationError, SimulationInterrupted
from .inspection.linearize import Linearization, linear_model
from .inspection.report import report_text
from .inspection.structure_plot import structure_figure
from .inspection.transformed_equations import equations_text
from .interruptions import Interruptible, check_process
from .program.program import Arguments, Program
from .program.signals import make_signals
from .results.result import Result, ResultVariable
from .results.statistics import RunStatistics
from .simulation.request import POINTS, RunRequest
from .simulation.run import Run
from .simulation.translated_model import TranslatedModel
from .solvers import Status, consistent_xdot
from .start.problem import StartPoint


class CompiledModel(TranslatedModel):
    """A model in its special index-1 form, ready to be simulated again and again.

    What is compiled is kept: other parameters, start values, tables, times and tolerances compile
    nothing.
    """

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
        warnings = tuple(self.translation.result.simplified.warnings())
        return Result(
            self.name,
            np.concatenate([np.zeros(0), *(piece.t for piece in run.pieces)]),
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

    def __repr__(self) -> str:
        return f"CompiledModel({self.name}: {self.translation.result.form})"
