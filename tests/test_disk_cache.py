"""Compiled programs on disk: used again, harmless if damaged, bounded, and off if asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from modia_py.disk_cache import trim

DAMAGES = """
import sys
from pathlib import Path
import jax
import modia_py
from modia_py.models.examples import Decay

hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event.endswith("/cache_hits")))

def run():
    # As in a new process: nothing that was compiled is left but what is on disk.
    jax.clear_caches()
    hits.clear()
    result = modia_py.translate(Decay()).simulate(1.0)
    print(repr(float(result.final("x"))), sum(hits))

run()
run()
files = sorted(path for path in Path(jax.config.jax_compilation_cache_dir).rglob("*") if path.is_file())
for number, path in enumerate(files):
    data = bytearray(path.read_bytes())
    if number % 3 == 0:
        path.write_bytes(data[: len(data) // 2])
    elif number % 3 == 1:
        path.write_bytes(b"something else")
    else:
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)
print(len(files), jax.config.jax_compilation_cache_dir)
run()
"""

PLACES = """
import os
import sys
import jax
import modia_py
from modia_py.disk_cache import use_disk_cache
from modia_py.models.examples import Decay

print(jax.config.jax_compilation_cache_dir)
for place in sys.argv[1:]:
    jax.config.update("jax_compilation_cache_dir", None)
    os.environ["MODIA_PY_CACHE"] = place
    use_disk_cache()
    print(jax.config.jax_compilation_cache_dir)
modia_py.simulate(Decay(), 1.0)
"""


def run(program: str, *arguments: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_damaged_programs_are_compiled_again(tmp_path):
    first, _, again, hits, files, where, last, _ = run(DAMAGES, MODIA_PY_CACHE=str(tmp_path))
    assert Path(where).is_relative_to(tmp_path)
    assert int(files) > 0
    assert int(hits) > 0
    assert first == again == last


def test_off_and_places_that_cannot_be_written(tmp_path):
    occupied, own = tmp_path / "file", tmp_path / "of_jax"
    occupied.write_text("not a directory")
    places = "off", "0", str(occupied), str(tmp_path / "ours")
    found = run(PLACES, *places, MODIA_PY_CACHE="", JAX_COMPILATION_CACHE_DIR=str(own))
    assert found[:4] == [str(own), "None", "None", "None"]
    assert Path(found[4]).is_relative_to(tmp_path / "ours")
    assert not Path("0").exists()


def test_what_was_used_longest_ago_is_deleted(tmp_path):
    for k in range(4):
        path = tmp_path / f"program{k}"
        path.write_bytes(bytes(100))
        os.utime(path, (1000.0 + k, 1000.0 + k))
    trim(tmp_path, 250)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program2", "program3"]
    trim(tmp_path / "nowhere", 250)
