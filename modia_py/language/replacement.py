"""Another component in the place of a declared one: `Drive(motor=OtherMotor())`, or in a subclass.

What surrounds a component uses it through its connectors, and by names. So the connectors of the replaced
one must be there, of the same class; a name that is used and missing is an error where it is used.
"""

from __future__ import annotations

from typing import Any

from ..errors import ModelError
from ..source import Source, user_source
from .component_arrays import ComponentArray
from .components import Component, is_component


def replace_component(component: Component, path: str, value: Any) -> bool:
    """Put a component in the place that a path names; False if the value is none."""
    if not is_component(value):
        return False
    where = user_source()
    if isinstance(value, type):
        name = value.__name__
        raise ModelError(f"'{path}' is given the class {name} ({where}): write {name}().")
    parent: Any = component
    names = path.split(".")
    for name in names[:-1]:
        parent = dict(parent._children()).get(name) if isinstance(parent, Component) else None
        parent = parent._component if isinstance(parent, ComponentArray) else parent
    old = dict(parent._children()).get(names[-1]) if isinstance(parent, Component) else None
    if not is_component(old):
        known = [name for name, child in component._children() if is_component(child)]
        listed = f" Components: {', '.join(known)}." if known else ""
        owner = type(component).__name__
        raise ModelError(f"{owner} has no component '{path}' to replace ({where}).{listed}")
    check_replacement(f"{type(component).__name__}.{path}", old, value, where)
    parent._replace(names[-1], value)
    return True


def check_replacement(name: str, old: Any, new: Any, where: Source) -> None:
    """Complain about a component that does not fit in the place of another one."""
    lengths = [each._lead if isinstance(each, ComponentArray) else () for each in (old, new)]
    old, new = (each._component if isinstance(each, ComponentArray) else each for each in (old, new))
    begin = f"{type(new).__name__} cannot replace the {type(old).__name__} {name} ({where})"
    if lengths[0] != lengths[1]:
        counts = [f"{each[0]} copies" if each else "one component" for each in lengths]
        raise ModelError(f"{begin}: it is {counts[1]}, in place of {counts[0]}.")
    if hasattr(type(old), "equations") != hasattr(type(new), "equations"):
        raise ModelError(f"{begin}: one is a connector, the other one is not.")
    if not hasattr(type(old), "equations") and not isinstance(new, type(old)):
        raise ModelError(f"{begin}: a connector is replaced by one of the same class or a subclass of it.")
    theirs = dict(new._children())
    for connector_name, connector in old._children():
        own = connector._component if isinstance(connector, ComponentArray) else connector
        if not isinstance(own, Component) or hasattr(type(own), "equations"):
            continue  # only connectors are seen from outside
        other = theirs.get(connector_name)
        if isinstance(other, ComponentArray):
            other = other._component
        if other is None:
            raise ModelError(f"{begin}: it has no connector '{connector_name}'.")
        if not isinstance(other, type(own)):
            raise ModelError(
                f"{begin}: its connector '{connector_name}' is a {type(other).__name__}, expected "
                f"{type(own).__name__}."
            )
