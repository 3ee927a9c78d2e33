"""Steady states as methods of a translated model; what finds them is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..simulation.request import RunRequest

if TYPE_CHECKING:
    from .steady_function import SteadyStateFunction
    from .steady_state import SteadyState


class SteadyStateMethods:
    """What `CompiledModel` does with states of rest."""

    def steady_state(
        self,
        *,
        params: Mapping[str, Any] | None = None,
        init: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        fixed: Mapping[str, Any] | None = None,
        time: float = 0.0,
        settle: float | None = None,
        prefer_stable: bool = True,
        rtol: float = 1e-6,
        atol: Any = None,
    ) -> SteadyState:
        """Find values of all variables at which all derivatives are zero.

        Newton's method looks for it from the start values, and where that fails from the end of a run.
        Which one is found, if there are several, depends on where the search begins.

        Parameters
        ----------
        params : mapping of str to number or array, optional
            Values of parameters by dotted name.
        init : mapping of str to number or array, optional
            Start values: where the search begins.
        inputs : mapping of str to function, tuple, number or array, optional
            As for `simulate`; held at their values at `time`.
        fixed : mapping of str to number or array, optional
            Values of variables at the steady state, where the equations leave something free: the position
            of a mass that nothing holds, or the potential of a circuit.
        time : float
            The time that equations see.
        settle : float, optional
            Simulate for so many seconds first, and look from there: finds what the model goes to.
        prefer_stable : bool
            Whether to look further where small deviations from a steady state grow: an unstable one is then
            given only if no other is found.
        rtol, atol : float
            Tolerances with which the equations as written are checked.

        Returns
        -------
        SteadyState
            Values by name, eigenvalues, and start values with which a run stays there.

        Raises
        ------
        ModelError
            If a name, a value or an option is wrong, or the model has no states.
        SimulationError
            If there is none, with the equations that do not hold; or if it is not unique, with the
            variables that nothing determines.
        SimulationInterrupted
            If the user interrupts (Ctrl-C).

        Examples
        --------
        >>> from modia_py import translate
        >>> from modia_py.models.examples import Pendulum
        >>> state = translate(Pendulum()).steady_state(init={"r": [0.6, -0.8]})
        >>> state["r"].round(6) + 0.0, round(float(state["force"]), 6)
        (array([ 0., -1.]), 9.81)
        """
        from .steady_state import steady_state

        asked = RunRequest(
            float(time) + 1.0, float(time), params, inputs, init, 2, rtol, atol, progress=False
        )
        return steady_state(self, asked, fixed, settle, prefer_stable)

    def steady_state_function(
        self,
        outputs: Sequence[str],
        params: Sequence[str] = (),
        inputs: Mapping[str, Any] | Sequence[str] = (),
        *,
        init: Mapping[str, Any] | None = None,
        fixed: Mapping[str, Any] | None = None,
        time: float = 0.0,
        settle: float | None = None,
        prefer_stable: bool = True,
    ) -> SteadyStateFunction:
        """Make a pure function for JAX of the steady state: names in, values out, with derivatives.

        Parameters
        ----------
        outputs : sequence of str
            Variables that are returned.
        params : sequence of str
            Parameters that the argument of the function may contain.
        inputs : mapping of str to number or array
            All inputs of the model, as constants. The argument may contain them.
        init, fixed : mapping, optional
            As for `steady_state`.
        time : float
            The time that equations see.
        settle, prefer_stable : optional
            As for `steady_state`.

        Returns
        -------
        SteadyStateFunction
            `f({"c": 2.0}) -> {"s": array}`. Works in `jax.jit`, `jax.vmap`, `jax.grad`, `jax.jacfwd`,
            `jax.jacrev` and `jax.hessian`. Where there is no steady state, or not a unique one, values are
            NaN, and `f.state(...)` says why.

        Raises
        ------
        ModelError
            If a name is wrong.

        Notes
        -----
        Derivatives are those of the implicit function theorem: two Newton steps with the exact matrix from
        the root that was found, which JAX differentiates. The matrix is dense.

        Examples
        --------
        >>> import jax
        >>> from modia_py import translate
        >>> from modia_py.models.examples import SlidingMass
        >>> f = translate(SlidingMass()).steady_state_function(["s"], params=["c", "m"])
        >>> gradient = jax.grad(lambda theta: f(theta)["s"])({"c": 1000.0, "m": 1.0})
        >>> {name: round(float(value), 9) for name, value in gradient.items()}
        {'c': 7.848e-06, 'm': -0.007848}
        """
        from .steady_function import make_steady_function

        return make_steady_function(
            self, outputs, params, inputs, init, fixed, float(time), settle, prefer_stable
        )
