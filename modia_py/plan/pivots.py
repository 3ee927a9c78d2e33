"""In which sequence linear rows are solved for which unknowns: pivots are chosen before anything runs.

The elimination itself is written once and for all, so a pivot has to be good for all values: it is looked
at in some points, in every mode of the model and for steps of no length. Among the good ones that pair of
row and unknown is taken that makes the least work (Markowitz 1957). What has no good pivot is left.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

GOOD, SMALLEST = 1e-3, 1e-7
"""Of a pivot, compared with the largest coefficient of its row. Units of unknowns may make it small; what
vanishes by cancellation is smaller."""
WORK_A_ROW = 200
"""Multiplications for each row, on average, that an elimination may take; a matrix with more is dense, and
better solved as one."""


def choose_pivots(
    rows: Sequence[dict[int, np.ndarray]],
    avoided: dict[int, int],
    judged: np.ndarray,
    kept: Collection[int] = (),
) -> list[tuple[int, int]]:
    """(row, unknown) in the order of elimination, for rows of coefficients at some points.

    avoided    how much better it is not to eliminate an unknown, where there is a choice
    kept       unknowns that are not to be eliminated
    judged     flags of the points at which the size of a pivot matters; at the others it must not vanish
    """
    left = {
        number: {k: a.copy() for k, a in row.items() if k not in kept} for number, row in enumerate(rows)
    }
    scale = [np.max(np.abs([*row.values()]), axis=0) if row else np.zeros(len(judged)) for row in rows]
    smallest, nothing = np.where(judged, SMALLEST, SMALLEST**2), np.where(judged, GOOD, 0.0)
    users: dict[int, set[int]] = {}
    for number, row in left.items():
        for unknown in row:
            users.setdefault(unknown, set()).add(number)
    budget, order = WORK_A_ROW * len(rows), []
    possible: dict[int, dict[int, bool]] = {}  # pivots, and whether they are not so good

    def look(number: int) -> None:
        sizes = {k: np.abs(a) for k, a in left[number].items()}
        with np.errstate(invalid="ignore"):
            possible[number] = {
                k: bool(np.any(size < nothing * scale[number]))
                for k, size in sizes.items()
                if np.all(size >= smallest * scale[number]) and np.all(size > 0)
            }

    for number in left:
        look(number)
    while left:
        best: tuple[tuple[int, int, int, int], int, int] | None = None
        for number, row in left.items():
            for unknown, is_small in possible[number].items():
                work = (len(row) - 1) * (len(users[unknown]) - 1)
                key = (avoided.get(unknown, 0), int(is_small), work, len(row))
                if best is None or key < best[0]:
                    best = key, number, unknown
            if best is not None and best[0][:3] == (0, 0, 0):
                break
        if best is None or best[0][2] > budget:
            break
        (_, _, work, _), number, unknown = best
        budget -= work
        order.append((number, unknown))
        row = left.pop(number)
        for k in row:
            users[k].discard(number)
        pivot = row[unknown]
        for other in sorted(users.pop(unknown, ())):
            target = left[other]
            factor = target.pop(unknown) / pivot
            for k, a in row.items():
                if k != unknown:
                    target[k] = target.get(k, 0.0) - factor * a
                    users[k].add(other)
            look(other)
    return order
