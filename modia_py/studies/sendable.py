"""How a translated model travels to another process: its class, and what it was made with.

There it is made and translated again; programs that XLA has compiled are found in the cache on disk. A
digest of all that was declared tells whether what was made there is the same model.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..expressions.expression import Expr
from ..language.flat_model import FlatModel
from ..language.function_renewal import functions_of


@dataclass(frozen=True, eq=False)
class Recipe:
    """How to make a translated model again: `remake(model class, arguments, names, options, digest)`."""

    remake: Callable[..., Any]
    model_class: type
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    options: dict[str, Any]

    def reduced(self, digest: str) -> tuple[Any, ...]:
        """As pickle wants it."""
        return self.remake, (self.model_class, self.arguments, self.named, self.options, digest)

    def check(self, to_new_interpreters: bool) -> None:
        """ModelError if another process cannot make the model, with the reason."""
        own, name = self.model_class, self.model_class.__qualname__
        advice = f"Write the class {name} in a module (a file) that workers can import."
        if "<locals>" in name:
            raise ModelError(f"{name} is defined inside of a function: it cannot be sent. {advice}")
        if own.__module__ == "__main__":
            import __main__

            if to_new_interpreters or not hasattr(__main__, "__file__"):
                raise ModelError(
                    f"{name} is defined in __main__, which workers do not have: it cannot be sent. {advice}"
                )
        try:
            pickle.dumps((own, self.arguments, self.named))
        except Exception as error:
            raise ModelError(f"{name} or an argument of it cannot be sent ({error}). {advice}") from None


def model_digest(flat: FlatModel) -> str:
    """A number for all that was declared: equations as text, names, shapes, values."""
    found = hashlib.blake2b(digest_size=16)

    def add(*parts: Any) -> None:
        for part in parts:
            exact = not isinstance(part, (Expr, str)) and part is not None
            found.update(np.asarray(part).tobytes() if exact else str(part).encode())
            found.update(b"\0")

    add(flat.name)
    for group in (flat.variables, flat.parameters, flat.inputs, flat.discretes):
        for own in group:
            add(own.name, str(own.shape), str(own.lead))
            for word in ("init", "guess", "nominal", "value", "nonzero"):
                add(getattr(own.symbol, word, None))
    for entry in (*flat.equations, *flat.initial_equations):
        add(entry.owner.name, str(entry.owner.lead), str(entry.equation))
    for part in (*flat.relations, *flat.samples, *flat.left_limits, *flat.actions):
        add(part.owner.name, *(str(expr) for expr in part.part.expressions()))
    for primitive in functions_of(flat):
        code = getattr(primitive.use and primitive.use.function.evaluate, "__code__", None)
        add(primitive.name, "" if code is None else f"{code.co_code.hex()}{code.co_names}")
    return found.hexdigest()
