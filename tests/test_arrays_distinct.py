"""Sorted distinct values and differences equal numpy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modia_py.arrays.distinct import distinct, without

numbers = st.lists(st.integers(-5, 40), max_size=30)


@given(numbers, numbers)
def test_as_numpy(values, others):
    values, others = np.array(values, np.int64), np.array(others, np.int64)
    np.testing.assert_array_equal(distinct(values), np.unique(values))
    np.testing.assert_array_equal(without(values, others), np.setdiff1d(values, others))


SHAPES = [np.zeros((0, 3)), np.arange(6).reshape(2, 3) % 4, 7, [True, False, True]]


@pytest.mark.parametrize("values", SHAPES)
def test_other_shapes(values):
    np.testing.assert_array_equal(distinct(values), np.unique(values))
    assert distinct(values).dtype == np.unique(values).dtype
