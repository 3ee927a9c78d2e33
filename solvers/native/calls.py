"""The native functions that XLA calls: their names, and the names of the arrays they are given and change.

Both sides of the border use these: `attempt` puts arrays in this order, `handlers` finds them by the same
names.
"""

from __future__ import annotations

from ..xla.structures import Call

PREDICT = Call(
    "modia_py_predict",
    given=("table", "atol", "tightness", "limits"),
    changed=("x", "slope", "weights", "numbers"),
)
WEIGH = Call(
    "modia_py_weigh",
    given=("table", "atol", "tightness", "of_constraints", "of_slopes", "limits"),
    changed=("weights", "numbers"),
)
ITERATE = Call(
    "modia_py_iterate",
    given=(
        "delta",
        "limits",
        "weights",
        "tightness",
        "slope_places",
        "slope_atol",
        "of_constraints",
        "of_slopes",
    ),
    changed=("d", "x", "slope", "numbers"),
)
FINISH = Call(
    "modia_py_finish",
    given=("d", "limits", "atol", "tightness"),
    changed=("table", "weights", "x", "slope", "xdot", "numbers"),
)
STEP = Call(
    "modia_py_planned_step",
    given=(
        "program",
        "constants",
        "held",
        "parameters",
        "inputs",
        "pause",
        "is_fd",
        "lu",
        "scale",
        "rows",
        "stages",
        "stage_constants",
        "stage_lu",
        "stage_scale",
        "stage_rows",
        "limits",
        "atol",
        "tightness",
        "slope_places",
        "slope_atol",
        "of_constraints",
        "of_slopes",
        "stretches",
        "watch_program",
        "watch_constants",
        "watch_signs",
        "watch_slack",
    ),
    changed=(
        "d",
        "x",
        "slope",
        "weights",
        "table",
        "xdot",
        "numbers",
        "sides",
        "crossed",
        "xdot_before",
    ),
)
"""Steps, all but their matrix, for a residual that native code evaluates (`Problem.planned`). Whoever
provides that provides this function, too. `held` are the times between which equations are evaluated,
`pause` the time and the number of attempts at which to return. `stages` are those of inline integration
(`inlined_contract.Inlined.data`), with the factors of their small matrices one after the other; if there
are none, the corrector is that of `program`, with `lu`, `scale` and `rows`. `watch_...` are functions in
which crossings are looked for after each step, in `stretches`: signs * (what the program computes) + slack.
Where there are no `sides`, nothing is looked for."""
