"""A translated model: simulate it, and look inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .errors import ModelError, SimulationError, SimulationInterrupted, names_checked
from .inspection.linearize import Linearization, linear_model
from .inspection.report import report_text
from .inspection.structure_plot import structure_figure
from .inspection.transformed_equations import equations_text
from .interruptions import Interruptible, check_process
from .program.program import Arguments, Program
from .program.signals import make_signals
from .results.result import Result
from .results.statistics import RunStatistics
from .simulation.event_rows import event_table
from .simulation.request import POINTS, RunRequest
from .simulation.run import Run
from .simulation.translated_model import TranslatedModel
from .solvers import Status, consistent_xdot
from .start.events import with_rows_of_mode
from .start.problem import StartPoint
from .studies.derivative_methods import DerivativeMethods
from .studies.steady_methods import SteadyStateMethods
from .studies.study_methods import EnsembleMethods


class CompiledModel(DerivativeMethods, EnsembleMethods, SteadyStateMethods, TranslatedModel):
    """A model in its special index-1 form, ready to be simulated again and again.

    `translate` makes it. What is compiled is kept: other parameters, start values, tables, times and
    tolerances compile nothing. Several threads may simulate one at the same time.

    Parameters
    ----------
    flat : FlatModel
        The model without hierarchy.
    translation : Translation
        What the passes have made of it.
    retranslate : callable
        Gives the translation of a flat model whose functions have changed.

    Examples
    --------
    >>> from modia_py import translate
    >>> from modia_py.models.examples import Decay
    >>> sim = translate(Decay())
    >>> [round(float(sim.simulate(1.0, params={"k": k}).final("x")), 3) for k in (1.0, 2.0)]
    [0.368, 0.135]
    """

    @property
    def structure(self) -> Any:
        """The result of the structural passes, a `modia_py.arrays.Transformation`.

        Examples
        --------
        >>> from modia_py import translate
        >>> from modia_py.models.examples import Decay
        >>> translate(Decay()).structure.slot_names()
        ['x']
        """
        return self.translation.transformed

    @names_checked
    def simulate(
        self,
        stop_time: float,
        *,
        start_time: float = 0.0,
        params: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        init: Mapping[str, Any] | None = None,
        guess: Mapping[str, Any] | None = None,
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
        stop_time : float
            Where the run ends, in seconds of the model.
        start_time : float
            Where the run starts, in seconds of the model.
        params : mapping of str to number or array, optional
            Values of parameters by dotted name, `{"r.R": 2.0}`, in place of the declared ones: one value,
            or with the axes of the component arrays around the parameter. Elements have names as in
            results, `{"r[3].R": 5.0}`; they win over the whole. Nothing is compiled for other values.
        inputs : mapping of str to function, tuple, number or array, optional
            For each `Input` a function of time, `(function, breaks)` with the times at which it or a
            derivative of it jumps, a table `(times, values)` or `(times, values, interpolation)` with
            "linear", "previous", "cubic" or "akima", or a constant. Values of a table have the time as
            their first axis. Every input needs one.
        init : mapping of str to number or array, optional
            Start values, in place of declared ones or in addition: `{"der(s)": 1.0, "y[:2]": 0.0}`.
        guess : mapping of str to number or array, optional
            Where to look for start values, in place of declared ones; a declared `init` is dropped.
        times : int or array
            A number of equidistant times of output, both ends included, or the times themselves,
            increasing. Steps of the integrator do not depend on them.
        rtol : float
            Relative tolerance of the result, from 1e-14 to 0.1.
        atol : float or mapping of str to float, optional
            Absolute tolerance: one number for all variables, or numbers by name. Where it is not given, it
            is `rtol` / 1000 times the nominal value of the variable (1 if none is declared).
        method : {"bdf", "inline-bdf", "radau", "auto"}
            What integrates. "bdf": backward differentiation formulas of order 1 to 5, of variable order and
            quasi-constant step, in the variant of L. F. Shampine and M. W. Reichelt (NDF), whose formulas
            of order 1 to 4 have smaller errors than the classical ones. "inline-bdf": the same steps, with
            the equations of a step sorted: what is linear is solved by formulas, only the rest is iterated.
            "radau": Radau IIA of order 5, which has its full order at once after events, and fewer, longer
            steps. "auto": begins with "bdf", and goes on with "radau" where events are frequent, orders
            stay low or the run is long, and a trial shows that it gets farther for the same work.
            `result.stats.method` says what has run, and why.
        linear_solver : {"auto", "dense", "band", "klu", "superlu", "cholmod"}
            What solves the linear systems of the integrator. "auto" decides from size, pattern and
            symmetry; `result.stats.linear_solver` says what was taken, and why.
        progress : bool, optional
            True: a progress bar after a second, and a sentence where XLA compiles for more than two; False:
            neither; None: both if the output is a terminal.
        max_steps : int
            Attempts at a step after which the run fails, rejected ones included.
        start : {"init", "impulse"}
            "init": the run starts consistently with the start values. "impulse": start values are left
            limits, and what has to jump does.

        Returns
        -------
        Result
            Trajectories of all variables by name, and how the run went.

        Raises
        ------
        ModelError
            If an option, a name or a value is wrong.
        SimulationError
            If no start is found, if the run cannot go on, or if equations do not hold at the output. What
            was computed until then is its `result`.
        SimulationInterrupted
            If the user interrupts (Ctrl-C). What was computed until then is its `result`.

        Examples
        --------
        >>> from modia_py import translate
        >>> from modia_py.models.examples import Decay
        >>> sim = translate(Decay())
        >>> result = sim.simulate(1.0, params={"k": 2.0}, init={"x": 3.0}, times=[0.0, 0.5, 1.0])
        >>> result["x"].round(3)
        array([3.   , 1.104, 0.406])
        >>> result.stats.method
        'bdf: ndf of order 1 to 5'
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
            guess=guess,
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
        assert run.options is not None
        p = np.asarray(arguments.p)
        parameters = {own.name: p[own.offset :][: own.size].reshape(own.shape) for own in flat.parameters}
        return Result(
            self.name,
            np.concatenate([np.zeros(0), *(span.t for span in run.spans)]),
            self._variables,
            outputs.read,
            parameters=parameters,
            stats=RunStatistics(
                run.work, run.linear_solver, run.multipliers, seconds, run.certificate, run.method
            ),
            status=run.status,
            message=run.message,
            notes=self.translation.warnings + point.notes,
            events=lambda: event_table(flat, program, run, arguments, self._variables),
            output_rows=outputs.asked_rows(run.options.times),
        )

    def report(self) -> str:
        """Tell what every pass of the translation did, in the names of the model.

        Returns
        -------
        str
            Equations and unknowns, what was removed and why, the index and what was differentiated, blocks,
            states, assignments, linear solver, seconds.

        Examples
        --------
        >>> from modia_py import translate
        >>> from modia_py.models.examples import Pendulum
        >>> lines = translate(Pendulum()).report().splitlines()
        >>> [line for line in lines if line.startswith("index")]
        ['index 3, by differentiating']
        """
        return report_text(self.name, self.translation)

    def equations(self) -> str:
        """Write the transformed equations in the notation of the model.

        Returns
        -------
        str
            What x holds, the assignments in the order in which they are evaluated, and the rows of the
            residual.

        Examples
        --------
        >>> from modia_py import translate
        >>> from modia_py.models.examples import Decay
        >>> print(translate(Decay()).equations().splitlines()[0])
        x = [x]
        """
        translation = self.translation
        return equations_text(
            translation.structure, translation.transformed, translation.functions.value_map
        )

    def structure_plot(self, file: str | None = None) -> Any:
        """Draw the incidence as written, and the blocks after sorting.

        Parameters
        ----------
        file : str, optional
            Where to save the picture; its ending decides the format.

        Returns
        -------
        matplotlib.figure.Figure
            The figure: a row for each array equation, a column for each array variable, filled where the
            equation can be solved for the variable.

        Raises
        ------
        ModelError
            If there are more than 2000 array equations.
        MissingPackageError
            If matplotlib is not installed: `pip install modia_py[plot]`.

        Examples
        --------
        >>> from modia_py import translate
        >>> from modia_py.models.examples import Decay
        >>> figure = translate(Decay()).structure_plot()
        >>> len(figure.axes)
        2
        """
        return structure_figure(self.translation, self.name, file)

    @names_checked
    def linearize(
        self,
        time: float = 0.0,
        *,
        inputs: Mapping[str, Any] | None = None,
        outputs: Sequence[str] = (),
        start_time: float = 0.0,
        params: Mapping[str, Any] | None = None,
        init: Mapping[str, Any] | None = None,
        guess: Mapping[str, Any] | None = None,
        rtol: float = 1e-6,
        atol: Any = None,
        method: str = "bdf",
        linear_solver: str = "auto",
        progress: bool | None = None,
        max_steps: int = 1_000_000,
        start: str = "init",
    ) -> Linearization:
        """Linearize at a time of a simulation, or at its start: `der(s) = A s + B u, y = C s + D u`.

        Parameters
        ----------
        time : float
            When; the model is simulated up to it, with the options below. To linearize at another point,
            give it as `init`.
        inputs : mapping of str to function, tuple, number or array, optional
            What drives the model until then, as for `simulate`. All of them are inputs u of the linear
            model.
        outputs : sequence of str
            Names of the variables y.
        start_time : float
            Where the simulation starts.
        params, init, guess : mapping of str to number or array, optional
            Values of parameters, start values, and where to look for them, by dotted name.
        rtol, atol, method, linear_solver, progress, max_steps, start
            As for `simulate`.

        Returns
        -------
        Linearization
            The matrices A, B, C, D, and the names of their rows and columns. The states s are as many
            elements of x as the model has degrees of freedom.

        Raises
        ------
        ModelError
            If an option, a name or a value is wrong, if the model has no states or more than 5000 unknowns
            in x, or if it depends on derivatives of its inputs.
        SimulationError
            If the time is not reached, or if the model is singular there.
        SimulationInterrupted
            If the user interrupts (Ctrl-C).

        Examples
        --------
        >>> from modia_py import translate
        >>> from modia_py.models.examples import Decay
        >>> found = translate(Decay()).linearize(params={"k": 2.0}, outputs=["x"])
        >>> found.A, found.C, found.states
        (array([[-2.]]), array([[1.]]), ('x',))
        """
        check_process()
        with Interruptible(f"The linearization of {self.name}"):
            asked = RunRequest(
                float(time),
                float(start_time),
                params,
                inputs,
                init,
                [float(time)],
                rtol,
                atol,
                method,
                linear_solver,
                progress,
                max_steps,
                start,
                guess=guess,
            )
            return self._linearize(asked, outputs)

    def _linearize(self, asked: RunRequest, outputs: Sequence[str]) -> Linearization:
        asked.check_choices()
        self._renew()
        time, start_time = asked.stop_time, asked.start_time
        if not (np.isfinite(time) and time >= start_time):
            raise ModelError(f"time = {time:g} is before start_time = {start_time:g}, or not finite.")
        signals = make_signals(self.flat, asked.inputs, start_time, max(time, start_time + 1e-300))
        program = self.translation.program(signals)
        arguments = Arguments(self._values.vector(dict(asked.params or {}), asked.init), signals.data)
        if not program.functions.size:
            raise ModelError(f"{self.name} has no states: there is nothing to linearize.")
        if time > start_time:
            run, _, arguments, _, _ = self._run(asked)
            if run.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if run.status is not Status.SUCCESS:
                raise SimulationError(f"{self.name} cannot be linearized at time {time:g}. {run.message}")
            x, xdot = run.spans[-1].x[-1], run.spans[-1].xdot[-1]
            arguments = program.with_discretes(arguments, run.spans[-1].discretes[-1])
            arguments = with_rows_of_mode(program, time, x, xdot, arguments)
            xdot = consistent_xdot(program.problem, time, x, arguments, xdot).xdot
        else:
            options = replace(asked, stop_time=start_time + 1.0, times=2).checked()
            point, arguments = self._whole_start(program, signals, arguments, asked, options)
            x, xdot = point.x, point.xdot
        named = {own.name: own.offset + np.arange(own.size).reshape(own.shape) for own in self.flat.inputs}
        chosen = {name: self._shaped_places(program, name) for name in outputs}
        return linear_model(program, time, x, xdot, arguments, named, chosen)

    def __repr__(self) -> str:
        return f"CompiledModel({self.name}: {self.translation.transformed.form})"
