"""The scaled iteration matrix, its pattern and its values.

With xdot = xdot_pred + d/c, x = x_pred + d the corrector equations are F = 0 for d. Row by row, fd rows
times c,

    M(c) d = -[c fd; fc],      M(c) = [ dfd/dxdot + c dfd/dx ]
                                      [ dfc/dx               ],

so M goes to the regular matrix of the special form as c -> 0: small steps are as well conditioned as long
ones. One forward derivative of z -> F(t, x + c z, xdot + z) gives both parts at once; its fc rows carry a
factor c that is divided out.

Columns that share no row share a direction (colouring): asdex finds the pattern by tracing the residual,
and the colours. The number of directions is that of colours, not of columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..lanes import each
from ..problem import Problem, kinds

DIRECTIONS_AT_ONCE_BYTES = 64e6
"""Directions are evaluated together as long as the result stays below this."""

LARGEST_DENSE = 3000
"""Where no pattern is found, a dense one is assumed up to this size."""

C_ZERO = 1e-100
"""Stands for c = 0: c dfd/dx vanishes in rounding, while c dfc/dx / c is still exact."""

ASIDE = 1e-8
"""So far aside slopes are looked at, compared with x, where those at x are infinite."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Entries of the iteration matrix sorted by row, and the colour of each column."""

    size: int
    rows: np.ndarray
    columns: np.ndarray
    colours: np.ndarray
    note: str = ""

    @property
    def entries(self) -> int:
        return len(self.rows)

    @property
    def entries_a_row(self) -> float:
        return self.entries / self.size

    @property
    def directions(self) -> int:
        return int(self.colours.max()) + 1 if self.size else 0

    def __str__(self) -> str:
        text = f"{self.size} x {self.size}, {self.entries} entries, {self.directions} directions"
        return f"{text} ({self.note})" if self.note else text


def find_pattern(problem: Problem, p: Any) -> Pattern:
    """Pattern and colouring of the iteration matrix of a problem; dense where tracing fails."""
    n = problem.size
    vector, time = np.zeros(n), np.zeros(())
    leaves, tree = jax.tree.flatten(p)
    example = [np.zeros(jnp.shape(leaf), jnp.result_type(leaf)) for leaf in leaves]

    def of_both(z: Any, t: Any, x: Any, xdot: Any, *parameters: Any) -> Any:
        return problem.residual(t, x + z, xdot + z, jax.tree.unflatten(tree, parameters))

    note = ""
    try:
        if problem.pattern is not None:
            given = (np.asarray(index, np.int64) for index in problem.pattern)
            places = np.sort(np.ravel_multi_index(tuple(given), (n, n)))
            # Each once. np.unique would look numbers up in a table, which takes several times as long.
            rows, columns = np.divmod(places[np.flatnonzero(np.diff(places, prepend=-1))], n)
        else:
            import asdex  # takes long to import, and is not needed where a pattern is given

            found = asdex.jacobian_sparsity(of_both, vector, time, vector, vector, *example)
            order = np.lexsort((np.asarray(found.cols), np.asarray(found.rows)))
            rows, columns = np.asarray(found.rows)[order], np.asarray(found.cols)[order]
    except Exception as error:  # asdex does not know every primitive; a dense pattern is always right
        if n > LARGEST_DENSE:
            raise ValueError(
                f"The sparsity pattern of {n} equations could not be traced ({error}). "
                "Give `pattern` in the problem."
            ) from error
        note = f"dense, because the pattern could not be traced: {type(error).__name__}"
        rows, columns = (index.ravel() for index in np.indices((n, n)))
    rows, columns = rows.astype(np.int32), columns.astype(np.int32)
    return Pattern(n, rows, columns, colours_of(rows, columns, n), note)


def pattern_of(problem: Problem, p: Any) -> Pattern:
    """The pattern, found once for a problem."""
    key, patterns = kinds(p), problem.cache.patterns
    if key not in patterns:
        patterns[key] = find_pattern(problem, p)
    return patterns[key]


def colours_of(rows: np.ndarray, columns: np.ndarray, n: int, m: int | None = None) -> np.ndarray:
    """Colours of the n columns of a pattern with m rows (n if not given)."""
    m = n if m is None else m
    if len(rows) >= m * n:
        return np.arange(n, dtype=np.int32)
    import asdex

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", asdex.DenseColoringWarning)
        sparsity = asdex.SparsityPattern.from_coo(rows, columns, (m, n))
        colours, _ = asdex.color_cols(sparsity)
    return np.asarray(colours, np.int32)


def fd_rows(problem: Problem, p: Any) -> Any:
    """Row flags for use inside compiled code, where a large constant would slow down compilation; with
    events, those of the mode that p says."""
    if problem.events is not None:
        return problem.events.row_flags(p)
    if isinstance(problem.differential_rows, (int, np.integer)):
        return jnp.arange(problem.size) < problem.differential_rows
    return problem.row_flags


class Gather(NamedTuple):
    """Where the entries of the matrix are found among the products with the directions."""

    colours: jax.Array
    positions: jax.Array
    rows: jax.Array
    columns: jax.Array


def gather_tables(pattern: Pattern) -> Gather:
    """The tables of a pattern as arrays that travel as arguments of compiled functions."""
    positions = pattern.colours[pattern.columns].astype(np.int64) * pattern.size + pattern.rows
    return Gather(*map(jax.device_put, (pattern.colours, positions, pattern.rows, pattern.columns)))


def matrix_product(
    problem: Problem, t: Any, x: jax.Array, xdot: jax.Array, p: Any, c: jax.Array, z: jax.Array
) -> jax.Array:
    """M(c) @ z, by one forward derivative."""
    _, product = jax.jvp(lambda x, xdot: problem.residual(t, x, xdot, p), (x, xdot), (c * z, z))
    return jnp.where(fd_rows(problem, p), product, product / c)


def value_and_rate(
    problem: Problem, t: jax.Array, x: jax.Array, xdot: jax.Array, p: Any
) -> tuple[jax.Array, jax.Array]:
    """The residual, and its derivative by time along (x, xdot): that of fc is what hidden constraints say
    of xdot."""
    return jax.jvp(lambda t, x: problem.residual(t, x, xdot, p), (t, x), (jnp.ones_like(t), xdot))


def products_by_colour(
    product: Callable[[jax.Array], jax.Array], colours: jax.Array, directions: int, at_once: int | None
) -> jax.Array:
    """Products of a matrix with the sum of the columns of each colour: the compressed Jacobian. So many at
    once; None: all."""

    def along(colour: jax.Array) -> jax.Array:
        return product(jnp.where(colours == colour, 1.0, 0.0))

    numbers = jnp.arange(directions)
    if at_once is None or at_once == 1:
        return each(along, numbers, at_once == 1)
    return jax.lax.map(along, numbers, batch_size=at_once)


class Probe(NamedTuple):
    """A vector w of ones and minus ones, and M w."""

    vector: jax.Array
    product: jax.Array


def matrix_values(
    problem: Problem,
    directions: int,
    gather: Gather,
    t: Any,
    x: jax.Array,
    xdot: jax.Array,
    p: Any,
    c: jax.Array,
) -> jax.Array:
    """The entries of M(c), in the order of the pattern."""
    return matrix_and_probe(problem, directions, gather, t, x, xdot, p, c)[0]


def matrix_and_probe(
    problem: Problem,
    directions: int,
    gather: Gather,
    t: Any,
    x: jax.Array,
    xdot: jax.Array,
    p: Any,
    c: jax.Array,
) -> tuple[jax.Array, Probe]:
    """The entries of M(c), in the order of the pattern; and the product with a known vector.

    The vector changes sign from colour to colour, so that its product is a sum of those at hand: another
    derivative would have to be compiled and evaluated.
    """

    def all_products(x: jax.Array) -> jax.Array:
        def product(z: jax.Array) -> jax.Array:
            return matrix_product(problem, t, x, xdot, p, c, z)

        return products_by_colour(product, gather.colours, directions, _at_once(problem, directions))

    products = _finite_products(all_products, x, directions)
    probe = Probe(_signs(gather.colours), _signs(jnp.arange(directions)) @ products)
    return products.ravel()[gather.positions], probe


class Parts(NamedTuple):
    """Of the matrices for all c: entries, and products with the vector of a `Probe`."""

    of_slopes: jax.Array
    """dfd/dxdot, with rows of zeros for fc."""
    of_values: jax.Array
    """dF/dx."""
    slopes_product: jax.Array
    values_product: jax.Array


def matrix_parts(
    problem: Problem, directions: int, gather: Gather, t: Any, x: jax.Array, xdot: jax.Array, p: Any
) -> Parts:
    """What matrices are made of: M(c) = of_slopes + c of_values in fd rows, of_values in those of fc."""
    n = problem.size
    # (x, xdot) as one vector with twice as many colours.
    colours = jnp.concatenate([gather.colours, gather.colours + directions])

    def all_products(x: jax.Array) -> jax.Array:
        def product(z: jax.Array) -> jax.Array:
            along = z[:n], z[n:]
            return jax.jvp(lambda x, xdot: problem.residual(t, x, xdot, p), (x, xdot), along)[1]

        return products_by_colour(product, colours, 2 * directions, _at_once(problem, 2 * directions))

    of_both = _finite_products(all_products, x, 2 * directions)
    of_values, of_slopes = of_both[:directions], of_both[directions:]
    of_slopes = jnp.where(fd_rows(problem, p), of_slopes, 0.0)
    signs = _signs(jnp.arange(directions))
    entries = [products.ravel()[gather.positions] for products in (of_slopes, of_values)]
    return Parts(entries[0], entries[1], signs @ of_slopes, signs @ of_values)


def _at_once(problem: Problem, directions: int) -> int | None:
    """How many directions are evaluated together; None: all."""
    fit = max(1, int(DIRECTIONS_AT_ONCE_BYTES / (8 * problem.size)))
    return 1 if problem.one_by_one else None if directions <= fit else fit


def _signs(numbers: jax.Array) -> jax.Array:
    return 1.0 - 2.0 * (numbers % 2)


def _finite_products(
    all_products: Callable[[jax.Array], jax.Array], x: jax.Array, directions: int
) -> jax.Array:
    """Products at x; where a slope is infinite (a root at zero), at a point aside of it.

    Slopes tell Newton's method where to go; what it has to find is in the residuals, which are finite. A
    loop, and not a choice, so that the products are compiled once.
    """
    aside = ASIDE * (1.0 + jnp.abs(x)) * jnp.cos(jnp.arange(len(x), dtype=x.dtype))

    def is_left(state: tuple[jax.Array, jax.Array]) -> jax.Array:
        tries, products = state
        return (tries < 2) & ~jnp.all(jnp.isfinite(products))

    def evaluate(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        tries, products = state
        return tries + 1, jnp.where(jnp.isfinite(products), products, all_products(x + tries * aside))

    nothing = jnp.full((directions, len(x)), jnp.nan, x.dtype)
    return jax.lax.while_loop(is_left, evaluate, (jnp.asarray(0), nothing))[1]
