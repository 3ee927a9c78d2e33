"""How a run ended, as a number inside compiled code and as advice outside of it."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Outcome of `solve`. Everything computed before the end is kept, whatever the outcome.

    Attributes
    ----------
    RUNNING
        The integration is under way.
    SUCCESS
        The end of the interval was reached.
    CROSSING
        A zero crossing was located, and the run ended there.
    INTERRUPTED
        The user interrupted.
    MAX_STEPS
        The largest number of steps was reached.
    ERROR_TEST
        The error test failed with the smallest possible step.
    NEWTON
        The corrector did not converge with the smallest possible step.
    NON_FINITE
        The residual is NaN or infinite.
    SINGULAR
        The iteration matrix is singular.
    INCONSISTENT
        The start values, or those after a stop, do not satisfy the constraints.
    NEW_PIVOTS
        Inside a run only: the matrix is to be factorized with new pivots.
    VIOLATED
        The end was reached, but equations of the model do not hold at the output.
    TERMINATED
        An event has ended the run, as the problem wants it.
    CHATTERING
        Discrete values change for ever at one event.
    NO_RESTART
        No values were found with which to go on after an event.
    ZENO
        Events come faster and faster and accumulate.

    Examples
    --------
    >>> from modia_py.solvers import Status
    >>> Status.SUCCESS.failed, Status.NEWTON.failed
    (False, True)
    """

    RUNNING = 0
    SUCCESS = 1
    CROSSING = 2
    INTERRUPTED = 3
    MAX_STEPS = 4
    ERROR_TEST = 5
    NEWTON = 6
    NON_FINITE = 7
    SINGULAR = 8
    INCONSISTENT = 9
    NEW_PIVOTS = 10
    VIOLATED = 11
    TERMINATED = 12
    CHATTERING = 13
    NO_RESTART = 14
    ZENO = 15

    @property
    def failed(self) -> bool:
        """Whether this is a failure: not `RUNNING`, `SUCCESS`, `CROSSING` or `TERMINATED`."""
        return self not in (Status.RUNNING, Status.SUCCESS, Status.CROSSING, Status.TERMINATED)

    @property
    def advice(self) -> str:
        """What happened, as a sentence, and what to try."""
        return _ADVICE[self]


_ADVICE = {
    Status.RUNNING: "The integration is under way.",
    Status.SUCCESS: "The end of the interval was reached.",
    Status.CROSSING: "A zero crossing was found and located; integration stopped there.",
    Status.INTERRUPTED: "The run was interrupted. What was computed until then is kept.",
    Status.MAX_STEPS: "The largest number of steps was reached before the end. Try increasing "
    "`max_steps`, or loosen the tolerances; very many steps can also mean an "
    "oscillation or a discontinuity that is not declared as a zero crossing.",
    Status.ERROR_TEST: "The error test failed with the smallest possible step. The solution may be "
    "about to become infinite, jump, or have a kink here; declare jumps as zero "
    "crossings, or raise `atol` for variables that pass through zero. Late times are resolved coarsely: "
    "where a fast solution begins at a large t0, shift the time.",
    Status.NEWTON: "The corrector iteration did not converge with the smallest possible step. The "
    "equations may have no solution beyond this time, or be discontinuous; check "
    "the equations named by the largest residuals.",
    Status.NON_FINITE: "The residual is not finite (NaN or infinity), however small the step. Check "
    "for division by zero, a root or logarithm of a negative number, and the values"
    " of parameters.",
    Status.SINGULAR: "The iteration matrix is singular, however small the step. The named rows "
    "(equations) are dependent and the named columns (variables) are not "
    "determined: is an equation given twice, is the index higher than one, is a "
    "coefficient zero?",
    Status.INCONSISTENT: "The start values do not satisfy the constraint rows. Compute consistent ones "
    "with `consistent_start`, or fix fewer of them.",
    Status.VIOLATED: "The end of the interval was reached, but equations of the model do not hold at the "
    "output.",
    Status.TERMINATED: "An event has ended the run, as the model wants it.",
    Status.CHATTERING: "Chattering: at one event discrete values change again and again, and never "
    "settle. Two conditions may contradict each other, or switch each other on and off: use `pre` for "
    "values before the event, or thresholds that are apart (a hysteresis). A relay that holds its own "
    "variable at the threshold (a sliding mode) needs such a hysteresis, or a condition of its own for "
    "what holds there.",
    Status.NO_RESTART: "No values were found with which to go on after an event: the equations may have no "
    "solution with the new discrete values, or their matrix may be singular.",
    Status.ZENO: "Events come faster and faster, and accumulate here (Zeno behaviour, as of a ball that "
    "comes to rest). Model what holds afterwards: let the event set a Discrete that switches the motion "
    "off when it has become small.",
    Status.NEW_PIVOTS: "The matrix is to be factorized with new pivots.",
}
