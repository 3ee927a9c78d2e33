"""Why a model cannot start, and what was guessed, in the names of the model."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from .errors import SimulationError
from .row_names import row_name, x_name
from .solvers.nearest import NearestRoot
from .solvers.nearest_problem import Effort
from .start_problem import StartProblem, StartSystem

LISTED = 8


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


def not_finite(start: StartProblem, z: np.ndarray) -> SimulationError:
    """What is infinite or not a number at the start, in the order of computation."""
    program = start.program
    x, xdot = z[: start.n], z[start.n :]
    w = np.asarray(program.values(jnp.asarray(start.t), x, xdot, start.arguments))
    form = program.result.form
    texts = []
    for equation, variable in zip(form.local_equations, form.local_variables, strict=True):
        places = program.functions.value_map.elements(np.array([variable]))
        if not np.all(np.isfinite(w[places])):
            structure = program.result.structure
            name = structure.variable_name(int(variable))
            texts.append(f"{name} is not finite in `{structure.equation_name(int(equation))}`")
            break
    residual = np.asarray(program.problem.residual(jnp.asarray(start.t), x, xdot, start.arguments))
    rows = np.flatnonzero(~np.isfinite(residual))
    texts += [row_name(program, int(row)) for row in rows[:LISTED]]
    listed = "\n".join(f"    {text}" for text in texts)
    guessed = guesses_text(start, np.flatnonzero(~start.fixed[: start.n]), start.z_guess)
    hint = f"\nStarted with guesses: {guessed[0]}." if guessed else ""
    return SimulationError(
        f"The model cannot start at time {start.t:g}: equations are infinite or not a number there. Is "
        f"something divided by zero, or a root or logarithm of a negative number taken?\n{listed}{hint}\n"
        f"Give `guess` or `init` values at which the equations can be evaluated."
    )


def cannot_start(
    start: StartProblem, found: NearestRoot, system: StartSystem, effort: Effort
) -> SimulationError:
    """Newton's method did not find a start: the worst equations, and the variables in them."""
    worst = found.unsatisfied[:LISTED]
    lines = [f"    {system.row_text(int(r))}: off by {abs(found.residual[r]):.3g}" for r in worst]
    row, column, _ = system.nearest.pattern
    involved = np.unique(column[np.isin(row, worst)])
    names = dict.fromkeys(_unknown_name(start, int(k), found.z) for k in involved[: 2 * LISTED])
    return SimulationError(
        f"No consistent start was found at time {start.t:g}. The equations that hold least:\n"
        + "\n".join(lines)
        + f"\nVariables in them: {', '.join(names)}.\nTried: {'; '.join(effort.tried)}.\n"
        "Better `guess` values may help; or there is no solution with these parameters and `init` values."
    )


def _unknown_name(start: StartProblem, k: int, z: np.ndarray) -> str:
    name = x_name(start.program, k % start.n)
    is_value = k < start.n or start.program.layout.integrals[k % start.n]
    return f"{name if is_value else f'der({name})'} = {z[k]:.3g}"
