"""Why a model cannot start, and what was guessed, in the names of the model."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from .errors import SimulationError
from .regularity import dependency_text
from .row_names import row_name, x_name
from .solvers.initialize import form_matrix
from .solvers.nearest import NearestRoot
from .start_problem import StartProblem
from .start_values import StartValues
from .zero_parameters import zero_divisors

LISTED = 8


def guesses_text(start: StartProblem, elements: np.ndarray) -> list[str]:
    """A sentence about the elements of x that nothing determines, if there are any."""
    if not len(elements):
        return []
    texts = [f"{x_name(start.program, int(k))} = {start.z_guess[k]:g}" for k in elements[:LISTED]]
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
    nodes = [*form.local_equations.tolist(), *form.fd.tolist(), *form.fc.tolist()]
    zeros = zero_divisors(program, nodes, np.asarray(start.arguments.p))
    advice = "Give `guess` or `init` values at which the equations can be evaluated."
    if zeros:
        texts, advice = zeros, "Give other parameter values, or write the equations without the division."
    listed = "\n".join(f"    {text}" for text in texts)
    guessed = guesses_text(start, np.flatnonzero(~start.fixed[: start.n]))
    hint = f"\nStarted with guesses: {guessed[0]}." if guessed else ""
    return SimulationError(
        f"The model cannot start at time {start.t:g}: equations are infinite or not a number there. Is "
        f"something divided by zero, or a root or logarithm of a negative number taken?\n"
        f"{listed}{hint}\n{advice}"
    )


def cannot_start(start: StartProblem, found: NearestRoot, rows: StartValues) -> SimulationError:
    """Newton's method did not find a start: the worst equations, and the variables in them."""
    worst = found.unsatisfied[:LISTED]
    lines = [f"    {start.row_text(int(r), rows)}: off by {abs(found.residual[r]):.3g}" for r in worst]
    row, column, _ = start.system(rows).pattern
    involved = np.unique(column[np.isin(row, worst)])
    singular = _dependent(start, found.z)
    names = dict.fromkeys(_unknown_name(start, int(k), found.z) for k in involved[: 2 * LISTED])
    return SimulationError(
        f"No consistent start was found at time {start.t:g}. The equations that hold least:\n"
        + "\n".join(lines)
        + f"\nVariables in them: {', '.join(names)}.\n"
        + (
            singular
            or "Better `guess` values may help; or there is no solution with these parameters and "
            "`init` values."
        )
    )


def _dependent(start: StartProblem, z: np.ndarray) -> str:
    """What to say of equations that depend on each other where Newton's method has ended."""
    x, xdot = z[: start.n], z[start.n :]
    matrix = form_matrix(start.program.problem, start.t, x, xdot, start.arguments)
    text = dependency_text(start.program, matrix, start.t, start.arguments)
    return text or ""


def _unknown_name(start: StartProblem, k: int, z: np.ndarray) -> str:
    name = x_name(start.program, k % start.n)
    is_value = k < start.n or start.program.layout.integrals[k % start.n]
    return f"{name if is_value else f'der({name})'} = {z[k]:.3g}"
