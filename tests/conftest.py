"""Fixtures of many tests."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["native", "jax"])
def loop(request):
    """Which loop makes the steps: what `solve` promises, both keep."""
    return request.param
