"""`simulate`: from a model to its result in one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import names_checked
from .language.model import Model
from .results.result import Result
from .simulation.request import POINTS
from .translate import translate


@names_checked
def simulate(
    model: Model,
    stop_time: float,
    *,
    tearing: bool | str = "auto",
    check_units: bool = True,
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
    """Translate a model and simulate it.

    A model of the same class and sizes is translated and compiled only once. To simulate often, keep what
    `translate` returns and call its `simulate`.

    Parameters
    ----------
    model : Model
        An instance, `Ladder(100)`; not a class.
    stop_time : float
        Where the run ends, in seconds of the model.
    tearing : bool or "auto"
        Which variables are assigned instead of solved for: see `translate`.
    check_units : bool
        Warn where units in an equation differ: see `translate`.
    start_time : float
        Where the run starts, in seconds of the model.
    params : mapping of str to number or array, optional
        Values of parameters by dotted name, `{"r.R": 2.0}`, in place of the declared ones: one value, or
        with the axes of the component arrays around the parameter. Elements have names as in results,
        `{"r[3].R": 5.0, "r[:2].R": 1.0}`; they win over the whole. Nothing is compiled for
        other values.
    inputs : mapping of str to function, tuple, number or array, optional
        For each `Input` a function of time, `(function, breaks)` with the times at which it or a
        derivative of it jumps, a table `(times, values)` or `(times, values, interpolation)` with
        "linear", "previous", "cubic" or "akima", or a constant. Values of a table have the time as their
        first axis. Every input needs one.
    init : mapping of str to number or array, optional
        Start values by dotted name, in place of the declared ones or in addition to them. A derivative
        may be named, too: `{"der(s)": 1.0}`, and elements: `{"y[:2]": 0.0}`.
    guess : mapping of str to number or array, optional
        Where to look for start values, by dotted name, in place of declared ones. An element that is given
        a guess has no declared `init` any more.
    times : int or array
        A number of equidistant times of output, both ends included, or the times themselves, increasing.
        Steps of the integrator do not depend on them.
    rtol : float
        Relative tolerance of the result, from 1e-14 to 0.1.
    atol : float or mapping of str to float, optional
        Absolute tolerance: one number for all variables, or numbers by name. Where it is not given, it is
        `rtol` / 1000 times the nominal value of the variable (1 if none is declared).
    method : {"bdf", "inline-bdf", "radau", "auto"}
        What integrates. "bdf": backward differentiation formulas of order 1 to 5, of variable order and
        quasi-constant step, in the variant of L. F. Shampine and M. W. Reichelt (NDF), whose formulas of
        order 1 to 4 have smaller errors than the classical ones. "inline-bdf": the same steps, with the
        equations of a step sorted: what is linear is solved by formulas, only the rest is iterated.
        "radau": Radau IIA of order 5, which has its full order at once after events, and fewer, longer
        steps. "auto": begins with "bdf", and goes on with "radau" where events are frequent, orders stay
        low or the run is long, and a trial shows that it gets farther for the same work.
        `result.stats.method` says what has run, and why.
    linear_solver : {"auto", "dense", "band", "klu", "superlu", "cholmod"}
        What solves the linear systems of the integrator. "auto" decides from size, pattern and symmetry;
        `result.stats.linear_solver` says what was taken, and why.
    progress : bool, optional
        True: a progress bar after a second, and a sentence where XLA compiles for more than two; False:
        neither; None: both if the output is a terminal.
    max_steps : int
        Attempts at a step after which the run fails, rejected ones included.
    start : {"init", "impulse"}
        "init": the run starts consistently with the start values. "impulse": start values are left limits,
        and what has to jump does.

    Returns
    -------
    Result
        Trajectories of all variables by name, and how the run went.

    Raises
    ------
    ModelError
        If the model, an option, a name or a value is wrong.
    StructureError
        If the equations cannot determine the variables.
    SimulationError
        If no start is found, if the run cannot go on, or if equations do not hold at the output. What was
        computed until then is its `result`.
    SimulationInterrupted
        If the user interrupts (Ctrl-C).

    Warns
    -----
    ModelWarning
        If something is legal and probably not meant: nothing determines a potential, a ground is missing.

    Examples
    --------
    >>> from modia_py import Model, Par, Var, der, simulate
    >>> class Decay(Model):
    ...     k = Par(1.0, unit="1/s")
    ...     x = Var(init=1.0)
    ...     def equations(self):
    ...         return [der(self.x) == -self.k * self.x]
    >>> result = simulate(Decay(), 1.0, params={"k": 2.0}, times=5)
    >>> result["x"].round(3)
    array([1.   , 0.607, 0.368, 0.223, 0.135])
    """
    return translate(model, tearing=tearing, check_units=check_units).simulate(
        stop_time,
        start_time=start_time,
        params=params,
        inputs=inputs,
        init=init,
        guess=guess,
        times=times,
        rtol=rtol,
        atol=atol,
        method=method,
        linear_solver=linear_solver,
        progress=progress,
        max_steps=max_steps,
        start=start,
    )
