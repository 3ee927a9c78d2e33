"""`outer`: what a component finds in its surroundings, such as the gravity of a world.

A component declares `world = outer(World)`. In a model, that is the nearest `World` around it: among the
components beside it, then among those beside what contains it, and so on outwards. What the component
has itself is a copy of the declarations of `World` without its equations: parameters of the copy follow
those of the world, its variables equal them (Modelica's `inner` and `outer`, found by class).
"""

from __future__ import annotations

from typing import Any

from ..errors import ModelError
from ..expressions.equation import Equation
from ..expressions.expression import Leaf, leaf
from ..expressions.indexing import Shape
from ..expressions.symbol_kinds import SymbolKind
from ..source import user_source
from .component_arrays import ComponentArray
from .components import Component
from .declarations import Var
from .symbols import Symbol

Walked = tuple[Any, Shape, Component]


def outer(component_class: type, /, *arguments: Any) -> Any:
    """Declare that a component uses one that is around it, found by its class.

    Parameters
    ----------
    component_class : class of a Model
        What to find; an instance of a subclass will do. Exactly one has to be nearest.
    *arguments
        Of its `__init__`, where that needs some to know the shapes of its declarations.

    Returns
    -------
    Model
        To be assigned to an attribute: `self.world.g` are expressions of what was found. Parameters,
        variables, inputs, plain attributes and methods are seen; its connectors and components are not.

    Raises
    ------
    ModelError
        When the model is translated: if there is no such component around, or if two are equally near.

    Examples
    --------
    >>> from modia_py import Model, Par, Var, der, outer, simulate
    >>> class World(Model):
    ...     g = Par(9.81, unit="m/s2")
    >>> class Ball(Model):
    ...     world = outer(World)
    ...     h = Var(init=10.0, unit="m")
    ...     v = Var(init=0.0, unit="m/s")
    ...     def equations(self):
    ...         return [der(self.h) == self.v, der(self.v) == -self.world.g]
    >>> class Scene(Model):
    ...     world = World(g=1.62)
    ...     balls = Ball.array(3)
    >>> float(simulate(Scene(), 1.0).final("balls[0].v").round(6))
    -1.62
    """
    if not (isinstance(component_class, type) and issubclass(component_class, Component)):
        is_made = isinstance(component_class, Component)
        hint = f" Write outer({type(component_class).__name__})." if is_made else ""
        raise ModelError(
            f"outer takes the class of a model ({user_source()}), not {component_class!r}.{hint}"
        )
    found: Any = component_class(*arguments)
    found._outer, found._written = component_class, user_source()
    for name, value in list(vars(found).items()):
        if isinstance(value, (Component, ComponentArray)):
            del vars(found)[name]  # not seen from here
        elif isinstance(value, Leaf) and value.kind is not SymbolKind.PARAMETER and found._is_own(value):
            vars(found)[name] = _seen(value.symbol, found)
    return found


def _seen(symbol: Symbol, component: Component) -> Leaf:
    """What stands for a symbol of the surroundings in the component that sees it."""
    if symbol.kind is SymbolKind.PARAMETER:
        return symbol.declaration.symbol(symbol.name, component).leaf()
    return Var(symbol.shape, unit=symbol.unit, doc=symbol.doc).symbol(symbol.name, component).leaf()


def bind_surroundings(components: list[Walked]) -> dict[int, list[Equation]]:
    """Let all that was declared by `outer` follow what is around it.

    Returns the equations of variables, by the id of the component in which both sides are known.
    """
    leads = {id(component): lead for _, lead, component in components}
    equations: dict[int, list[Equation]] = {}
    for _, lead, component in components:
        if component._outer:
            owner, inner = _nearest(component)
            # What is overridden there counts: methods, choices.
            object.__setattr__(component, "__class__", type(inner))
            for name, value in vars(inner).items():
                if isinstance(value, Leaf) and inner._is_own(value) and name not in vars(component):
                    vars(component)[name] = _seen(value.symbol, component)
                elif not isinstance(value, (Leaf, Component, ComponentArray, list, tuple)):
                    vars(component)[name] = value
            between = lead[len(leads[id(owner)]) :]
            found = dict(inner._children())
            for name, symbol in component._children():
                same = found.get(name)
                if not isinstance(same, Symbol) or same.shape != symbol.shape:
                    raise ModelError(
                        f"{symbol} has shape {symbol.shape}, but {inner!r}, which is around it, has "
                        f"{getattr(same, 'shape', 'no such variable')}: give outer({type(inner).__name__}, "
                        f"...) the same arguments."
                    )
                if symbol.kind is SymbolKind.PARAMETER:
                    symbol.value = leaf(same)
                else:
                    equation = Equation(leaf(symbol, between), leaf(same), same.declaration.source)
                    equations.setdefault(id(owner), []).append(equation)
    return equations


def _nearest(component: Component) -> tuple[Component, Component]:
    """What is meant by something declared by `outer`, and the component that both are below."""
    wanted = component._outer
    level = component._parent
    while level is not None:
        found = {
            name: child
            for name, child in level._children()
            if isinstance(child, wanted) and not child._outer
        }
        if len(found) > 1 and component._name in found:
            found = {component._name: found[component._name]}
        if len(found) > 1:
            raise ModelError(
                f"{component!r} finds {len(found)} of class {wanted.__name__} around it: "
                f"{', '.join(found)}. Give the one that is meant the name '{component._name}', too."
            )
        if found:
            return level, next(iter(found.values()))
        if isinstance(level, wanted):
            return level, level
        level = level._parent
    path = ".".join(name for name, _ in component._segments())
    raise ModelError(
        f"{path} is declared by outer({wanted.__name__}) ({component._written}), and there is no "
        f"{wanted.__name__} around it: declare one in the model, `{component._name} = {wanted.__name__}()`."
    )
