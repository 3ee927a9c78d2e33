"""What translation did to a model, on a screen or two: `CompiledModel.report()`."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from ..arrays.index1 import Slot
from ..arrays.structure import NONE
from ..expressions.printing import LONGEST_IN_LISTS
from ..lowering.differentiated_jumps import times_differentiated
from ..lowering.solved_loops import solved_loops
from ..plan.elimination import count_operations
from ..program.node_names import NodeNames
from ..program.translation import Translation
from .transformed_equations import derived_text

LISTED = 12
WIDTH = 100
WORDS = {
    "alias": "another name for a variable, as connections make them: computed once, shown under each name",
    "zero": "a variable that the equations make zero, as a current that has nowhere to go",
    "redundant": "an equation that follows from others and is left out",
    "index": "1 + how often equations have to be differentiated until they determine all derivatives",
    "block": "equations that need each other, and are solved together; blocks follow one after the other",
    "special index-1 form": "0 = F(t, x, der(x)), of which the integrator finds x; rows are equations",
    "state": "differentiated; a start value can be chosen, as far as no constraint determines it",
    "algebraic unknown": "found anew at each step from the others, without memory",
    "integral": "x holds the integral of an unknown, such as a constraint force, and der(x) the unknown",
    "multiplier": "keeps a constraint and its derivatives at the same time; its size tells the error",
    "assigned": "follows from x and der(x) by a formula, and is no unknown of the integrator",
    "stage": "formulas that do not need each other, evaluated together",
    "tearing": "the choice of what is assigned and what remains an unknown in x",
    "inline integration": "method='inline-bdf' solves most of a step by formulas, and iterates the rest",
    "plan": "the equations as a list of operations, which native code runs; nothing is compiled for it",
    "linear solver": "what solves for the corrections of x within a step",
}
"""The words of a report, in the order in which they appear."""
PLAIN = (
    "index", "special index-1 form", "assigned", "tearing", "inline integration", "plan", "linear solver",
)  # fmt: skip
"""Those that stand without a number; of the others there are none if no number does."""
MOST_COUNTED = 3000
"""Equations of a loop whose operations are counted for a report."""
MOST_INLINED = 200
"""Unknowns of a model whose equations are sorted into stages for a report."""


def report_text(name: str, translation: Translation) -> str:
    """Every pass with its numbers, and names as far as they fit."""
    names = NodeNames(translation.structure, translation.transformed)
    sections = [
        _given(name, translation),
        _singularities(translation, names),
        _index(translation),
        _blocks(translation, names),
        _loops(translation, names),
        _form(translation, names),
        _inlined(translation, names),
        _numerics(translation),
    ]
    sections.append(_words([line for section in sections for line in section]))
    return "\n".join(line for section in sections for line in section)


def _given(name: str, translation: Translation) -> list[str]:
    flat = translation.structure.flat
    return [
        f"{name}: {_count(flat.size, 'equation')} for {_count(flat.unknowns, 'unknown')} "
        f"({_count(len(flat.equations), 'array equation')}, "
        f"{_count(len(flat.variables), 'array variable')}), "
        f"{_count(sum(p.size for p in flat.parameters), 'parameter')}, "
        f"{_count(sum(u.size for u in flat.inputs), 'input')}"
    ]


def _singularities(translation: Translation, names: NodeNames) -> list[str]:
    simplified = translation.transformed.simplified
    found, original = simplified.found, simplified.original
    left = simplified.structure
    unknowns = int(left.variable_size[left.integral_of_variable() == NONE].sum())
    lines = [
        f"after removing aliases and zeros: {int(left.equation_size.sum())} equations, {unknowns} unknowns"
    ]
    if len(found.aliases):
        some = [
            f"{original.variable_name(int(v))} = {'-' if found.alias_sign[v] < 0 else ''}"
            f"{original.variable_name(int(found.alias_of[v]))}"
            for v in found.aliases[:LISTED]
        ]
        lines.append(
            _list(f"{len(found.aliases)} alias{'es' * (len(found.aliases) > 1)}", some, len(found.aliases))
        )
    if len(found.zero):
        lines.append(_list(_count(len(found.zero), "zero"), names.original_variables(found.zero)))
    redundant = simplified.redundant_equations
    if len(redundant):
        texts = [original.equation_name(int(e)) for e in redundant[:LISTED]]
        lines.append(f"  {len(redundant)} redundant equations were left out:")
        lines += [f"    {text}" for text in texts]
    if simplified.hidden_count:
        lines.append(f"  {simplified.hidden_count} hidden constraints among states were found")
    return lines + [f"  warning: {text}" for text in simplified.warnings(translation.question)]


def _index(translation: Translation) -> list[str]:
    """How often equations were differentiated."""
    model, final = translation.structure, translation.transformed.structure
    original = translation.transformed.simplified
    times = times_differentiated(translation.transformed)
    most = int(times.max(initial=0))
    algebraic = bool((final.variable_derivative == NONE)[: final.variable_count].any())
    lines = [f"index {most + 1}" if most or algebraic else "index 0"]
    if most:
        lines[0] += ", by differentiating"
    flat_of = model.equation_of[original.equations]
    kinds, counts = np.unique(np.stack([-times, flat_of])[:, times > 0], axis=1, return_counts=True)
    for (often, number), count in list(zip(kinds.T.tolist(), counts.tolist(), strict=True))[:LISTED]:
        flat = model.flat.equations[number]
        parts = f", {count} parts" if count > 1 else ""
        lines.append(
            f"  {'once' if often == -1 else f'{-often} times'}: {derived_text(flat, 0, LONGEST_IN_LISTS)}"
            f"  ({flat.equation.source}{parts})"
        )
    if kinds.shape[1] > LISTED:
        lines.append(f"  ... and {kinds.shape[1] - LISTED} more")
    return lines


def _blocks(translation: Translation, names: NodeNames) -> list[str]:
    blocks = translation.transformed.blocks
    sizes = np.diff(blocks.variable_start)
    scalars = (
        np.add.reduceat(
            np.append(translation.transformed.structure.variable_size[blocks.variables], 0),
            blocks.variable_start[:-1],
        )
        if len(blocks)
        else np.zeros(0, int)
    )
    lines = [
        f"{_count(len(blocks), 'block')}, the largest of {_count(int(scalars.max(initial=0)), 'unknown')}"
    ]
    large = np.argsort(-scalars, kind="stable")[:4]
    for block in large[sizes[large] > 1].tolist():
        lines.append(_list(f"block of {int(scalars[block])}", names.variables(blocks.variables_of(block))))
    return lines


def _loops(translation: Translation, names: NodeNames) -> list[str]:
    """Loops that were torn by hints: what is varied, and what is left as residual."""
    lines = []
    transformed = translation.transformed
    structure = transformed.structure
    for loop in transformed.loops:
        size = int(structure.variable_size[loop.tears].sum())
        torn = _count(size, "tear variable")
        lines.append(
            f"loop of {loop.size}, by hints: {torn}{_operations(translation, loop.block, loop.size)}"
        )
        lines.append(_list("varied", names.variables(loop.tears)))
        lines += [f"  residual: {structure.equation_name(e)}" for e in loop.residues[:LISTED].tolist()]
        if len(loop.residues) > LISTED:
            lines.append(f"  ... and {len(loop.residues) - LISTED} more")
        if len(loop.more_tears):
            lines.append(_list("varied without a hint", names.variables(loop.more_tears)))
    for relaxed in transformed.form.loops:
        size = int(structure.equation_size[relaxed.equations].sum())
        together = [int(structure.variable_size[variables].sum()) for _, variables in relaxed.steps]
        lines.append(
            f"relaxed loop of {size}, eliminated in {_count(len(together), 'step')}, at most "
            f"{max(together)} unknowns together{_operations(translation, relaxed.block, size)}"
        )
        lines.append(_list("in this sequence", names.variables(relaxed.variables)))
    return lines


def _operations(translation: Translation, block: int, size: int) -> str:
    """What solving a loop amounts to, if it is linear."""
    if size > MOST_COUNTED:
        return ""
    model, transformed = translation.structure, translation.transformed
    (solved,) = solved_loops(model, transformed, translation.functions.value_map, [block])
    return "; not linear" if solved.count is None else f"; solved alone it takes {solved.count}"


def _form(translation: Translation, names: NodeNames) -> list[str]:
    form = translation.transformed.form
    loops = (loop.equations for loop in form.loops)
    assigned = np.concatenate([form.local_equations, *loops])
    local = int(form.structure.equation_size[assigned].sum())
    lines = [
        f"special index-1 form: {form.size} unknowns in x, {form.row_count} rows; {local} assigned locally "
        f"in {_count(len(translation.functions.value_map.stages), 'stage')}"
    ]
    titles = {
        Slot.STATE: "state",
        Slot.ALGEBRAIC: "algebraic unknown",
        Slot.LAMBDA: "integral",
        Slot.MU: "multiplier",
    }
    for kind in Slot:
        mine = np.flatnonzero(form.kind == kind)
        if not len(mine):
            continue
        scalars = int(form.slot_size()[mine].sum())
        if kind is Slot.MU:
            lines.append(f"  {_count(scalars, titles[kind])}, zero in the exact solution")
            continue
        held = form.derivative if kind is Slot.LAMBDA else form.value
        lines.append(_list(_count(scalars, titles[kind]), names.variables(held[mine])))
    if len(form.local_variables):
        lines.append(_list("assigned", names.variables(form.local_variables)))
    if translation.transformed.tearing:
        lines.append(f"  tearing: {translation.transformed.tearing}")
    return lines


def _inlined(translation: Translation, names: NodeNames) -> list[str]:
    """What method="inline-bdf" iterates; of large models if it has run."""
    functions, form = translation.functions, translation.transformed.form
    asked = "discretized" in vars(translation)
    if not functions.size or (functions.size > MOST_INLINED and not asked):
        return []
    found = translation.discretized
    if isinstance(found, str):
        return [f"inline integration: not possible, {found}"] if asked else []
    of_residual = count_operations(found.graph, found.roots.tolist())
    blocks = ", ".join(
        f"{count} of {size}" if count > 1 else str(size)
        for size, count in sorted(Counter(found.sizes).items(), reverse=True)[:LISTED]
    )
    tears = found.tears
    lines = [
        f"inline integration: {functions.size} unknowns in blocks of {blocks}; "
        f"{len(tears) or 'none'} iterated, in {_count(len(found.stages), 'stage')}",
        f"  equations take {of_residual}; with what is solved by formulas {found.operations}",
    ]
    slots = np.unique(np.searchsorted(functions.slot_offset, tears, side="right") - 1)
    of_value = np.where(form.kind == Slot.LAMBDA, form.derivative, form.value)[slots]
    mu = form.kind[slots] == Slot.MU
    texts = names.variables(of_value[~mu]) + [form.slot_name(k) for k in slots[mu].tolist()]
    return lines + ([_list("iterated", texts)] if texts else [])


def _numerics(translation: Translation) -> list[str]:
    chosen = translation.cache.linear_solver or "chosen at the first simulation"
    seconds = ", ".join(f"{stage} {value:.3g} s" for stage, value in translation.seconds.items())
    compiled = translation.cache.compile_seconds
    xla = "nothing is compiled yet" if compiled is None else f"XLA {compiled:.3g} s"
    return [_evaluation(translation), f"linear solver: {chosen}", f"times: {seconds}, {xla}"]


def _evaluation(translation: Translation) -> str:
    """How the equations are evaluated: by native code that reads a plan, or by code of XLA, and why."""
    functions = translation.functions
    if functions.plans is None:
        return f"equations: compiled by XLA, {functions.why_not_planned}"
    return f"equations: {functions.plans}"


def _words(lines: list[str]) -> list[str]:
    """What the words that have been used mean, in a line each."""
    said = "\n".join(lines)
    used = [word for word in WORDS if re.search(rf"{'' if word in PLAIN else r'[0-9] '}{word}", said)]
    width = max(map(len, used))
    return ["", "words:", *(f"  {word:{width}}  {WORDS[word]}" for word in used)]


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _list(title: str, texts: list[str], total: int | None = None) -> str:
    """A title and as many names as fit."""
    shown: list[str] = []
    length = 0
    for text in texts:
        length += len(text) + 2
        if shown and (length > WIDTH or len(shown) >= LISTED):
            break
        shown.append(text)
    left = (len(texts) if total is None else total) - len(shown)
    return f"  {title}: {', '.join(shown)}{f', and {left} more' if left > 0 else ''}"
