"""Linear dynamic blocks from u to y. Start values are those of their states: `FirstOrder(T=2.0, y=1.0)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from modia_py import Model, ModelError, Par, Var, der, where


class SISO(Model):
    """One input, one output."""

    u = Var(doc="input")
    y = Var(doc="output")


class Integrator(SISO):
    """der(y) = k u."""

    k = Par(1.0, doc="gain")

    def equations(self) -> Any:
        return [der(self.y) == self.k * self.u]


class Derivative(SISO):
    """A derivative with a filter, k s / (T s + 1): T der(x) = u - x, y = k/T (u - x)."""

    k = Par(1.0, doc="gain")
    T = Par(0.01, nonzero=True, unit="s", doc="time constant of the filter")
    x = Var(doc="state")

    def equations(self) -> Any:
        return [
            self.T * der(self.x) == self.u - self.x,
            self.y == self.k / self.T * (self.u - self.x),
        ]


class Der(SISO):
    """y = der(u)."""

    def equations(self) -> Any:
        return [self.y == der(self.u)]


class FirstOrder(SISO):
    """T der(y) = k u - y."""

    k = Par(1.0, doc="gain")
    T = Par(1.0, nonzero=True, unit="s", doc="time constant")

    def equations(self) -> Any:
        return [self.T * der(self.y) == self.k * self.u - self.y]


class SecondOrder(SISO):
    """der(y) = yd, der(yd) = w (w (k u - y) - 2 D yd)."""

    k = Par(1.0, doc="gain")
    w = Par(1.0, unit="rad/s", doc="angular frequency")
    D = Par(1.0, doc="damping")
    yd = Var(doc="derivative of y")

    def equations(self) -> Any:
        return [
            der(self.y) == self.yd,
            der(self.yd) == self.w * (self.w * (self.k * self.u - self.y) - 2 * self.D * self.yd),
        ]


class PI(SISO):
    """T der(x) = u, y = k (x + u)."""

    k = Par(1.0, doc="gain")
    T = Par(1.0, nonzero=True, unit="s", doc="time constant")
    x = Var(doc="state")

    def equations(self) -> Any:
        return [self.T * der(self.x) == self.u, self.y == self.k * (self.x + self.u)]


class PID(SISO):
    """y = k (u + I + D): Ti der(I) = u, D = Nd (u - x), Td/Nd der(x) = u - x."""

    k = Par(1.0, doc="gain")
    Ti = Par(0.5, nonzero=True, unit="s", doc="time constant of the integrator")
    Td = Par(0.1, nonzero=True, unit="s", doc="time constant of the derivative")
    Nd = Par(10.0, nonzero=True, doc="how much faster the filter of the derivative is")
    I = Var(doc="integral of u/Ti")  # noqa: E741
    x = Var(doc="state of the derivative's filter")

    def equations(self) -> Any:
        slope = self.Nd * (self.u - self.x)
        return [
            self.Ti * der(self.I) == self.u,
            self.Td * der(self.x) == slope,
            self.y == self.k * (self.u + self.I + slope),
        ]


class LimPID(Model):
    """A PID controller with limited output and compensation of the wind-up of its integrator.

        y0 = k (wp u_s - u_m + I + D),  y = y0 within yMin ... yMax
        Ti der(I) = u_s - u_m + (y - y0)/(k Ni)
        D = Nd (wd u_s - u_m - x),  Td/Nd der(x) = wd u_s - u_m - x

    Parameters
    ----------
    controllerType : str
        "P", "PI", "PD" or "PID": which terms there are.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    k = Par(1.0, nonzero=True, doc="gain")
    Ti = Par(0.5, nonzero=True, unit="s", doc="time constant of the integrator")
    Td = Par(0.1, nonzero=True, unit="s", doc="time constant of the derivative")
    yMax = Par(1.0, doc="upper limit")
    wp = Par(1.0, doc="weight of the set point in P")
    wd = Par(0.0, doc="weight of the set point in D")
    Ni = Par(0.9, nonzero=True, doc="how fast the integrator follows the limits: Ni Ti")
    Nd = Par(10.0, nonzero=True, doc="how much faster the filter of the derivative is")
    u_s = Var(doc="set point")
    u_m = Var(doc="measurement")
    y = Var(doc="output")
    y0 = Var(doc="output without limits")

    def __init__(self, controllerType: str = "PID", **changes: Any):
        if controllerType not in ("P", "PI", "PD", "PID"):
            raise ModelError(
                f'LimPID: controllerType is one of "P", "PI", "PD", "PID", not {controllerType!r}.'
            )
        self.terms = controllerType
        self.yMin = Par(-self.yMax, doc="lower limit")
        if "I" in self.terms:
            self.I = Var(doc="integral")
        if "D" in self.terms:
            self.x = Var(doc="state of the derivative's filter")
        super().__init__(**changes)

    def equations(self) -> Any:
        total = self.wp * self.u_s - self.u_m
        equations = []
        if "I" in self.terms:
            total = total + self.I
            tracking = (self.y - self.y0) / (self.k * self.Ni)
            equations += [self.Ti * der(self.I) == self.u_s - self.u_m + tracking]
        if "D" in self.terms:
            slope = self.Nd * (self.wd * self.u_s - self.u_m - self.x)
            total = total + slope
            equations += [self.Td * der(self.x) == slope]
        limited = where(self.y0 > self.yMax, self.yMax, where(self.y0 < self.yMin, self.yMin, self.y0))
        return [*equations, self.y0 == self.k * total, self.y == limited]


class CriticalDamping(SISO):
    """A low-pass filter of order n with n equal poles: der(x[k]) = w (x[k-1] - x[k]), y = x[n-1].

    x[-1] stands for u; w = 2 pi f / alpha, and alpha = sqrt(2^(1/n) - 1), so that f is where the amplitude
    is down by 3 dB.

    Parameters
    ----------
    n : int
        Order.
    normalized : bool
        Whether f is where the amplitude is down by 3 dB; else alpha = 1.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    f = Par(1.0, unit="Hz", doc="cut-off frequency")

    def __init__(self, n: int = 2, normalized: bool = True, **changes: Any):
        self.n = n
        self.alpha = np.sqrt(2.0 ** (1 / n) - 1) if normalized else 1.0
        self.x = Var(n, doc="states")
        super().__init__(**changes)

    def equations(self) -> Any:
        x, w = self.x, 2 * np.pi * self.f / self.alpha
        before = self.u[None] if self.n == 1 else np.concatenate([self.u[None], x[:-1]])
        return [der(x) == w * (before - x), self.y == x[-1]]


class SlewRateLimiter(SISO):
    """y follows u within the time Td, not faster than Falling ... Rising: der(y) = (u - y)/Td, limited.

    Reaching a limit is an event. By default Falling = -Rising.

    Parameters
    ----------
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    Rising = Par(1.0, unit="1/s", doc="largest slope")
    Td = Par(0.001, nonzero=True, unit="s", doc="time constant")

    def __init__(self, **changes: Any):
        self.Falling = Par(-self.Rising, unit="1/s", doc="smallest slope")
        super().__init__(**changes)

    def equations(self) -> Any:
        slope = (self.u - self.y) / self.Td
        below = where(slope < self.Falling, self.Falling, slope)
        return [der(self.y) == where(slope > self.Rising, self.Rising, below)]


class TransferFunction(SISO):
    """y = b(s)/a(s) u, with the coefficients of the highest power first, in controllable form.

    Parameters
    ----------
    b, a : sequence of float
        Coefficients of numerator and denominator; b has no more than a.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    def __init__(self, b: Sequence[float] = (1.0,), a: Sequence[float] = (1.0, 1.0), **changes: Any):
        numerator, denominator = np.atleast_1d(b), np.atleast_1d(a)
        self.order = len(denominator) - 1
        if denominator.ndim > 1 or self.order < 1 or len(numerator) > len(denominator):
            raise ModelError(
                f"TransferFunction: b={b}, a={a}. There are two coefficients a or more, and no more b "
                f"than a: what grows with the frequency differentiates; a small time constant ends that."
            )
        if denominator[0] == 0:
            raise ModelError(
                f"TransferFunction: a={a} begins with zero. The first coefficient is that of the highest "
                f"power: leave leading zeros out."
            )
        self.b = Par(
            np.concatenate([np.zeros(len(denominator) - len(numerator)), numerator]), doc="numerator"
        )
        self.a = Par(np.asarray(a, float), nonzero=False, doc="denominator")
        self.x = Var(self.order, doc="states: the highest derivative first")
        super().__init__(**changes)

    def equations(self) -> Any:
        a, b, x = self.a, self.b, self.x
        highest = (self.u - a[1:] @ x) / a[0]
        derivatives = highest[None] if self.order == 1 else np.concatenate([highest[None], x[:-1]])
        return [der(x) == derivatives, self.y == b[0] * highest + b[1:] @ x]


class StateSpace(Model):
    """der(x) = A x + B u, y = C x + D u.

    Parameters
    ----------
    A, B, C : matrix
        Their rows and columns are states, inputs and outputs.
    D : matrix, optional
        Zero if it is not given.
    **changes
        Other values of parameters, and start values, by name: see `Model`.
    """

    def __init__(self, A: Any, B: Any, C: Any, D: Any = None, **changes: Any):
        A, B, C = (np.atleast_2d(np.asarray(matrix, float)) for matrix in (A, B, C))
        self.A, self.B, self.C = Par(A), Par(B), Par(C)
        self.D = Par(np.zeros((len(C), B.shape[1])) if D is None else np.atleast_2d(D))
        self.x, self.u, self.y = Var(len(A), doc="states"), Var(B.shape[1]), Var(len(C))
        super().__init__(**changes)

    def equations(self) -> Any:
        return [
            der(self.x) == self.A @ self.x + self.B @ self.u,
            self.y == self.C @ self.x + self.D @ self.u,
        ]
