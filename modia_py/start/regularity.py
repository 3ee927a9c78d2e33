"""Whether the equations determine all variables at the start: the matrix of the form must be regular.

Structure tells whether there are enough equations; not whether they say different things. Where they do
not, Newton's method finds some values all the same, and a run would go on with them. The matrix is looked
at before the integrator is compiled, which takes longest.

Where variables are assigned locally, an entry of the matrix is a sum over the ways through assignments. If
it should be zero, it is what rounding leaves of that sum, and nothing in the matrix tells it from a small
number. A matrix with such entries is looked at again in the form without assignments.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from ..arrays.structure import NONE
from ..errors import SimulationError
from ..program.program import Arguments, Program
from ..solvers.matrix.null_space import null_space
from ..solvers.roots.initialize import form_matrix
from .dependent_equations import dependency
from .events import with_rows_of_mode

LARGE = 20_000
"""From so many unknowns on, one look for the same parameters is enough."""
MAY_BE_ROUNDING = 1e-9
"""An entry below this, compared with others, may be all that is left of terms that cancel."""


def check_regular(
    program: Program,
    plain: Callable[[], Program],
    arguments: Arguments,
    t: float,
    x: np.ndarray,
    xdot: np.ndarray,
) -> None:
    """Raise SimulationError if the equations are dependent at a start, with their names.

    `plain` makes the program without local assignments.
    """
    seen = np.asarray(arguments.p).tobytes() if len(x) >= LARGE else None
    if seen is not None and program.cache.regular_for == seen:
        return
    matrix = form_matrix(program.problem, t, x, xdot, arguments)
    torn = len(program.transformed.form.local_equations) > 0
    text = dependency_text(program, matrix, t, arguments)
    if text is None and torn and _has_rounding(matrix):
        other = plain()
        x, xdot = in_other_form(program, other, arguments, t, x, xdot)
        arguments = with_rows_of_mode(other, t, x, xdot, arguments)
        matrix = form_matrix(other.problem, t, x, xdot, arguments)
        text = dependency_text(other, matrix, t, arguments)
    if text is not None:
        raise SimulationError(text)
    program.cache.regular_for = seen


def _has_rounding(matrix: sparse.csr_array) -> bool:
    """Whether an entry may be zero but for rounding."""
    size = np.abs(matrix.data)
    size = size[size > 0]
    return bool(np.isfinite(size).all() and size.min(initial=1.0) < MAY_BE_ROUNDING * size.max(initial=1.0))


def in_other_form(
    program: Program, other: Program, arguments: Arguments, t: float, x: np.ndarray, xdot: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """x and xdot of another form of the same model, from the values of all variables."""
    w = np.asarray(program.values(jnp.asarray(t), jnp.asarray(x), jnp.asarray(xdot), arguments))
    here, there = program.functions.value_map, other.functions.value_map
    n = other.functions.size
    found = np.zeros(2 * n)
    for order in range(min(here.orders, there.orders)):
        known = (here.place[order] != NONE) & (there.place[order] != NONE)
        value = here.sign[order][known] * w[here.place[order][known]] * there.sign[order][known]
        target = there.place[order][known]
        found[target[target < 2 * n]] = value[target < 2 * n]
    form, sizes = other.transformed.form, other.transformed.form.slot_size()
    for slot, variable in zip(form.chain_slot.tolist(), form.chain_variable.tolist(), strict=True):
        start, own = int(there.offset[variable]), int(other.functions.slot_offset[slot])
        if start < 2 * n:  # what ties xdot to another element of x
            found[n + own : n + own + sizes[slot]] = found[start : start + sizes[slot]]
    return found[:n], found[n:]


def dependency_text(
    program: Program, matrix: sparse.csr_array, t: float, arguments: Arguments
) -> str | None:
    """What to say of dependent equations, if the matrix of the form is singular; else None."""
    if not np.isfinite(matrix.data).all():
        return None
    rows, columns = null_space(matrix).involved()
    if not len(rows) and not len(columns):
        return None
    found = dependency(program, rows, columns, arguments.p)
    return (
        f"The equations do not determine all variables at time {t:g}. {found}\n"
        f"Is one of them a multiple or a consequence of others, such as a constraint that is stated twice? "
        f"Leave it out, or add what determines the variables. If it is so only at these values (a "
        f"mechanism in a dead position, a double root), start elsewhere: with other `init`, `guess` or "
        f"parameter values."
    )
