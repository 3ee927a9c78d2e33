"""What a run has found is kept for the next one, under a digest of all numbers that it depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np

Found = TypeVar("Found")


def digest_of(*parts: Any) -> bytes:
    """A number for all arrays in trees: other values, shapes or types have another one."""
    found = hashlib.blake2b(digest_size=32)
    for part in jax.tree.leaves(parts):
        array = np.asarray(part)
        found.update(f"{array.dtype}{array.shape}".encode())
        found.update(array.tobytes())
    return found.digest()


def remembered(known: dict[bytes, Found], key: bytes, most: int, find: Callable[[], Found]) -> Found:
    """What is known under a key, or found now; the oldest is forgotten where there are too many."""
    if key not in known:
        found = find()
        while len(known) >= most:
            known.pop(next(iter(known)), None)
        known[key] = found
        return found
    return known[key]
