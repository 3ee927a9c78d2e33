"""`named`: a label for equations, by which reports and messages call them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import ModelError
from ..expressions.equation import Equation
from ..source import user_source


def named(label: str, *equations: Any) -> Any:
    """Give an equation, or several, a label; reports, messages and statistics then begin with it.

    Parameters
    ----------
    label : str
        A few words, such as "torque balance".
    *equations : equation
        What `lhs == rhs` makes; lists of them, too.

    Returns
    -------
    equation, or list of equations
        The same with the label, for the list that `equations` returns.

    Raises
    ------
    ModelError
        If the label is no text, or something is no equation.

    Examples
    --------
    >>> from modia_py import Model, Par, Var, der, named
    >>> class Rotor(Model):
    ...     J = Par(2.0)
    ...     w = Var(init=0.0)
    ...     tau = Var()
    ...     def equations(self):
    ...         return [named("torque balance", self.J * der(self.w) == self.tau), self.tau == 1 - self.w]
    >>> Rotor().equations()[0]
    torque balance: J*der(w) == tau
    """
    if not isinstance(label, str) or not label.strip():
        raise ModelError(f'named takes a text first ({user_source()}): named("balance", lhs == rhs).')
    found = [_labelled(label.strip(), each) for each in equations]
    return found[0] if len(found) == 1 else found


def _labelled(label: str, equation: Any) -> Any:
    if isinstance(equation, (list, tuple)):
        return [_labelled(label, each) for each in equation]
    if not isinstance(equation, Equation):
        raise ModelError(
            f"named({label!r}, ...) is given {equation!r} ({user_source()}), not an equation: write "
            f"named({label!r}, lhs == rhs)."
        )
    return Equation(equation.lhs, equation.rhs, replace(equation.source, label=label))
