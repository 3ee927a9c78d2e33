"""Trees of arrays put together and taken apart again."""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

from modia_py.solvers.joined import FEW, join, join_on_host


class Pair(NamedTuple):
    first: object
    second: object


def tree():
    small = Pair(np.asarray(2.5), np.arange(4.0).reshape(2, 2))
    counts = [np.asarray(7, np.int32), np.asarray(2**60, np.int64), np.zeros(0, bool), np.asarray(True)]
    return {"small": small, "long": np.arange(FEW + 1.0), "counts": counts, "nothing": None}


def assert_equal(found, wanted):
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(np.asarray(a, b.dtype), b, strict=True)


def test_what_is_joined_is_one_vector_for_each_type_and_the_long_arrays():
    joined = join_on_host(tree())
    assert sorted(str(array.dtype) for array in joined.arrays) == [
        "bool",
        "float64",
        "float64",
        "int32",
        "int64",
    ]
    assert_equal(joined.on_host(), tree())


def test_compiled_functions_take_and_return_joined_trees():
    calls = []

    @jax.jit
    def again(joined):
        calls.append(joined)
        return join(joined.split())

    once = again(join_on_host(tree()))
    assert_equal(again(once).on_host(), tree())
    assert len(calls) == 1, "the layout is the same, so nothing is traced anew"


def test_numbers_on_the_host_are_those_of_python_and_may_be_changed():
    joined = join_on_host(tree())
    seen = joined.on_host()
    assert type(seen["counts"][0]) is int
    assert type(seen["small"].first) is float
    assert seen["counts"][3] is True
    seen["counts"][0] = 8
    other = joined.changed_on_host(seen)
    assert other.layout is joined.layout
    assert other.on_host()["counts"][0] == 8
    assert [array.dtype for array in other.arrays] == [array.dtype for array in joined.arrays]
