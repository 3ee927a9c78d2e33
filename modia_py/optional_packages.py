"""Packages that only some users need: imported when asked for, with a clear error when missing."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import MissingPackageError


def require(package: str, extra: str, purpose: str) -> Any:
    """The module of an optional package; `extra` is the extra of modia_py that installs it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingPackageError(
            f"{purpose} needs {package.partition('.')[0]}, which cannot be imported ({error}). "
            f'Install it with: pip install "modia_py[{extra}]"'
        ) from None
