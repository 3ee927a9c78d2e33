"""Studies as methods of a translated model: many runs of it.

What runs them is imported when it is asked for: a single run starts faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..simulation.request import POINTS, RunRequest
from .model_digest import model_digest
from .sendable import Recipe

if TYPE_CHECKING:
    from .ensemble import Ensemble


class EnsembleMethods:
    """What `CompiledModel` does with many runs."""

    recipe: Recipe | None = None
    """How to make it again in another process."""

    def ensemble(
        self,
        stop_time: float,
        params: Any = None,
        *,
        init: Any = None,
        inputs: Mapping[str, Any] | None = None,
        start_time: float = 0.0,
        times: int | Any = POINTS,
        outputs: Sequence[str] | None = None,
        rtol: float = 1e-6,
        atol: Any = None,
        method: str = "bdf",
        linear_solver: str = "auto",
        progress: bool | None = None,
        max_steps: int = 1_000_000,
        start: str = "init",
        executor: Any = None,
        store: str | PathLike[str] | None = None,
    ) -> Ensemble:
        """Simulate many times, each time with other values: lanes.

        A lane gives what `simulate` gives with its values, within the tolerances, and to the last bit the
        same whatever happens in others; it has step sizes of its own. What fails is the status of its lane.
        Algebraic unknowns are looked for near the start with the declared values: where they have several
        solutions, lanes take that branch.

        Parameters
        ----------
        stop_time : float
            Where all runs end, in seconds of the model.
        params : mapping of str to array, or pandas.DataFrame
            Values of parameters by dotted name, with a leading axis of lanes; a number, or an axis of
            length 1, holds for all lanes. `grid_design`, `latin_hypercube_design`, `sobol_design` and
            `sampled_design` make such columns.
        init : mapping of str to array, or pandas.DataFrame
            Start values in the same form.
        inputs : mapping of str to function, tuple, number or array, optional
            As for `simulate`; the same for all lanes.
        start_time : float
            Where all runs start, in seconds of the model.
        times : int or array
            A number of equidistant times of output, or the times themselves.
        outputs : sequence of str, optional
            Variables, derivatives or elements that are kept, `["c.u", "der(s)", "r[3].i"]`; all variables
            by default.
        rtol, atol, method, linear_solver, max_steps, start
            As for `simulate`.
        progress : bool, optional
            True: a bar of finished lanes after a second; None: if the output is a terminal.
        executor : Executor or dask.distributed.Client, optional
            Who runs the lanes: any executor of `concurrent.futures`, or a client of Dask. The threads of
            this process by default, one for each core.
        store : path, optional
            A folder to which results are written as they come. Called again after an interrupt or a kill,
            only what is missing is computed. One of another model, other values or options is refused.

        Returns
        -------
        Ensemble
            One labelled data set, and statistics.

        Raises
        ------
        ModelError
            If an option, a name or a shape is wrong, if there are no lanes, or their numbers differ, or if
            the model cannot be sent to workers.
        SimulationInterrupted
            If the user interrupts (Ctrl-C). What was computed until then is its `result`.

        Examples
        --------
        >>> from modia_py import translate
        >>> from modia_py.models.examples import Decay
        >>> sim = translate(Decay())
        >>> ensemble = sim.ensemble(1.0, {"k": [1.0, float("nan"), 2.0]}, times=3, outputs=["x"])
        >>> ensemble["x"][:, -1].round(3)
        array([0.368,   nan, 0.135])
        >>> [lane for lane in ensemble.failures]
        [1]
        """
        from .run_ensemble import run_ensemble

        asked = RunRequest(
            stop_time, start_time, None, inputs, None, times, rtol, atol, method, linear_solver, False,
            max_steps, start,
        )  # fmt: skip
        return run_ensemble(self, asked, params, init, outputs, executor, store, progress)

    def check_sendable(self, *, to_new_interpreters: bool = True) -> None:
        """Complain if the model cannot be sent to another process.

        Parameters
        ----------
        to_new_interpreters : bool
            Whether that process has a `__main__` of its own.

        Raises
        ------
        ModelError
            If its class or what it was made with cannot be found there, with the reason.
        """
        self._recipe().check(to_new_interpreters)

    def _recipe(self) -> Recipe:
        if self.recipe is None:
            raise ModelError(
                "A model that was translated from a FlatModel cannot be sent to another process: translate "
                "an instance of its class."
            )
        return self.recipe

    def __reduce__(self) -> Any:
        return self._recipe().reduced(model_digest(self.flat))  # type: ignore[attr-defined]
