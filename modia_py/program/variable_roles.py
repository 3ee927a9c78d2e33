"""Which variables a translated model keeps as states, and which are others by another name."""

from __future__ import annotations

import numpy as np

from ..arrays.index1 import Slot
from ..lowering.value_map import base_and_order
from .translation import Translation

STATE, ALIAS = "state", "alias"


def variable_roles(translation: Translation) -> dict[str, str]:
    """The role of variables that have one, by name.

    A variable is a state if some of its elements are in x; an alias if all of them are others, but for the
    sign, or zero.
    """
    model, transformed = translation.structure, translation.transformed
    form, found = transformed.form, transformed.simplified.found
    variables = model.flat.variables
    base, _ = base_and_order(model, transformed)
    states = np.zeros(len(variables), bool)
    states[model.variable_of[base[form.value[form.kind == Slot.STATE]]]] = True
    gone = np.zeros(model.base_count, bool)
    same = np.concatenate([found.aliases, found.zero, found.arbitrary])
    gone[same[same < model.base_count]] = True
    left = np.bincount(model.variable_of[: model.base_count][~gone], minlength=len(variables)) > 0
    roles = {variable.name: ALIAS for variable, has_own in zip(variables, left, strict=True) if not has_own}
    return {**roles, **{variables[k].name: STATE for k in np.flatnonzero(states).tolist()}}
