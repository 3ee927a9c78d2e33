"""Components: how class bodies become instances, and instances become a tree.

What a class body declares is copied for each instance; what `__init__` assigns is added. Every
component knows its parent and its name there, so that each symbol has a dotted path.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import ModelError, UnknownAttributeError, did_you_mean
from ..expressions.array_interface import ArrayInterface
from ..expressions.expression import Leaf
from ..expressions.symbol_kinds import SymbolKind
from ..source import user_source
from .class_checks import check_methods, check_name, check_nothing_lost, initialize
from .component_arrays import ComponentArray
from .declarations import Declaration
from .symbols import Symbol

Child = Symbol | Any  # a Symbol, a Component, or a ComponentArray


def is_declared(value: Any) -> bool:
    """Whether a value in a class body, or assigned to an attribute, becomes part of the model."""
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and all(is_declared(member) for member in value)
    return isinstance(value, (Declaration, ComponentArray)) or isinstance(type(value), ComponentMeta)


def is_component(value: Any) -> bool:
    """Whether a value is a component or an array of them, or the class of one."""
    return isinstance(value, (Component, ComponentArray, ComponentMeta))


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
        check_methods(cls, body)
        cls._declared: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            for attribute, value in vars(base).items():
                if is_declared(value):
                    check_name(attribute, cls)
                    before = cls._declared.get(attribute)
                    if base is cls and is_component(before) and is_component(value):
                        from .replacement import check_replacement  # it looks into components

                        check_replacement(f"{name}.{attribute}", before, value, user_source())
                    cls._declared[attribute] = value
                elif attribute in cls._declared:
                    raise ModelError(
                        f"{base.__name__}.{attribute} replaces a {_kind(cls._declared[attribute])} by "
                        f"{value!r} ({user_source()}). Declare it as one again, with the new value."
                    )

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.construct(None, args, kwargs)

    def construct(cls, count: int | None, args: tuple, kwargs: dict) -> Any:
        """An instance; with a count, the one that stands for that many copies."""
        component: Any = object.__new__(cls)  # type: ignore[arg-type]
        component._parent, component._name, component._count = None, "", count
        component._arguments, component._changes = (args, kwargs), None
        component._outer = component._written = None
        for name, value in cls._declared.items():
            component._attach(name, fresh_copy(value))
        initialize(component, args, kwargs)
        if component._changes is None:
            check_nothing_lost(cls, kwargs)
        elif component._changes:
            from .changes import apply_changes  # it walks components: it comes after them

            apply_changes(component, component._changes)
        return component


class Component(metaclass=ComponentMeta):
    """What models and connectors have in common. Attributes are declarations or plain values."""

    # Kept out of __dict__, where only what the user wrote may stand.
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_arguments",
        "_changes",
        "_count",
        "_name",
        "_outer",
        "_parent",
        "_written",
    )

    def __init__(self, *values: Any, **changes: Any):
        if values:
            names = ", ".join(f"{name}=..." for name in list(type(self)._declared)[:3])
            raise ModelError(
                f"{type(self).__name__} takes values by name, not {values[0]!r} ({user_source()}): "
                f"{type(self).__name__}({names})."
            )
        self._changes = changes

    @classmethod
    def array(cls, n: int, /, *args: Any, **changes: Any) -> ComponentArray:
        """Make `n` copies, as one component with a leading axis; they are never unrolled.

        Parameters
        ----------
        n : int
            The number of copies, at least one.
        *args
            Arguments of `__init__`, the same for all copies.
        **changes : number, array, dict or expression
            Values by name, as for one component: shared, or with a leading axis of length n.

        Returns
        -------
        ComponentArray
            To be assigned to an attribute. `self.r[0]`, `self.r[1:]`, `self.r[[0, 2]]` are parts of it, and
            `self.r.u` is the expression of all u, with a leading axis.

        Raises
        ------
        ModelError
            If n is no positive integer, or a name or a shape is wrong.

        Examples
        --------
        >>> from modia_py import Model
        >>> from modia_py.models.electrical import Resistor
        >>> class Bank(Model):
        ...     r = Resistor.array(3, R=[1.0, 2.0, 3.0])
        >>> Bank().r.u.shape, Bank().r[1:].u.shape, Bank().r[0].u.shape
        ((3,), (2,), ())
        """
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
                f"{type(self).__name__}({name}=...) or when simulating; an equation is written "
                f"self.{name} == ..., in the list that `equations` returns."
            )
        if isinstance(value, dict) and any(map(is_declared, value.values())):
            raise ModelError(
                f"{type(self).__name__}.{name} is a dict of declarations ({user_source()}): use a list, or "
                f"an attribute for each."
            )
        if is_declared(value):
            check_name(name, type(self))
            self._attach(name, value)
        else:
            self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in Component.__slots__:
            raise AttributeError(name)
        kind = type(self).__name__
        annotated = any(name in vars(base).get("__annotations__", ()) for base in type(self).__mro__)
        hint = f"`{name}: ...` in a class only says of which type it is: write {name} = Var()."
        raise UnknownAttributeError(
            f"{kind} has no attribute '{name}' ({user_source()}). "
            f"{hint if annotated else did_you_mean(name, self.__dict__)}"
        )

    def __repr__(self) -> str:
        path = ".".join(name for name, _ in self._segments())
        return f"<{type(self).__name__} {path}>" if path else f"<{type(self).__name__}>"

    def _is_own(self, value: Any) -> bool:
        """Whether an attribute value was declared here (and is not an expression kept for later)."""
        if isinstance(value, Leaf):
            return value.kind is not SymbolKind.TIME and value.symbol.component is self and not value.order
        return is_declared(value)

    def _attach(self, name: str, value: Any) -> None:
        self.__dict__[name] = self._adopt(name, value)

    def _adopt(self, name: str, value: Any) -> Any:
        if isinstance(value, (list, tuple)):  # nested as deep as the user wrote brackets
            return type(value)(self._adopt(f"{name}[{k}]", member) for k, member in enumerate(value))
        if isinstance(value, Declaration):
            if getattr(value, "is_flow", False) and hasattr(type(self), "equations"):
                raise ModelError(
                    f"{type(self).__name__}.{name} is a Flow ({user_source()}): flows belong to connectors."
                )
            if value.kind is SymbolKind.DISCRETE and not hasattr(type(self), "equations"):
                raise ModelError(
                    f"{type(self).__name__}.{name} is a Discrete in a connector ({user_source()}): "
                    f"connections equate continuous variables. Declare a Var, and give it its value by an "
                    f"equation: self.port.y == self.on."
                )
            return value.symbol(name, self).leaf()
        if isinstance(value, ComponentArray) and value._shape != value._lead:
            raise ModelError(
                f"{type(self).__name__}.{name} is only a part of a component array ({user_source()}): "
                f"declare an array of that length."
            )
        if value is self or value in self._ancestors():
            raise ModelError(f"{type(self).__name__}.{name} would contain itself ({user_source()}).")
        component = value._component if isinstance(value, ComponentArray) else value
        if component._parent is not None:
            raise ModelError(
                f"{type(self).__name__}.{name} is the component that is already "
                f"`{'.'.join(part for part, _ in component._segments())}` ({user_source()}). Make a new "
                f"one for each name."
            )
        component._parent, component._name = self, name
        return value

    def _replace(self, name: str, value: Any) -> None:
        """Put another component in the place of the one of that name, here or in a list."""
        base, *numbers = name.split("[")
        if not numbers:
            self.__dict__[name]._parent = None
            self._attach(name, value)
            return
        self.__dict__[base] = self._with_member(self.__dict__[base], name, base, value)

    def _with_member(self, members: Any, name: str, path: str, value: Any) -> Any:
        found = []
        for k, member in enumerate(members):
            own = f"{path}[{k}]"
            if own == name:
                member = self._adopt(name, value)
            elif isinstance(member, (list, tuple)):
                member = self._with_member(member, name, own, value)
            found.append(member)
        return type(members)(found)

    def _segments(self) -> list[tuple[str, bool]]:
        segments = []
        component: Component | None = self
        while component is not None and component._parent is not None:
            segments.append((component._name, component._count is not None))
            component = component._parent
        return segments[::-1]

    def _ancestors(self) -> list[Component]:
        ancestors = []
        component = self._parent
        while component is not None:
            ancestors.append(component)
            component = component._parent
        return ancestors

    def _children(self) -> Iterator[tuple[str, Child]]:
        """Name and value of everything declared here: symbols, components, component arrays."""
        stack = list(reversed(vars(self).items()))
        while stack:
            path, value = stack.pop()
            if isinstance(value, (list, tuple)):
                members = [(f"{path}[{k}]", member) for k, member in enumerate(value)]
                stack.extend(reversed(members))
            elif isinstance(value, Leaf):
                if self._is_own(value) and value.symbol.name == path:  # else it is kept under a second name
                    yield path, value.symbol
            elif isinstance(value, (Component, ComponentArray)):
                component = value._component if isinstance(value, ComponentArray) else value
                if component._parent is None:  # appended to a list after it was assigned
                    self._adopt(path, value)
                if component._parent is self and component._name == path:
                    yield path, value


def fresh_copy(value: Any) -> Any:
    """A class-body declaration for one more instance: components are constructed again."""
    if type(value) in (list, tuple):
        return type(value)(fresh_copy(member) for member in value)
    if type(value) is dict:
        return {name: fresh_copy(member) for name, member in value.items()}
    if isinstance(value, ComponentArray):
        component = value._component
        again = type(component).construct(component._count, *map(fresh_copy, component._arguments))
        return ComponentArray(again, value._lead, value._index)
    if isinstance(value, Component) and value._outer:
        from .surroundings import outer  # it looks into components

        again = outer(value._outer, *fresh_copy(value._arguments[0]))
        again._written = value._written
        return again
    if isinstance(value, Component):
        return type(value).construct(None, *map(fresh_copy, value._arguments))
    return value


def _kind(value: Any) -> str:
    if isinstance(value, Leaf):
        return type(value.symbol.declaration).__name__
    if isinstance(value, ComponentArray):
        return f"{type(value._component).__name__} array"
    return type(value).__name__
