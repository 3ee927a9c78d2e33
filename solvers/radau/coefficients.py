"""Radau IIA with three stages, of order five: collocation at c = (4-sqrt 6)/10, (4+sqrt 6)/10 and 1.

    X_i = x_n + Z_i,    h Xdot_i = sum_j B_ij Z_j,    F(t_n + c_i h, X_i, Xdot_i) = 0,    B = A^-1,

A being the integrals of Lagrange's polynomials of the c_i from 0 to c_i. The last stage is the new value:
constraints hold there as exactly as they are solved, and xdot is that of the equations. X_i and x_n lie on
a polynomial of degree three whose slope at the stages is Xdot_i: that is the output within the step.

B has a real eigenvalue and two conjugate complex ones. With W = V^-1 Z, V its eigenvectors, Newton's
iteration falls into a real linear system and a complex one.

Source: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, sections IV.5 and IV.8; for index
2 and 3 chapters VI and VII.
"""

from __future__ import annotations

import numpy as np

from ..method.coefficients import DIFFERENCES, SIGNED_BINOMIALS
from ..method.formula import RADAU_NODES

ORDER = 5
DEGREE = 3
"""Of the polynomial within a step, in the table of differences that the output is interpolated by."""
NODES = np.array(RADAU_NODES)

_POWERS = np.arange(3)
_INTEGRALS = NODES[:, None] ** (_POWERS + 1) / (_POWERS + 1)
B = np.vander(NODES, increasing=True) @ np.linalg.inv(_INTEGRALS)
"""A^-1: slopes of the stages, times h, from Z."""

REAL = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
COMPLEX = 3 + 0.5 * (3 ** (1 / 3) - 3 ** (2 / 3)) + 0.5j * (3 ** (5 / 6) + 3 ** (7 / 6))
"""Eigenvalues of B, and the conjugate of the second."""


def _eigenvector(eigenvalue: complex) -> np.ndarray:
    """Perpendicular to two rows of B - eigenvalue, and so to the third."""
    first, second, _ = B - eigenvalue * np.eye(3)
    found = np.cross(first, second)
    return found / found[2]


OF_REAL, OF_COMPLEX = np.real(_eigenvector(REAL)), _eigenvector(COMPLEX)
"""Z = OF_REAL W_1 + 2 Re(OF_COMPLEX W_2)."""
_INVERSE = np.linalg.inv(np.stack([OF_REAL, OF_COMPLEX, np.conj(OF_COMPLEX)], axis=1))
TO_REAL, TO_COMPLEX = np.real(_INVERSE[0]), _INVERSE[1]
"""W_1 = TO_REAL Z, W_2 = TO_COMPLEX Z."""

ERROR = np.array([-13 - 7 * np.sqrt(6), -13 + 7 * np.sqrt(6), -1]) / (3 * REAL)
"""The embedded formula of order three differs from the new value by h/REAL xdot_n + ERROR Z."""


def _lagrange(points: np.ndarray) -> np.ndarray:
    """Values at points s of the polynomial through 0 at s = 0 and Z_i at c_i, as a matrix for Z."""
    powers = np.arange(1, 4)
    return points[:, None] ** powers @ np.linalg.inv(NODES[:, None] ** powers)


_BACK = 1.0 - np.arange(DEGREE + 1)
TO_DIFFERENCES = np.zeros((DIFFERENCES, 3))
"""Backward differences of that polynomial at the end of the step, at the distance h, from Z; x_n is still
to be added to the first."""
TO_DIFFERENCES[: DEGREE + 1] = SIGNED_BINOMIALS[: DEGREE + 1, : DEGREE + 1] @ _lagrange(_BACK)

_FINE = np.linspace(0.0, 1.0, 1001)
BETWEEN = float(np.max(np.abs(_FINE * np.prod(_FINE[:, None] - NODES, axis=1))))
"""Error of cubic interpolation through 0 and the nodes, in units of h^4 x''''/4!."""
