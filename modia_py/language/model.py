"""`Model` and `Connector`: the base classes of everything a user declares."""

from __future__ import annotations

from typing import Any

from .components import Component


class Model(Component):
    """A component with equations.

    Class attributes are declarations (`Var`, `Par`, `Input`, connectors, other models), copied for each
    instance; an `__init__` may add more, and hands `**changes` on: `super().__init__(**changes)`.

    Parameters
    ----------
    *values
        None: values have names. An error says so.
    **changes : number, array, dict or expression
        Other values of parameters, and `init` of variables, by name; those of components by dotted name,
        `Circuit(**{"r.R": 2.0})`, or nested, `Circuit(r={"R": 2.0})`.

    Raises
    ------
    ModelError
        If a declaration is wrong, or a name is unknown: near names are proposed.

    Examples
    --------
    >>> from modia_py import Model, Par, Var, der
    >>> class Decay(Model):
    ...     k = Par(2.0)
    ...     x = Var(init=1.0)
    ...     def equations(self):
    ...         return [der(self.x) == -self.k * self.x]
    >>> Decay(k=3.0).equations()
    [der(x) == -k*x]
    """

    def equations(self) -> Any:
        """Give the equations of this component and the connections between its components.

        To be overridden; a subclass adds to those of its base with `[*super().equations(), ...]`.

        Returns
        -------
        list
            Equations `lhs == rhs`, between expressions of equal or broadcastable shapes, and connections
            `connect(a, b)`. As many scalar equations as there are unknowns, over the whole model.
        """
        return []

    def initial_equations(self) -> Any:
        """Give equations that hold at the start only, to be overridden.

        Returns
        -------
        list
            Equations `lhs == rhs`. They determine what `init` values leave open.

        Examples
        --------
        >>> from modia_py import Model, Var, der
        >>> class Rest(Model):
        ...     x = Var()
        ...     def equations(self):
        ...         return [der(self.x) == 1 - self.x]
        ...     def initial_equations(self):
        ...         return [der(self.x) == 0]
        >>> Rest().initial_equations()
        [der(x) == 0]
        """
        return []


class Connector(Component):
    """What components are connected by: variables that become equal, and flows that sum to zero.

    Parameters
    ----------
    *values
        None: values have names. An error says so.
    **changes : number, array, dict or expression
        Other values of parameters, and `init` of variables, by name; those of components by dotted name,
        `Circuit(**{"r.R": 2.0})`, or nested, `Circuit(r={"R": 2.0})`.

    Raises
    ------
    ModelError
        If a declaration is wrong, or a name is unknown: near names are proposed.

    Examples
    --------
    >>> from modia_py import Connector, Flow, Var
    >>> class Pin(Connector):
    ...     v = Var(unit="V", doc="potential: equal in a connection")
    ...     i = Flow(unit="A", doc="current: sums to zero")
    >>> Pin()
    <Pin>
    """
