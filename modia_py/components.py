"""Components: how class bodies become instances, and instances become a tree.

What a class body declares is copied for each instance; what `__init__` assigns is added. Every
component knows its parent and its name there, so that each symbol has a dotted path.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from typing import Any

from .array_interface import ArrayInterface
from .component_arrays import ComponentArray
from .errors import ModelError, UnknownAttributeError, did_you_mean
from .expressions import Leaf
from .source import user_source
from .symbols import Declaration, Symbol

Child = Symbol | Any  # a Symbol, a Component, or a ComponentArray


def is_declared(value: Any) -> bool:
    """Whether a value in a class body, or assigned to an attribute, becomes part of the model."""
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and all(is_declared(member) for member in value)
    return isinstance(value, (Declaration, ComponentArray)) or isinstance(type(value), ComponentMeta)


class _ClassBody(dict):
    """The namespace of a class body, which refuses a second declaration of one name."""

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self and (is_declared(self[name]) or is_declared(value)):
            raise ModelError(
                f"{self.get('__qualname__', 'A model')} declares `{name}` twice ({user_source()})."
            )
        super().__setitem__(name, value)


class ComponentMeta(type):
    """Reads class bodies, and finishes instances after their `__init__`."""

    @classmethod
    def __prepare__(mcls, name: str, bases: tuple[type, ...], /, **options: Any) -> Any:
        return _ClassBody()

    def __new__(mcls, name: str, bases: tuple[type, ...], body: dict, **options: Any) -> Any:
        return super().__new__(mcls, name, bases, dict(body), **options)

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict, **options: Any) -> None:
        super().__init__(name, bases, body, **options)
        cls.declared: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            for attribute, value in vars(base).items():
                if is_declared(value):
                    _check_name(attribute, cls)
                    cls.declared[attribute] = value
                elif attribute in cls.declared:
                    raise ModelError(
                        f"{base.__name__}.{attribute} replaces a {_kind(cls.declared[attribute])} by "
                        f"{value!r} ({user_source()}). Declare it as one again, with the new value."
                    )

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.construct(None, args, kwargs)

    def construct(cls, count: int | None, args: tuple, kwargs: dict) -> Any:
        """An instance; with a count, the one that stands for that many copies."""
        component: Any = object.__new__(cls)  # type: ignore[arg-type]
        component._parent, component._name, component._count = None, "", count
        component._arguments, component._changes = (args, kwargs), {}
        for name, value in cls.declared.items():
            component._attach(name, fresh_copy(value))
        component.__init__(*args, **kwargs)
        if component._changes:
            from .changes import apply_changes  # it walks components: it comes after them

            apply_changes(component, component._changes)
        return component


class Component(metaclass=ComponentMeta):
    """What models and connectors have in common. Attributes are declarations or plain values."""

    # Kept out of __dict__, where only what the user wrote may stand.
    __slots__ = ("__dict__", "__weakref__", "_arguments", "_changes", "_count", "_name", "_parent")

    def __init__(self, **changes: Any):
        self._changes = changes

    @classmethod
    def array(cls, n: int, *args: Any, **changes: Any) -> ComponentArray:
        """`n` copies, as one component with a leading axis. Parameters are shared or have that axis."""
        if isinstance(n, bool) or not hasattr(n, "__index__") or isinstance(n, ArrayInterface):
            raise ModelError(
                f"{cls.__name__}.array takes the number of copies, an integer, not {n!r} ({user_source()})."
            )
        if int(n) < 1:
            raise ModelError(f"{cls.__name__}.array({n}) has no copies ({user_source()}).")
        return ComponentArray(cls.construct(int(n), args, changes), (int(n),), (range(int(n)),))

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Component.__slots__:
            object.__setattr__(self, name, value)
            return
        if self._is_own(self.__dict__.get(name)):
            existing = self.__dict__[name]
            raise ModelError(
                f"{type(self).__name__}.{name} is already a {_kind(existing)} ({user_source()}): two "
                f"attributes cannot have one name. Change values with "
                f"{type(self).__name__}({name}=...) or when simulating."
            )
        if is_declared(value):
            _check_name(name, type(self))
            self._attach(name, value)
        else:
            self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in Component.__slots__:
            raise AttributeError(name)
        raise UnknownAttributeError(
            f"{type(self).__name__} has no attribute '{name}' ({user_source()}). "
            f"{did_you_mean(name, self.__dict__)}"
        )

    def __repr__(self) -> str:
        path = ".".join(name for name, _ in self._segments())
        return f"<{type(self).__name__} {path}>" if path else f"<{type(self).__name__}>"

    def _is_own(self, value: Any) -> bool:
        """Whether an attribute value was declared here (and is not an expression kept for later)."""
        if isinstance(value, Leaf):
            return value.symbol.kind != "time" and value.symbol.component is self and not value.order
        return is_declared(value)

    def _attach(self, name: str, value: Any) -> None:
        if isinstance(value, (list, tuple)):
            members = [self._adopt(f"{name}[{k}]", member) for k, member in enumerate(value)]
            self.__dict__[name] = type(value)(members)
        else:
            self.__dict__[name] = self._adopt(name, value)

    def _adopt(self, name: str, value: Any) -> Any:
        if isinstance(value, Declaration):
            return value.symbol(name, self).leaf()
        component = value._component if isinstance(value, ComponentArray) else value
        if component._parent is not None:
            raise ModelError(
                f"{type(self).__name__}.{name} is the component that is already "
                f"`{'.'.join(part for part, _ in component._segments())}` ({user_source()}). Make a new "
                f"one for each name."
            )
        component._parent, component._name = self, name
        return value

    def _segments(self) -> list[tuple[str, bool]]:
        segments = []
        component: Component | None = self
        while component is not None and component._parent is not None:
            segments.append((component._name, component._count is not None))
            component = component._parent
        return segments[::-1]

    def _children(self) -> Iterator[tuple[str, Child]]:
        """Name and value of everything declared here: symbols, components, component arrays."""
        for name, value in vars(self).items():
            members = [(name, value)]
            if isinstance(value, (list, tuple)):
                members = [(f"{name}[{k}]", member) for k, member in enumerate(value)]
            for path, member in members:
                if isinstance(member, Leaf) and self._is_own(member):
                    yield path, member.symbol
                elif isinstance(member, (Component, ComponentArray)):
                    component = member._component if isinstance(member, ComponentArray) else member
                    if component._parent is None:  # appended to a list after it was assigned
                        self._adopt(path, member)
                    if component._parent is self and component._name == path:
                        yield path, member


def fresh_copy(value: Any) -> Any:
    """A class-body declaration for one more instance: components are constructed again."""
    if isinstance(value, (list, tuple)):
        return type(value)(fresh_copy(member) for member in value)
    if isinstance(value, ComponentArray):
        component = value._component
        again = type(component).construct(component._count, *component._arguments)
        return ComponentArray(again, value._lead, value._index)
    if isinstance(value, Component):
        args, kwargs = value._arguments
        return type(value)(*args, **kwargs)
    return value


def _kind(value: Any) -> str:
    if isinstance(value, Leaf):
        return type(value.symbol.declaration).__name__
    if isinstance(value, ComponentArray):
        return f"{type(value._component).__name__} array"
    return type(value).__name__


RESERVED_NAMES = frozenset({"array", "equations", "initial_equations"})


def _check_name(name: str, owner: type) -> None:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ModelError(
            f"{owner.__name__} declares {name!r}, which is not an identifier ({user_source()}): letters, "
            f"digits and underscores, not beginning with a digit, and no Python keyword."
        )
    if name in RESERVED_NAMES:
        raise ModelError(
            f"{owner.__name__} declares `{name}` ({user_source()}), a name that every model uses itself."
        )
