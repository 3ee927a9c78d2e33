"""Temporary."""

import numpy as np

try:
    from modia_py import where
except ImportError:
    where = np.where
