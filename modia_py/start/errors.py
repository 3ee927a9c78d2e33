"""Why a model cannot start, and what was guessed, in the names of the model."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from ..arrays.distinct import distinct
from ..errors import SimulationError
from ..program.program import Arguments, Program
from ..program.row_names import x_name
from ..program.vanished_pivots import vanished_pivots
from ..solvers.roots.initialize import form_matrix
from ..solvers.roots.nearest import NearestRoot
from ..solvers.roots.nearest_problem import Effort
from .problem import StartProblem, StartSystem
from .regularity import dependency_text
from .undefined import undefined_operations

LISTED = 8
NEAR, FAR, GROWS = 1e-8, 1e-2, 10.0
"""A slope is steep that is so much larger near a point than far from it; that of a root is 1000 times."""


def guesses_text(start: StartProblem, elements: np.ndarray, x: np.ndarray) -> list[str]:
    """A sentence about the elements of x that nothing determines, if there are any."""
    if not len(elements):
        return []
    texts = []
    for k in elements[:LISTED].tolist():
        guess = f"{start.z_guess[k]:g}"
        moved = f" (near {guess})" if f"{x[k]:g}" != guess else ""
        texts.append(f"{x_name(start.program, k)} = {x[k]:g}{moved}")
    more = f" and {len(elements) - LISTED} more" if len(elements) > LISTED else ""
    return [f"no `init` determines the start of: {', '.join(texts)}{more} (guess)"]


def not_finite(start: StartProblem, found: NearestRoot, system: StartSystem) -> SimulationError:
    """What is infinite or not a number at the start: operations if they can be named, else equations."""
    program = start.program
    z = np.append(found.z, start.z_guess[len(found.z) :])
    w = np.asarray(program.values(jnp.asarray(start.t), z[: start.n], z[start.n :], start.arguments))
    texts = vanished_pivots(program, start.arguments, start.t, z[: start.n], z[start.n :])
    texts = texts or undefined_operations(program, start.t, w, start.arguments, LISTED)
    structure, form = program.transformed.structure, program.transformed.form
    for equation, variable in zip(form.local_equations, form.local_variables, strict=True):
        places = program.functions.value_map.elements(np.array([variable]))
        if not texts and not np.all(np.isfinite(w[places])):
            name = structure.variable_name(int(variable))
            texts.append(f"{name} is not finite in `{structure.equation_name(int(equation))}`")
    rows = np.flatnonzero(~np.isfinite(found.residual))
    texts += [] if texts else [system.row_text(int(row)) for row in rows[:LISTED]]
    if not np.any(~np.isfinite(found.residual[: min(start.n, system.first)])):
        texts += ["These are derivatives of equations: an infinite slope, as that of a root at zero?"]
    listed = "\n".join(f"    {text}" for text in texts)
    guessed = guesses_text(start, np.flatnonzero(~start.fixed[: start.n]), start.z_guess)
    hint = f"\nStarted with guesses: {guessed[0]}." if guessed else ""
    return SimulationError(
        f"The model cannot start at time {start.t:g}: equations are infinite or not a number there. Is "
        f"something divided by zero, or a root or logarithm of a negative number taken?\n"
        f"{listed}{hint}\nGive `guess` or `init` values at which the equations can be evaluated."
    )


def undefined_values(program: Program, t: float, w: np.ndarray, arguments: Arguments) -> SimulationError:
    """The same for a model in which everything is assigned."""
    texts = undefined_operations(program, t, w, arguments, LISTED)
    listed = "".join(f"\n    {text}" for text in texts)
    return SimulationError(
        f"The model cannot be evaluated at time {t:g}: values are infinite or not a number.{listed}"
    )


class NoStartFound(SimulationError):
    """Newton's method found nothing: another form of the equations may be easier."""


def cannot_start(
    start: StartProblem, found: NearestRoot, system: StartSystem, effort: Effort
) -> NoStartFound:
    """Newton's method did not find a start: the worst equations, and the variables in them."""
    worst = found.unsatisfied[:LISTED]
    lines = [f"    {system.row_text(int(r))}: off by {abs(found.residual[r]):.3g}" for r in worst]
    row, column, _ = system.nearest.pattern
    involved = distinct(column[np.isin(row, worst)])
    singular = _dependent(start, found.z)
    names = dict.fromkeys(_unknown_name(start, int(k), found.z) for k in involved[: 2 * LISTED])
    return NoStartFound(
        f"No consistent start was found at time {start.t:g}. The equations that hold least:\n"
        + "\n".join(lines)
        + f"\nVariables in them: {', '.join(names)}.\n{_steep_text(start, found, system)}"
        f"Tried: {'; '.join(dict.fromkeys(effort.tried))}.\n"
        + (
            singular
            or "Better `guess` values may help; or there is no solution with these parameters and `init` "
            "values."
        )
    )


def _dependent(start: StartProblem, z: np.ndarray) -> str:
    """What to say of equations that depend on each other where Newton's method has ended."""
    z = np.append(z, start.z_guess[len(z) :])
    matrix = form_matrix(start.program.problem, start.t, z[: start.n], z[start.n :], start.arguments)
    return dependency_text(start.program, matrix, start.t, start.arguments) or ""


def _steep_text(start: StartProblem, found: NearestRoot, system: StartSystem) -> str:
    """Equations with an infinite slope, and the variables with respect to which it is."""
    rows = np.flatnonzero(found.steep)
    if not len(rows):
        return ""
    # Forward derivatives spread NaN over a whole row: what is steep shows in how slopes grow towards z.
    shift = np.cos(np.arange(len(found.z), dtype=float))
    near, far = (_slopes_at(system, found.z + distance * shift) for distance in (NEAR, FAR))
    lines = []
    for row in rows[:LISTED].tolist():
        columns = distinct(near.col[(near.row == row) & (np.abs(near.data) > GROWS * np.abs(far.data))])
        names = ", ".join(_unknown_name(start, int(k), found.z) for k in columns[:LISTED])
        lines.append(f"    {system.row_text(row)}" + (f": with respect to {names}\n" if names else "\n"))
    return (
        "Infinite slopes, which Newton's method cannot follow:\n"
        + "".join(lines)
        + "A root can be made smooth at zero, as x/(x**2 + small**2)**0.25 for sign(x)*sqrt(abs(x)); or "
        "start from another `guess`.\n"
    )


def _slopes_at(system: StartSystem, z: np.ndarray) -> sparse.coo_array:
    return sparse.coo_array(system.nearest.system.jacobian(z))


def _unknown_name(start: StartProblem, k: int, z: np.ndarray) -> str:
    name = x_name(start.program, k % start.n)
    is_value = k < start.n or start.program.layout.integrals[k % start.n]
    return f"{name if is_value else f'der({name})'} = {z[k]:.3g}"
