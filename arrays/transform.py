"""All structural passes in order: from array equations to the special index-1 form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .blt import Blocks, blt, check_blt
from .constants import find_constants
from .diagnosis import Diagnosis, diagnose
from .hints import (
    HintedLoop,
    Hints,
    check_in_loops,
    differentiated_hints,
    hinted_loops,
    simplify_with_hints,
)
from .index1 import Index1Form, check_index1, special_index1
from .integer_equations import IntegerEquations
from .pantelides import IndexReduction, is_solvable_by_differentiation, pantelides
from .simplify import Simplified
from .stages import index1_with_few_stages
from .structure import NONE, Integers, Structure, extend_mask


class SingularStructure(ValueError):
    """A structure that cannot be solved; `diagnosis` says why, and so does the text.

    Parameters
    ----------
    diagnosis : Diagnosis
        Which parts cannot be solved.
    simplified : Simplified, optional
        If that shows only after singularities were removed: what was left out.
    """

    def __init__(self, diagnosis: Diagnosis, simplified: Simplified | None = None):
        texts = [str(diagnosis)]
        if simplified is not None and len(simplified.redundant_equations):
            texts.append("These equations follow from others, and were left out before:")
            names = map(simplified.original.equation_name, simplified.redundant_equations[:8].tolist())
            texts += [f"    {name}" for name in names]
        super().__init__("\n".join(texts))
        self.diagnosis = diagnosis
        self.simplified = simplified


@dataclass(frozen=True, eq=False)
class Transformation:
    """The result of every pass.

    Attributes
    ----------
    simplified : Simplified
        After the removal of singularities.
    reduction : Reduction
        After index reduction.
    blocks : Blocks
        In the order in which they are solved.
    form : Index1Form
        The special index-1 form.
    tearing : str
        What was done about assignments, and why.
    loops : tuple of HintedLoop
        Loops that were torn by hints.
    hints : Hints
        In the numbers of `structure`.
    """

    simplified: Simplified
    reduction: IndexReduction
    blocks: Blocks
    form: Index1Form
    tearing: str = ""
    loops: tuple[HintedLoop, ...] = ()
    hints: Hints = field(default_factory=Hints)

    @property
    def structure(self) -> Structure:
        """The structure with all derivatives."""
        return self.reduction.structure

    def block_names(self, most: int | None = None) -> list[list[str]]:
        """Name the variables of each block, in the order in which blocks are solved.

        Parameters
        ----------
        most : int, optional
            How many blocks; all if not given.

        Returns
        -------
        list of list of str
            One list for each block.
        """
        return [
            [self.structure.variable_name(int(v)) for v in self.blocks.variables_of(block)]
            for block in range(len(self.blocks) if most is None else min(most, len(self.blocks)))
        ]

    def slot_names(self) -> list[str]:
        """Name what the slots of x hold.

        Returns
        -------
        list of str
            Such as "s" or "integral(f)".
        """
        return [self.form.slot_name(slot) for slot in range(len(self.form.kind))]

    def report(self, most: int = 20) -> str:
        """Tell what every pass did.

        Parameters
        ----------
        most : int
            Blocks and slots that are listed.

        Returns
        -------
        str
            A screen of text.
        """
        lines = [f"given: {self.simplified.original}", f"singularities: {self.simplified}"]
        lines += [f"  warning: {text}" for text in self.simplified.warnings()]
        lines += [f"index reduction: {self.reduction}", f"sorting: {self.blocks}"]
        for block, names in enumerate(self.block_names(most)):
            lines.append(f"  block {block + 1}: {', '.join(names[:8])}{' ...' if len(names) > 8 else ''}")
        if len(self.blocks) > most:
            lines.append(f"  ... and {len(self.blocks) - most} more")
        lines.append(f"index-1 form: {self.form}")
        names = [self.form.slot_name(slot) for slot in range(min(most, len(self.form.kind)))]
        lines.append(f"  x = [{', '.join(names)}{', ...' if len(self.form.kind) > most else ''}]")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.report()


def transform(
    structure: Structure,
    integers: IntegerEquations | None = None,
    integer_rows: Integers | None = None,
    *,
    keep: Integers | None = None,
    tearing: bool | str = True,
    switched: Integers | None = None,
    timeless: Integers | None = None,
    hints: Hints | None = None,
    relaxed: Hints | None = None,
    reduce: bool = False,
    more_hints: Callable[[Simplified, IndexReduction], Hints] | None = None,
    check: bool = False,
) -> Transformation:
    """Remove singularities, reduce the index, sort, tear, and arrange as special index-1 form.

    Parameters
    ----------
    structure : Structure
        Who occurs where, at which derivative order.
    integers : IntegerEquations, optional
        Those of its equations that are linear with integer coefficients.
    integer_rows : array of int, optional
        `integer_rows[k]` is the equation that row k of `integers` belongs to.
    keep : array of bool, optional
        Marks variables that should stay in x if possible.
    tearing : bool or "auto"
        Whether variables are assigned where they can be. "auto": without long chains of assignments.
    switched : array of bool, optional
        Marks equations that may become constraints at an event.
    timeless : array of bool, optional
        Marks equations of variables and parameters only: a variable that they fix is constant.
    hints : Hints, optional
        Residue equations and tear variables, by the numbers of `structure`.
    relaxed : Hints, optional
        Variables, and the equations in which these are relaxed.
    reduce : bool
        Whether relaxed loops may leave something over, to be solved last.
    more_hints : callable, optional
        More of them, in the numbers of the structure with all derivatives, which it is given.
    check : bool
        Validate blocks and form; slower.

    Returns
    -------
    Transformation
        The result of every pass.

    Raises
    ------
    SingularStructure
        If the equations cannot determine the variables.
    NotInALoop
        If `more_hints` name something else.

    Examples
    --------
    A pendulum in Cartesian coordinates, of index 3.

    >>> from modia_py.arrays import make_structure, transform
    >>> pendulum = make_structure(  # der(x) == v, der(v) == g - f*x, x @ x == 1
    ...     [[3, 1], [4, 2, 0], [0]],
    ...     5,
    ...     variable_derivative=[3, 4, -1, -1, -1],
    ...     equation_size=[2, 2, 1],
    ...     variable_size=[2, 2, 1, 2, 2],
    ...     solvable=[[3, 1], [4], []],
    ...     variable_names=["x", "v", "f", "der(x)", "der(v)"],
    ... )
    >>> transform(pendulum).slot_names()
    ['x', 'v', 'integral(mu of der(e2))', 'integral(f)']
    """
    if integers is None or integer_rows is None:
        integers = IntegerEquations.from_rows([], structure.variable_count)
        integer_rows = np.zeros(0, np.int64)
    if not _is_balanced(structure):  # before anything is removed or set to zero
        raise SingularStructure(diagnose(structure))
    simplified, (hints, relaxed) = simplify_with_hints(
        structure, integers, integer_rows, (hints or Hints(), relaxed or Hints())
    )
    smaller = simplified.structure
    if not _is_balanced(smaller) or not is_solvable_by_differentiation(smaller):
        # As the user wrote it, if that shows it; what only elimination has revealed, otherwise.
        written = diagnose(structure)
        if written.is_regular:
            raise SingularStructure(diagnose(smaller), simplified)
        raise SingularStructure(written)
    constants = None if timeless is None else find_constants(smaller, timeless[simplified.equations])
    reduction = pantelides(smaller, constants)
    final = reduction.structure
    outside = Hints() if more_hints is None else more_hints(simplified, reduction)
    hints = differentiated_hints(hints, final).joined(outside)
    relaxed = differentiated_hints(relaxed, final)
    blocks = blt(final, reduction.flow, final.highest_equations(), final.highest_variables(), hints.pairs())
    check_in_loops(outside, final, blocks)
    kept = None if keep is None else extend_mask(simplified.marks(keep), final.variable_count)
    constraints = None if switched is None else np.flatnonzero(switched[simplified.equations])
    if tearing == "auto":
        form, tearing_note = index1_with_few_stages(
            final, blocks, kept, constraints, hints, relaxed, reduce
        )
    else:
        tearing_note = (
            "all that can be assigned is, as asked" if tearing else "nothing is assigned, as asked"
        )
        form = special_index1(
            final,
            blocks,
            tearing=bool(tearing),
            keep=kept,
            switched=constraints,
            hints=hints,
            relaxed=relaxed,
            reduce=reduce,
        )
    if check:
        check_blt(final, reduction.flow, blocks)
        check_index1(form)
    loops = hinted_loops(final, blocks, hints, form.levels[-1]) if tearing else ()
    return Transformation(simplified, reduction, blocks, form, tearing_note, loops, hints)


def _is_balanced(structure: Structure) -> bool:
    unknown = structure.integral_of_variable() == NONE
    return bool(structure.equation_size.sum() == structure.variable_size[unknown].sum())
