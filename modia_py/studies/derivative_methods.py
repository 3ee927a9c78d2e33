"""Derivatives of simulations as methods of a translated model.

What computes them is imported when it is asked for: a run without derivatives starts faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError

if TYPE_CHECKING:
    from .function import SimulationFunction
    from .linear_function import LinearizationFunction
    from .sensitivities import Sensitivities

POINTS = 101


class DerivativeMethods:
    """What `CompiledModel` does with derivatives."""

    def function(
        self,
        outputs: Sequence[str],
        times: Any,
        params: Sequence[str] = (),
        init: Sequence[str] = (),
        inputs: Mapping[str, Any] | Sequence[str] = (),
        *,
        derivative: str = "reverse",
        **options: Any,
    ) -> SimulationFunction:
        """Make a pure function for JAX of this simulation: names in, arrays out, with derivatives.

        Parameters
        ----------
        outputs : sequence of str
            Variables, or derivatives of them, that are returned.
        times : array
            When, increasing. The run ends with the last of them.
        params : sequence of str
            Parameters that the argument of the function may contain.
        init : sequence of str
            Variables whose start values it may contain.
        inputs : mapping of str to tuple, number or array
            All inputs of the model, as for `simulate`. The argument may contain values of tables and
            constants.
        derivative : {"reverse", "forward"}
            Which derivatives you are going to take, for readers of your code: JAX can take both, whatever
            is said here.
        **options
            Of `simulate`: start_time, rtol, atol, linear_solver, max_steps. And `memory`: bytes that a
            derivative may take, 500e6 if it is not given; steps that do not fit in it are computed again.

        Returns
        -------
        SimulationFunction
            `f({"c": 2.0, "s": 0.1}) -> {"s": array}`: a dictionary of some of the names (those left out
            keep their declared values) to one of outputs with a leading axis of time. Works in `jax.jit`,
            `jax.vmap`, `jax.jvp`, `jax.jacfwd`, `jax.grad`, `jax.vjp`, `jax.jacrev`, `jax.hessian`. What a
            failed run returns is NaN; `f.status(...)` is a number for how it ended, in every lane of a
            `vmap`, and `f.result(...)` says why it has failed.

        Raises
        ------
        ModelError
            If a name or an option is wrong.

        Notes
        -----
        Derivatives are those of the recorded steps, of the start, and of events: their times, jumps and
        impulses. Where there is none (an event that only touches its limit, two events at one instant by
        coincidence, an output at the time of an event that moves) they are NaN, with a `ModelWarning` that
        says why.

        Examples
        --------
        >>> import jax
        >>> from modia_py import translate
        >>> from modia_py.models.examples import Decay
        >>> f = translate(Decay()).function(["x"], [0.5, 1.0], params=["k"], init=["x"], rtol=1e-9)
        >>> gradient = jax.grad(lambda theta: f(theta)["x"][-1])({"k": 1.0, "x": 1.0})
        >>> {name: round(float(value), 6) for name, value in gradient.items()}
        {'k': -0.367879, 'x': 0.367879}
        """
        from .function import make_function

        return make_function(self, outputs, times, params, init, inputs, derivative, options)

    def linearization_function(
        self,
        time: float = 0.0,
        params: Sequence[str] = (),
        init: Sequence[str] = (),
        inputs: Mapping[str, Any] | Sequence[str] = (),
        *,
        outputs: Sequence[str] = (),
        **options: Any,
    ) -> LinearizationFunction:
        """Make a pure function for JAX of `linearize`: names in, matrices out, with derivatives.

        Parameters
        ----------
        time : float
            When; the model is simulated up to it.
        params, init : sequence of str
            Parameters, and variables whose start values the argument of the function may contain.
        inputs : mapping of str to tuple, number or array
            All inputs of the model, as for `simulate`. They are the inputs u of the linear model; the
            argument may contain values of tables and constants.
        outputs : sequence of str
            Names of the variables y.
        **options
            As for `function`.

        Returns
        -------
        LinearizationFunction
            `f({"c": 2.0})` is a named tuple (A, B, C, D) of arrays; `f.states`, `f.inputs` and `f.outputs`
            name their rows and columns. Works in `jax.jit`, `jax.vmap`, `jax.grad`, `jax.jacfwd`,
            `jax.jacrev` and `jax.hessian`. Where the run fails, they are NaN.

        Raises
        ------
        ModelError
            If a name or an option is wrong, if the model has no states or more than 500 unknowns in x, or
            if it depends on derivatives of its inputs.
        SimulationError
            If the run with the declared values fails, or if the model is singular there.

        Notes
        -----
        The point moves with the argument: derivatives of the matrices contain those of the run.

        Examples
        --------
        >>> import jax
        >>> from modia_py import translate
        >>> from modia_py.models.examples import Decay
        >>> f = translate(Decay()).linearization_function(params=["k"])
        >>> float(f({"k": 2.0}).A[0, 0])
        -2.0
        >>> float(jax.grad(lambda theta: f(theta).A[0, 0])({"k": 2.0})["k"])
        -1.0
        """
        from .linear_function import LinearizationFunction
        from .theta import make_names

        time = float(time)
        start = float(options.get("start_time", 0.0))
        if not (np.isfinite(time) and time >= start):
            raise ModelError(f"time = {time:g} is before start_time = {start:g}, or not finite.")
        names = make_names(self, params, init, inputs, options.pop("fixed_inputs", None))
        return LinearizationFunction(self, names, time, outputs, options)

    def sensitivities(
        self,
        of: Sequence[str],
        wrt: Sequence[str],
        stop_time: float,
        *,
        start_time: float = 0.0,
        times: int | Any = POINTS,
        params: Mapping[str, Any] | None = None,
        init: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        accuracy: float | None = None,
        **options: Any,
    ) -> Sensitivities:
        """Differentiate outputs by parameters, start values and inputs, along a run.

        Parameters
        ----------
        of : sequence of str
            Outputs: variables, or derivatives of them.
        wrt : sequence of str
            Parameters, variables that stand for their start values, and inputs that are given by a table or
            a constant.
        stop_time, start_time : float
            The run.
        times : int or array
            A number of equidistant times, or the times themselves.
        params, init, inputs : mapping, optional
            As for `simulate`: where derivatives are taken.
        accuracy : float, optional
            Error control of the sensitivities: the tolerance of the run is made finer, ten times each time,
            until none of them changes by more than this part of its largest value.
        **options
            Of `simulate`: rtol, atol, linear_solver, max_steps.

        Returns
        -------
        Sensitivities
            By name; relative ones, a data set, a tornado plot.

        Raises
        ------
        ModelError
            If a name or an option is wrong.
        SimulationError
            If the run fails, if it has no derivative, or none of the wanted accuracy.

        Examples
        --------
        >>> from modia_py import translate
        >>> from modia_py.models.examples import Decay
        >>> found = translate(Decay()).sensitivities(["x"], ["k"], 1.0, times=[0.5, 1.0], rtol=1e-9)
        >>> found["x", "k"].round(6).tolist()
        [-0.303265, -0.367879]
        """
        from .sensitivities import find_sensitivities

        if isinstance(times, (int, np.integer)) and not isinstance(times, bool):
            if times < 2:
                raise ModelError(f"times = {times}: output needs two points at least.")
            times = np.linspace(start_time, stop_time, int(times))
        options = {**options, "start_time": start_time}
        chosen = np.atleast_1d(np.asarray(times, float))
        return find_sensitivities(self, of, wrt, chosen, params, init, inputs, accuracy, options)
