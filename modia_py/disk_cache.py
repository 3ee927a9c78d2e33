"""Compiled programs kept on disk, so that the next process need not compile them again.

They lie in the user's cache directory, under a name for this version of JAX and this kind of processor;
`MODIA_PY_CACHE` is another directory, or `off`. JAX itself writes and reads them, and compiles anew what it
cannot read. Where a program of the user has chosen a directory of JAX's own, that is left as it is.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
from pathlib import Path

import jax
import jaxlib

MOST_BYTES = 500_000_000
"""What was used longest ago is deleted when there is more."""
OFF = ("off", "0", "no", "false", "none")
"""What people write to switch it off; no directory is made of these names."""
SHORTEST_COMPILATION = 0.02
"""Seconds; what takes less is not worth a file."""


def use_disk_cache() -> Path | None:
    """Let JAX keep compiled programs on disk. Where; None if it is not to, or cannot."""
    chosen = os.environ.get("MODIA_PY_CACHE", "")
    if chosen.lower() in OFF or getattr(jax.config, "jax_compilation_cache_dir", None) is not None:
        return None
    directory = Path(chosen or _user_directory()).absolute() / _this_machine()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:  # a home that cannot be written to: everything is compiled each time, as before
        return None
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", SHORTEST_COMPILATION)
    trim(directory)
    return directory


def trim(directory: Path, most: int = MOST_BYTES) -> None:
    """Delete what was used longest ago, until what is left is small enough."""
    with contextlib.suppress(OSError):
        found = [(entry, entry.stat()) for entry in os.scandir(directory) if entry.is_file()]
        total = sum(about.st_size for _, about in found)
        for entry, about in sorted(found, key=lambda pair: max(pair[1].st_atime, pair[1].st_mtime)):
            if total <= most:
                return
            with contextlib.suppress(OSError):  # another process may have been faster
                os.unlink(entry.path)
            total -= about.st_size


def _user_directory() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "modia_py"


def _this_machine() -> str:
    """A name for what compiled programs depend on besides themselves: a home may be shared by machines."""
    processor = platform.machine() + platform.processor()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor += "".join(
            sorted({line for line in lines if line.startswith(("flags", "model name", "Features"))})
        )
    digest = hashlib.sha256(processor.encode()).hexdigest()[:12]
    return f"jax-{jax.__version__}-{jaxlib.__version__}-{digest}"
