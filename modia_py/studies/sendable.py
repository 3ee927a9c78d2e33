"""How a translated model travels to another process: its class, and what it was made with.

There it is made and translated again; programs that XLA has compiled are found in the cache on disk. A
digest of all that was declared tells whether what was made there is the same model.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError


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
