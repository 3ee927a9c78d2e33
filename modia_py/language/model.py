"""`Model` and `Connector`: the base classes of everything a user declares."""

from __future__ import annotations

from typing import Any

from .components import Component


class Model(Component):
    """A component with equations.

    Class attributes are declarations (`Var`, `Par`, `Input`, connectors, other models), copied for each
    instance; an `__init__` may add more. `Cls(**changes)` overrides parameters and start values.

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
        """The equations of this component and the connections between its components."""
        return []

    def initial_equations(self) -> Any:
        """Equations that hold at the start only."""
        return []


class Connector(Component):
    """What components are connected by: variables that become equal, and flows that sum to zero."""
