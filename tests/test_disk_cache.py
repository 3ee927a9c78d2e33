"""Compiled programs on disk: used again, harmless if damaged, bounded, and off if asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from modia_py.disk_cache import trim

PROGRAM = """
import jax
import modia_py
from modia_py.models.examples import Decay
result = modia_py.simulate(Decay(), 1.0)
print(repr(float(result.final("x"))), jax.config.jax_compilation_cache_dir)
"""


def run(**environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def files(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def test_damaged_programs_are_compiled_again(tmp_path):
    expected, where = run(MODIA_PY_CACHE=str(tmp_path))
    assert Path(where).is_relative_to(tmp_path)
    kept = files(tmp_path)
    assert kept
    assert run(MODIA_PY_CACHE=str(tmp_path))[0] == expected
    for number, path in enumerate(kept):
        data = bytearray(path.read_bytes())
        if number % 3 == 0:
            path.write_bytes(data[: len(data) // 2])
        elif number % 3 == 1:
            path.write_bytes(b"something else")
        else:
            data[len(data) // 2] ^= 0xFF
            path.write_bytes(data)
    assert run(MODIA_PY_CACHE=str(tmp_path))[0] == expected


def test_off_and_places_that_cannot_be_written(tmp_path):
    for off in ("off", "0"):
        assert run(MODIA_PY_CACHE=off)[1] == "None"
    assert not Path("0").exists()
    occupied = tmp_path / "file"
    occupied.write_text("not a directory")
    assert run(MODIA_PY_CACHE=str(occupied))[1] == "None"
    own = tmp_path / "of_jax"
    assert run(MODIA_PY_CACHE="", JAX_COMPILATION_CACHE_DIR=str(own))[1] == str(own)


def test_what_was_used_longest_ago_is_deleted(tmp_path):
    for k in range(4):
        path = tmp_path / f"program{k}"
        path.write_bytes(bytes(100))
        os.utime(path, (1000.0 + k, 1000.0 + k))
    trim(tmp_path, 250)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program2", "program3"]
    trim(tmp_path / "nowhere", 250)
