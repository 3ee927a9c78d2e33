"""Plans against JAX: operations, functions taken apart, derivatives of any order, lanes, and pieces."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modia_py.plan import planned_function
from modia_py.plan.derivatives import pull_back
from modia_py.plan.graph import Graph
from modia_py.plan.graph_array import CannotPlan, GraphArray, apply, concatenate, trace
from modia_py.plan.jaxpr_graph import evaluate_jaxpr
from modia_py.plan.operations import OPERATIONS
from modia_py.plan.plan import check_plan
from modia_py.plan.planned_function import planned

POINTS = {
    "acosh": np.array([1.1, 2.0, 7.0]),
    "asin": np.array([-0.9, 0.1, 0.6]),
    "acos": np.array([-0.9, 0.1, 0.6]),
    "atanh": np.array([-0.9, 0.1, 0.6]),
    "log": np.array([1e-3, 0.7, 30.0]),
    "log1p": np.array([-0.5, 0.7, 30.0]),
    "sqrt": np.array([1e-3, 0.7, 30.0]),
    "pow": np.array([1e-3, 0.7, 3.0]),
    "and": np.array([0.0, 1.0, 1.0]),
    "or": np.array([0.0, 1.0, 1.0]),
    "xor": np.array([0.0, 1.0, 1.0]),
    "not": np.array([0.0, 1.0, 1.0]),
}
USUAL = np.array([-1.7, 0.4, 2.5])


@pytest.fixture(params=["native", "jax"])
def executor(request, monkeypatch):
    """Both executors."""
    if request.param == "jax":
        monkeypatch.setattr(planned_function, "is_native", lambda: False)
    else:
        assert planned_function.is_native()
    return request.param


def close(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def by_jaxpr(function, *examples):
    """A function of JAX on arrays of nodes."""
    jaxpr = jax.make_jaxpr(function)(*examples)

    def on_nodes(*vectors):
        given = [v.reshape(np.shape(e)) for v, e in zip(vectors, examples, strict=True)]
        found = evaluate_jaxpr(jaxpr.jaxpr, jaxpr.consts, given)
        parts = [part.reshape(-1) for part in found]
        return concatenate(parts, like=vectors[0])

    sizes = [int(np.size(e)) for e in examples]
    return planned(on_nodes, sizes)


def flat(function, *examples):
    def on_vectors(*vectors):
        given = [jnp.reshape(v, np.shape(e)) for v, e in zip(vectors, examples, strict=True)]
        return jnp.concatenate([jnp.ravel(part) for part in jax.tree.leaves(function(*given))])

    return on_vectors


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_operation_and_its_derivatives(operation, executor):
    at = POINTS.get(operation.name, USUAL)
    operands = [at, at[::-1].copy(), at + 0.25][: operation.operands]

    def on_nodes(*vectors):
        return apply(operation.name, *vectors)

    f, g = planned(on_nodes, [3] * len(operands)), operation.jax
    check_plan(f.plan)
    close(f(*operands), g(*operands))
    directions = [np.array([1.0, -2.0, 0.5]), np.array([0.3, 1.0, 2.0]), np.array([0.1, 0.2, -0.4])]
    directions = directions[: len(operands)]
    close(jax.jvp(f, operands, directions)[1], jax.jvp(g, operands, directions)[1], 1e-11)

    def again(h):
        return jax.jvp(lambda *z: jax.jvp(h, z, tuple(directions))[1], operands, directions)[1]

    close(again(f), again(g), 1e-9)


@pytest.mark.parametrize(
    "name", ["sqrt", "log", "div", "pow", "tanh", "sin", "max", "min", "abs", "rem", "logistic"]
)
def test_what_is_not_a_number_is_seen(name, executor):
    """NaN and infinity come out where JAX has them."""
    operation = next(operation for operation in OPERATIONS if operation.name == name)
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -1.0])
    operands = [values, np.array([1.0, np.nan, 0.0, 0.0, 0.5])][: operation.operands]
    found = planned(lambda *v: apply(name, *v), [5] * len(operands))(*operands)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(operation.jax(*operands)))


FUNCTIONS = {
    "norm and where": lambda a, b: jnp.linalg.norm(a) + jnp.where(a > b, a, b * b),
    "cross and dot": lambda a, b: jnp.cross(a, b) @ a + a @ b,
    "matrix": lambda a, b: jnp.outer(a, b) @ a + jnp.einsum("i,j->ji", a, b).sum(0),
    "stack and index": lambda a, b: jnp.stack([a, b])[:, jnp.array([2, 0])].T.reshape(-1),
    "power": lambda a, b: a**3 + jnp.abs(b) ** 1.5 + b**-2 + jnp.square(a) + 2.0**a,
    "roll and diff": lambda a, b: jnp.roll(a, 1) + jnp.flip(b) + jnp.append(jnp.diff(a), 0.0),
    "diag": lambda a, b: jnp.diag(a) @ b + jnp.trace(jnp.outer(a, b)) + jnp.tile(a, 2)[:3],
    "clip": lambda a, b: jnp.clip(a, -0.5, 0.5) + jnp.maximum(a, b) * jnp.minimum(a, 0.3),
    "sums": lambda a, b: jnp.cumsum(a) + a.mean() + b.prod() + jnp.max(a) + jnp.std(b),
    "remainder": lambda a, b: a % 0.7 + jnp.floor_divide(b, 0.3) + jnp.sign(a) + jnp.round(3 * b),
    "softplus": lambda a, b: jax.nn.softplus(a) + jax.nn.sigmoid(b) + jnp.hypot(a, b),
    "determinant": lambda a, b: jnp.linalg.det(jnp.outer(a, b) + jnp.eye(3)) * a,
    "relations": lambda a, b: ((a > 0) & ~(b > 0.1) | (a < b)) * 1.0,
    "short loop": lambda a, b: jax.lax.fori_loop(0, 4, lambda k, y: y + 0.1 * jnp.sin(y * b), a),
    "polynomial": lambda a, b: jnp.polyval(jnp.array([1.0, -2.0, 0.5]), a) * b,
    "set": lambda a, b: jnp.asarray(a).at[1].set(b[0]).at[2].add(a[0]),
    "split": lambda a, b: jnp.concatenate(jnp.split(a, 3)[::-1]) * b,
    "special": lambda a, b: jax.scipy.special.erf(a) + jnp.expm1(b) + jnp.arctan2(a, b) + jnp.cbrt(b),
}
A, B = np.array([0.3, -1.2, 0.8]), np.array([-0.4, 0.9, 1.7])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_taken_apart(name):
    function = FUNCTIONS[name]
    f, g = by_jaxpr(function, A, B), flat(function, A, B)
    check_plan(f.plan)
    close(f(A, B), g(A, B))
    for by in (0, 1):
        close(jax.jacfwd(f, by)(A, B), jax.jacfwd(g, by)(A, B), 1e-11)
        nonzero = np.asarray(jax.jacfwd(g, by)(A, B)) != 0
        pattern = f.pattern((by == 0, by == 1)).toarray() != 0
        assert (pattern | ~nonzero).all()


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: jax.lax.while_loop(lambda y: y[0] < 3, lambda y: y + 1.0, a),
        lambda a, b: jnp.linalg.solve(jnp.outer(a, a) + jnp.eye(3), b),
        lambda a, b: a[jnp.argmax(b)] * a,
        lambda a, b: jnp.sort(a),
    ],
)
def test_what_cannot_be_taken_apart_says_so(function):
    with pytest.raises(CannotPlan):
        by_jaxpr(function, A, B)


def test_a_derivative_of_its_own_is_not_lost():
    @jax.custom_jvp
    def odd(a):
        return a * a

    odd.defjvp(lambda primals, tangents: (odd(*primals), 7.0 * tangents[0]))
    with pytest.raises(CannotPlan, match="derivative of its own"):
        by_jaxpr(odd, A)


def test_what_is_not_chosen_may_be_infinite(executor):
    """The slope of a root at zero, in the branch that is not taken."""

    def on_nodes(x):
        return apply("select", apply("lt", x, 0.5), x * 2.0, apply("sqrt", x))

    f = planned(on_nodes, [3])
    x = np.array([-1.0, 0.0, 4.0])
    close(f(x), [-2.0, 0.0, 2.0])
    close(jax.jvp(f, (x,), (np.ones(3),))[1], [2.0, 2.0, 0.25])


def test_lanes_of_points_and_of_directions(executor):
    function = FUNCTIONS["norm and where"]
    f, g = by_jaxpr(function, A, B), flat(function, A, B)
    many = jnp.stack([A, B, A + B, A - B])
    close(jax.vmap(f, (0, None))(many, B), jax.vmap(g, (0, None))(many, B))
    close(jax.vmap(jax.jacfwd(f), (0, None))(many, B), jax.vmap(jax.jacfwd(g), (0, None))(many, B))

    def nested(h):
        return jax.vmap(jax.vmap(h, (0, None)), (None, 0))(many, many[:2])

    close(nested(f), nested(g))
    close(jax.jit(nested, static_argnums=0)(f), nested(g))

    def second(h):
        return jax.jacfwd(jax.jacfwd(h))(A, B)

    close(second(f), second(g), 1e-10)
    close(jax.jit(second, static_argnums=0)(f), second(g), 1e-10)


ONE = ["sin", "cos", "tanh", "exp", "asinh", "neg", "abs", "atan"]
TWO = ["add", "sub", "mul", "max", "min", "lt"]
steps = st.lists(
    st.tuples(st.sampled_from(ONE + TWO), st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=40
)


@settings(max_examples=60, deadline=None)
@given(steps=steps, seed=st.integers(0, 1000))
def test_random_graphs(steps, seed):
    """Values, tangents and gradients of random graphs are those of JAX."""
    by_name = {operation.name: operation for operation in OPERATIONS}

    def build(x, operate):
        known = [x[k : k + 1] for k in range(3)]
        for name, i, j in steps:
            operands = [known[i % len(known)], known[j % len(known)]][: by_name[name].operands]
            known.append(operate(name, *operands))
        return known[-5:]

    def with_jax(x):
        return jnp.concatenate(build(x, lambda name, *o: jnp.tanh(by_name[name].jax(*o))))

    def on_nodes(x):
        return concatenate(build(x, lambda name, *o: apply("tanh", apply(name, *o))), like=x)

    f = planned(on_nodes, [3])
    check_plan(f.plan)
    random = np.random.default_rng(seed)
    x, v = random.normal(size=(2, 3))
    close(f(x), with_jax(x), 1e-11)
    close(jax.jvp(f, (x,), (v,))[1], jax.jvp(with_jax, (x,), (v,))[1], 1e-9)
    graph, roots = trace(on_nodes, [3])
    weights = random.normal(size=len(roots))
    by = np.array([graph.input(k) for k in range(3)])
    nodes = pull_back(graph, roots, np.array([graph.constant(w) for w in weights]), by)
    back = planned_function.PlannedFunction(graph, nodes, [3])
    close(back(x), jax.vjp(with_jax, x)[1](jnp.asarray(weights))[0], 1e-9)


def test_equal_nodes_are_one_and_nothing_is_left_of_zeros_and_ones():
    graph = Graph()
    x, one, zero = graph.input(0), graph.constant(1.0), graph.constant(0.0)
    assert graph.make("sin", x) == graph.make("sin", x)
    assert graph.make("add", x, zero) == graph.make("mul", one, x) == graph.make("sub", x, zero) == x
    assert graph.make("mul", x, zero) == zero
    assert graph.make("neg", graph.make("neg", x)) == x
    assert graph.values[graph.make("add", one, one)] == 2.0
    assert graph.constant(0.0) != graph.constant(-0.0)
    assert graph.power(x, 0) == one


def test_a_plan_tells_its_size_and_is_checked():
    f = planned(lambda x: apply("sin", x) + apply("sin", x) * x, [2])
    text = str(f.plan)
    assert "6 operations in 3 groups on 3 levels" in text
    assert "2 inputs, 2 outputs" in text
    broken = f.plan.operands.copy()
    broken[0] = f.plan.size - 1
    with pytest.raises(AssertionError, match="computed before"):
        check_plan(planned_function.Plan(**{**f.plan.__dict__, "operands": broken}))


def test_arrays_of_nodes_are_as_those_of_numpy():
    graph = Graph()
    x = GraphArray(graph, [graph.input(k) for k in range(4)])
    square = x.reshape(2, 2)
    assert square.shape == (2, 2)
    assert len(square) == 2
    assert square[1, 0].nodes == x[2].nodes
    assert (np.ones(2) * square).shape == (2, 2)
