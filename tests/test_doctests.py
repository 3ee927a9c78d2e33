"""The examples in docstrings of `arrays/` and `solvers/`, and native code where nobody has run tests.

Their files are parts of the package modia_py only once it is installed: found as files, they would be
imported a second time under other names, and numba would keep native code for names that nobody else knows.
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import modia_py.arrays
import modia_py.solvers

MODULES = [
    module.name
    for package in (modia_py.arrays, modia_py.solvers)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_examples_are_found():
    assert "modia_py.solvers.solve" in MODULES
    assert "modia_py.arrays.transform" in MODULES
    finder = doctest.DocTestFinder()
    counts = [len(test.examples) for n in MODULES for test in finder.find(importlib.import_module(n))]
    assert sum(counts) > 50


def test_native_code_is_there_in_a_process_elsewhere(tmp_path):
    """What numba keeps on disk is found by whoever imports the package, wherever it is run."""
    program = (
        "from modia_py.plan import planned_function\n"
        "from modia_py.solvers.linear import band, klu\n"
        "from modia_py.solvers.native import attempt\n"
        "reasons = attempt.why_not(), band.why_not_native(), klu.why_not_native()\n"
        "print([*reasons, planned_function.is_native()])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['', '', '', True]"
