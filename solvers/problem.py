"""What the integrator is given: a residual in JAX, and which of its rows contain derivatives.

    0 = F(t, x, xdot, p) = [ fd(t, x, xdot, p) ]     with  [ dfd/dxdot ]  regular.
                           [ fc(t, x, p)       ]           [ dfc/dx    ]

This is the special index-1 form of M. Otter and H. Elmqvist (2017). What an element of x is decides how it
is judged, and cannot be found from the equations (the position of a falling body may not occur in them
either):

- a state. Errors add up from step to step: it is tested, more strictly than the result has to be.
- `algebraic`: determined anew by fc at every time. Nothing adds up, so it is tested against the tolerance
  of the result itself: a jump to another branch is noticed, and steps are not shorter than they have to be.
- `integrals`: a constraint force, or another unknown that depends on derivatives, is present as the
  derivative of its integral: x holds the integral, xdot the value. No equation contains the integral, and
  only its derivative means something: the corrector converges in that, and the integral is not tested.
- `multipliers`, among these: zero in the exact solution. Nothing is asked of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import jax
import numpy as np

from .event_contract import Events
from .inlined_contract import Inlined

Residual = Callable[[Any, Any, Any, Any], Any]
"""residual(t, x, xdot, p) -> array of as many rows as x has elements."""
Flags = Sequence[bool] | np.ndarray
"""One for each element of x."""


class Planned(Protocol):
    """A residual that native code evaluates from data."""

    watches: bool
    """Whether the functions in which crossings are looked for are data, too."""
    at_many: bool
    """Whether the functions of many times can be called: rows of x and xdot belong to rows of t."""

    def arguments(self, t: Any, p: Any) -> dict[str, Any]:
        """Arrays for steps at about that time, by the names of `native.calls.STEP`."""

    def values(self, t: np.ndarray, x: np.ndarray, xdot: np.ndarray, p: Any) -> np.ndarray:
        """The residual at many times."""

    def rates(self, t: np.ndarray, x: np.ndarray, xdot: np.ndarray, p: Any) -> np.ndarray:
        """Its derivative by time along (x, xdot)."""

    def products(
        self, t: np.ndarray, x: np.ndarray, xdot: np.ndarray, p: Any, c: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """(c dF/dx + dF/dxdot) times each row of z, at many times."""


@dataclass(eq=False)
class ProblemCache:
    """What was made ready for a problem, by the kinds of its parameters (`kinds`) and by what was
    chosen."""

    checked: set[Any] = field(default_factory=set)
    """Kinds of parameters for which the shapes of residual and crossings are right."""
    patterns: dict[Any, Any] = field(default_factory=dict)
    """Sparsity patterns of the iteration matrix, with colours (`matrix.jacobian.Pattern`)."""
    compiled: dict[Any, Any] = field(default_factory=dict)
    """Compiled loops (`loop.compiled.CompiledProblem`)."""
    residuals: dict[Any, Any] = field(default_factory=dict)
    """Compiled residuals, for start values."""
    systems: dict[Any, Any] = field(default_factory=dict)
    """Nonlinear systems (`roots.nonlinear.SparseSystem`)."""
    polishers: dict[Any, Any] = field(default_factory=dict)
    """What makes output between steps consistent (`roots.polish`)."""

    def __deepcopy__(self, _: Any) -> ProblemCache:
        return ProblemCache()  # compiled functions are not copied


@dataclass(frozen=True, eq=False)
class Problem:
    """A residual in the special index-1 form.

    Parameters
    ----------
    residual : callable
        F(t, x, xdot, p), traceable by JAX, with as many rows as x has elements.
    size : int
        Length of x.
    differential_rows : int or sequence of bool
        How many rows come first that contain derivatives; or a flag for each row.
    integrals : sequence of bool, optional
        Flags of the elements of x that are integrals of an unknown; None: there are none.
    multipliers : sequence of bool, optional
        Flags of those whose unknown is zero in the exact solution; None: there are none.
    algebraic : sequence of bool, optional
        Flags of the elements that fc determines, of which no derivative occurs; None: there are none.
    pattern : pair of sequences of int, optional
        (rows, columns) that may be nonzero in dF/dx + dF/dxdot; None: they are found.
    crossings : callable, optional
        z(t, x, xdot, p) -> array, whose zeros are events; None: no events.
    directions : sequence of int, optional
        For each crossing: +1 rising only, -1 falling only, 0 both; None: all both.
    one_by_one : bool
        The residual factorizes matrices: it is not evaluated at many points by a `vmap`, where threads of
        XLA could wait for each other for ever.
    events : Events, optional
        What happens at events, inside of the compiled loop; its crossings take the place of `crossings`.
        None: nothing but stopping at `crossings`.
    planned : Planned, optional
        The residual as data for native code, which then makes whole steps of small problems; None: the
        residual is evaluated by XLA.
    inlined : callable, optional
        inlined() -> the equations of a step sorted into stages (`inlined_contract.Inlined`), or a text that
        says why they are not; None: nobody sorts them.
    cache : ProblemCache
        What was made ready for this problem; not to be given.

    Raises
    ------
    ValueError
        If sizes do not fit.

    Examples
    --------
    >>> from modia_py.solvers import Problem, solve
    >>> decay = Problem(lambda t, x, xdot, p: xdot + p * x, size=1, differential_rows=1)
    >>> round(float(solve(decay, 0.0, 1.0, [1.0], p=1.0).x[-1, 0]), 4)
    0.3679
    """

    residual: Residual
    size: int
    differential_rows: int | Sequence[bool]
    integrals: Flags | None = None
    multipliers: Flags | None = None
    algebraic: Flags | None = None
    pattern: tuple[Sequence[int], Sequence[int]] | None = None
    crossings: Residual | None = None
    directions: Sequence[int] | None = None
    one_by_one: bool = False
    events: Events | None = None
    planned: Planned | None = field(default=None, repr=False)
    inlined: Callable[[], Inlined | str] | None = field(default=None, repr=False)
    cache: ProblemCache = field(default_factory=ProblemCache, repr=False)

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"A problem needs at least one unknown; size is {self.size}.")
        if isinstance(self.differential_rows, (int, np.integer)):
            if not 0 <= self.differential_rows <= self.size:
                raise ValueError(
                    f"differential_rows = {self.differential_rows} is not between 0 "
                    f"and the size {self.size}."
                )
        elif len(self.differential_rows) != self.size:
            raise ValueError(
                f"differential_rows has {len(self.differential_rows)} flags, "
                f"but there are {self.size} rows."
            )
        for name in ("integrals", "multipliers", "algebraic"):
            flags = getattr(self, name)
            if flags is not None and len(flags) != self.size:
                raise ValueError(f"{name} has {len(flags)} flags, but x has {self.size} elements.")
        if self.pattern is not None:
            rows, columns = (np.asarray(index) for index in self.pattern)
            if rows.ndim != 1 or rows.shape != columns.shape:
                raise ValueError(f"pattern has {rows.shape} rows and {columns.shape} columns.")
            for name, index in (("rows", rows), ("columns", columns)):
                if len(index) and not (index.min() >= 0 and index.max() < self.size):
                    raise ValueError(
                        f"pattern has {name} from {index.min()} to {index.max()}; "
                        f"they go from 0 to {self.size - 1}."
                    )

    @property
    def row_flags(self) -> np.ndarray:
        """A flag for each row: True if it is in fd."""
        if isinstance(self.differential_rows, (int, np.integer)):
            return np.arange(self.size) < self.differential_rows
        return np.asarray(self.differential_rows, dtype=bool)

    def flags(self, name: str) -> np.ndarray:
        """Give the flags of `integrals`, `multipliers` or `algebraic` elements, whether given or not.

        Parameters
        ----------
        name : {"integrals", "multipliers", "algebraic"}
            Which.

        Returns
        -------
        array
            A bool for each element of x.
        """
        given = getattr(self, name)
        return np.zeros(self.size, bool) if given is None else np.asarray(given, bool)

    @cached_property
    def slope_places(self) -> np.ndarray:
        """Elements of x whose derivative is an unknown in which the corrector has to converge."""
        return np.flatnonzero(self.flags("integrals") & ~self.flags("multipliers"))

    def check_shapes(self, x: Any, xdot: Any, p: Any) -> None:
        """Complain about a residual or a crossing function of the wrong shape, without evaluating it.

        Parameters
        ----------
        x, xdot : array
            Of the size of the problem.
        p : pytree of arrays
            Parameters.

        Raises
        ------
        ValueError
            If a shape or a type is wrong.
        """
        for name, vector in (("x0", x), ("xdot0", xdot)):
            if vector.shape != (self.size,):
                raise ValueError(f"{name} has shape {vector.shape}; the problem has size {self.size}.")
        key = kinds(p)
        if key in self.cache.checked:
            return
        time = jax.ShapeDtypeStruct((), np.float64)
        rows = jax.eval_shape(self.residual, time, x, xdot, p)
        if getattr(rows, "shape", None) != (self.size,):
            raise ValueError(
                f"The residual returns shape {getattr(rows, 'shape', rows)}; there are "
                f"{self.size} unknowns, so it "
                f"must return ({self.size},)."
            )
        if rows.dtype != np.float64:
            raise ValueError(f"The residual returns numbers of type {rows.dtype}; it must return float64.")
        if self.crossings is not None:
            found = jax.eval_shape(self.crossings, time, x, xdot, p)
            if len(getattr(found, "shape", ())) != 1:
                raise ValueError("The crossing function must return a one-dimensional array.")
            if self.directions is not None and len(self.directions) != found.shape[0]:
                raise ValueError(
                    f"directions has {len(self.directions)} entries for {found.shape[0]} crossings."
                )
        self.cache.checked.add(key)


def kinds(p: Any) -> Any:
    """Structure, shapes and types of parameters: what compiled functions depend on."""
    leaves, tree = jax.tree.flatten(p)
    return tree, tuple(
        (leaf.shape, leaf.dtype)
        if isinstance(leaf, (np.ndarray, jax.Array))
        else (np.shape(leaf), jax.numpy.result_type(leaf))
        for leaf in leaves
    )
