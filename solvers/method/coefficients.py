"""Coefficients of the differentiation formulas of order 1 to 5, in backward differences.

Notation. The last k+1 values at equal distances h are kept as backward differences

    D[0] = x_n,  D[1] = x_n - x_(n-1),  D[j] = D[j-1] at n  -  D[j-1] at n-1,

the Newton form of the polynomial through them,

    P(t_n + s*h) = sum_j D[j] * s (s+1) ... (s+j-1) / j!.

The next value is x = x_pred + d with x_pred = D[0] + ... + D[k]. The numerical differentiation formula
of order k reads

    h * xdot = sum_(j=1..k) gamma_j D[j]  +  alpha_k d,     gamma_j = 1 + 1/2 + ... + 1/j,

with alpha_k = (1 - kappa_k) gamma_k; kappa = 0 gives the BDF. Its local error is about
(kappa_k gamma_k + 1/(k+1)) d.

Source: L. F. Shampine, M. W. Reichelt, The MATLAB ODE suite, SIAM J. Sci. Comput. 18 (1997), table 1.
"""

from __future__ import annotations

from math import comb

import numpy as np

MAX_ORDER = 5
DIFFERENCES = MAX_ORDER + 3
"""Rows of D: order 5 needs 0..5, and two more to judge an increase of the order."""

KAPPA_NDF = np.array([0.0, -0.1850, -1 / 9, -0.0823, -0.0415, 0.0])
KAPPA_BDF = np.zeros(MAX_ORDER + 1)

_ORDERS = np.arange(DIFFERENCES)
HARMONIC = np.concatenate(([0.0], np.cumsum(1.0 / _ORDERS[1:])))
"""gamma_j."""


def leading(kappa: np.ndarray) -> np.ndarray:
    """alpha_k for k = 0..5; the step constant of the iteration is c = h / alpha_k."""
    return (1.0 - kappa) * HARMONIC[: MAX_ORDER + 1]


def error_constants(kappa: np.ndarray) -> np.ndarray:
    """Error of one step of order k in units of the (k+1)-th difference, for k = 0..5 (k = 0: unused)."""
    return kappa * HARMONIC[: MAX_ORDER + 1] + 1.0 / (np.arange(MAX_ORDER + 1) + 1.0)


PREDICT = np.array(
    [
        [np.where(k >= _ORDERS, 1.0, 0.0), np.where(k >= _ORDERS, HARMONIC, 0.0)]
        for k in range(MAX_ORDER + 1)
    ]
)
"""PREDICT[k] @ D = (x_pred, h * xdot_pred)."""


def _advance(order: int) -> np.ndarray:
    """Matrix A with D_next = A @ [D; d]: the differences one step later, with x = x_pred + d.

    D_next[order+1] = d is what the corrector changed, D_next[order+2] is how that changed, and below
    every difference is the old one plus the next higher new one.
    """
    matrix = np.zeros((DIFFERENCES, DIFFERENCES + 1))
    matrix[order + 2, DIFFERENCES] = 1.0
    matrix[order + 2, order + 1] = -1.0
    matrix[order + 1, DIFFERENCES] = 1.0
    for row in range(order, -1, -1):
        matrix[row] = matrix[row + 1]
        matrix[row, row] += 1.0
    return matrix


ADVANCE = np.array([_advance(k) for k in range(MAX_ORDER + 1)])

SIGNED_BINOMIALS = np.array(
    [[(-1.0) ** i * comb(m, i) for i in range(DIFFERENCES)] for m in range(DIFFERENCES)]
)
"""Differences from values: D[m] = sum_i (-1)^i binom(m, i) x_(n-i)."""
