"""Hints to tearing from outside of a model: `translate(model, tear=[("i1", "residue_i5"), ...])`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .arrays.structure import Integers
from .errors import ModelError, did_you_mean
from .language.flat_model import FlatModel
from .language.flat_names import find_elements
from .lowering.hint_nodes import TearPair


def tear(
    variables: Iterable[str | None], residues: Iterable[str | None] | None = None
) -> tuple[TearPair, ...]:
    """Pair tear variables with residue equations, for `translate(model, tear=...)`.

    Parameters
    ----------
    variables : iterable of str or None
        Unknowns of algebraic loops that are to be varied.
    residues : iterable of str or None, optional
        As many equations: "residue_x" for one in which residue(x) stands, or the name of a variable for the
        one that determines it. The equations that determine the tear variables if not given.

    Returns
    -------
    tuple of pairs
        (variable, equation); None names nothing.

    Raises
    ------
    ModelError
        If there are not as many of both.

    Examples
    --------
    >>> from modia_py import tear
    >>> tear(["i1", "i2"], ["residue_i5", None])
    (('i1', 'residue_i5'), ('i2', None))
    """
    found = tuple(variables)
    paired = found if residues is None else tuple(residues)
    if len(paired) != len(found):
        raise ModelError(
            f"tear: {len(found)} variables and {len(paired)} residue equations; None names none."
        )
    return checked_pairs(zip(found, paired, strict=True))


def checked_pairs(given: Any) -> tuple[TearPair, ...]:
    """Pairs of names; a single name stands for the variable and the equation that determines it."""
    pairs = []
    for each in (given,) if isinstance(given, str) else given:
        pair = (each, each) if isinstance(each, str) else each
        if (
            not isinstance(pair, Sequence)
            or len(pair) != 2
            or not all(name is None or isinstance(name, str) for name in pair)
            or pair[0] is pair[1] is None
        ):
            raise ModelError(
                f"tear is a list of pairs of names, (variable, equation), None for one of them; not "
                f"{each!r}."
            )
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)


def elements_of_name(flat: FlatModel, text: str) -> tuple[Integers, int]:
    """The elements of the flat variables that a name stands for, and how often it is differentiated."""
    names = {variable.name: variable for variable in flat.variables}
    try:
        found = find_elements(text, names)
    except ModelError as error:
        raise ModelError(f"tear: {error}") from None
    if found is not None:
        return found.places, found.order
    raise ModelError(f"tear: {flat.name} has no variable {text!r}. {did_you_mean(text, names)}")
