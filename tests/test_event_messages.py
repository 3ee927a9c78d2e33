"""Wrong events, and the sentence each of them gets: with the user's line and a remedy."""

from __future__ import annotations

import numpy as np
import pytest

from modia_py import (
    Connector,
    Discrete,
    Input,
    Model,
    ModelError,
    Par,
    Var,
    always,
    assign,
    change,
    der,
    edge,
    elaborate,
    initial,
    pre,
    reinit,
    sample,
    terminate,
    time,
    translate,
    when,
    where,
)

from .event_passes import event_model


class Base(Model):
    x = Var(init=1.0)
    y = Var(2, init=0.0)
    z = Var(3, init=0.0)
    k = Par(2.0)
    u = Input()
    d = Discrete(0.0)
    n = Discrete(0)
    on = Discrete(False)
    v = Discrete([0.0, 0.0])


def model_of(*statements):
    """A model with these statements besides its equations."""

    class Wrong(Base):
        def equations(self):
            own = [der(self.x) == self.u, der(self.y) == -self.y, der(self.z) == self.k * self.z]
            return [*own, *(statement(self) for statement in statements)]

    return Wrong()


HERE = r"test_event_messages\.py:\d+"

IN_ONE_STATEMENT = [
    (
        "a float as a condition of where",
        lambda m: m.x == where(m.x, 1, 2),
        rf"The condition of where is `x` \({HERE}\), a number that changes continuously with `x` and no "
        r"relation: write `x > 0`.*combined by &, \| and ~, each in parentheses",
    ),
    (
        "a float among relations",
        lambda m: when((m.x > 0) & m.x, terminate("no")),
        r"The condition of a when is `x` in `\(x > 0\) & x`",
    ),
    (
        "forgotten parentheses",
        lambda m: when(m.x > 0 & m.k > 1, terminate("no")),
        rf"`0 & k` is compared by > \({HERE}\), and is a truth value: & and \| bind more .*\(x > 0\) &",
    ),
    (
        "python's and",
        lambda m: when(m.x > 0 and m.k > 1, terminate("no")),
        rf"`x > 0` cannot become a truth value \({HERE}\)\. Use where\(condition, a, b\), or np\.where",
    ),
    (
        "python's if",
        lambda m: m.x == (1.0 if m.x > 0 else 2.0),
        r"Use where\(condition, a, b\), or np\.where for one without events, in place of Python's `if`",
    ),
    (
        "equality of what moves",
        lambda m: m.x == where(m.x == 1, 1, 2),
        rf"contains `x == 1` \({HERE}\), but `x` changes continuously.*Use <, <=, > or >=",
    ),
    (
        "inequality of what moves",
        lambda m: when((m.on == 1) & (time != 1), terminate("no")),
        r"contains `time != 1` .* but `time` changes continuously",
    ),
    (
        "branches of different shapes",
        lambda m: m.x == where(m.x > 0, m.y, m.z).sum(),
        rf"The shapes in where\(`x > 0`, `y`, `z`\) do not fit \({HERE}\): the condition has shape \(\), "
        r"the branches have \(2,\) and \(3,\)",
    ),
    (
        "a condition of another shape",
        lambda m: m.x == where(m.y > 0, m.z, 0.0).sum(),
        r"the condition has shape \(2,\), the branches have \(3,\) and \(\)",
    ),
    (
        "a plain truth value",
        lambda m: when(True, terminate("no")),
        rf"The condition of a when is the plain Python value True \({HERE}\): it never becomes true",
    ),
    (
        "a when without actions",
        lambda m: when(m.x > 0),
        rf"when\(x > 0\) does nothing \({HERE}\): give it actions",
    ),
    (
        "an equation in a when",
        lambda m: when(m.x > 0, m.d == 1.0),
        rf"`d == 1` in a when \({HERE}\) is an equation.*assign\(d, 1\)",
    ),
    (
        "no action in a when",
        lambda m: when(m.x > 0, 3.0),
        r"3\.0 in a when .* is no action: assign\(d, value\), reinit\(x, value\) and terminate\(reason\)",
    ),
    (
        "an action outside of a when",
        lambda m: assign(m.d, 1.0),
        rf"Item 4 of Wrong\.equations is assign\(d, 1\) \({HERE}\), an action: it belongs into a `when`, "
        r"when\(condition, assign\(d, 1\)\)",
    ),
    (
        "an assignment to a variable",
        lambda m: when(m.x > 0, assign(m.x, 1.0)),
        rf"assign\(x, \.\.\.\) \({HERE}\): x is a continuous variable\. Only a Discrete can be assigned "
        r"to; `reinit\(x, value\)` sets a continuous variable",
    ),
    (
        "an assignment to a parameter",
        lambda m: when(m.x > 0, assign(m.k, 1.0)),
        r"k is a parameter, which does not change during a run\. Only a Discrete",
    ),
    (
        "an assignment to an expression",
        lambda m: when(m.x > 0, assign(m.d + 1, 1.0)),
        r"`d \+ 1` is an expression, and no variable",
    ),
    (
        "an assignment to the old value",
        lambda m: when(m.x > 0, assign(pre(m.d), 1.0)),
        r"`pre\(d\)` is an expression, and no variable",
    ),
    (
        "an assignment to a number",
        lambda m: when(m.x > 0, assign(3.0, 1.0)),
        r"assign\(3\.0, \.\.\.\) .*the first argument is a variable, self\.name",
    ),
    ("reinit of a parameter", lambda m: when(m.x > 0, reinit(m.k, 1.0)), r"k is a parameter.*Only a Var"),
    (
        "reinit of a discrete",
        lambda m: when(m.x > 0, reinit(m.d, 1.0)),
        rf"reinit\(d, \.\.\.\) \({HERE}\): d is a discrete variable\. Only a Var can be set anew; "
        r"`assign\(d, value\)` sets a Discrete",
    ),
    ("reinit of an input", lambda m: when(m.x > 0, reinit(m.u, 1.0)), r"u is an input, which is given"),
    ("reinit of the time", lambda m: when(m.x > 0, reinit(time, 1.0)), r"time is the time"),
    (
        "reinit of an expression",
        lambda m: when(m.x > 0, reinit(2 * m.x, 1.0)),
        r"`2\*x` is an expression, and no variable",
    ),
    (
        "a value of another shape",
        lambda m: when(m.x > 0, assign(m.v, m.z)),
        rf"assign\(v, z\) \({HERE}\): the value has shape \(3,\), the target \(2,\)",
    ),
    (
        "a vector for a scalar",
        lambda m: when(m.x > 0, reinit(m.x, m.y)),
        r"reinit\(x, y\) .*: the value has shape \(2,\), the target \(\)",
    ),
    (
        "a condition of another shape than the target",
        lambda m: when(m.y > 0, assign(m.d, 1.0)),
        rf"The condition `y > 0` has shape \(2,\), and does not fit assign\(d, 1\) \({HERE}\), whose "
        r"target has shape \(\).*np\.any",
    ),
    (
        "a period of zero",
        lambda m: when(sample(0.0), assign(m.d, 1.0)),
        rf"A sample with the period 0 \({HERE}\) has no next instant: the period is a positive number",
    ),
    ("a negative period", lambda m: when(sample(-1.0), assign(m.d, 1.0)), r"A sample with the period -1 "),
    (
        "an endless period",
        lambda m: when(sample(np.inf), assign(m.d, 1.0)),
        r"A sample with the period inf ",
    ),
    (
        "a period that moves",
        lambda m: when(sample(m.x), assign(m.d, 1.0)),
        rf"The period of a sample is `x` \({HERE}\), in which `x` is no parameter.*when\(time >= next, ",
    ),
    (
        "an offset that changes at events",
        lambda m: when(sample(1.0, m.d), assign(m.d, 1.0)),
        r"The offset of a sample is `d`",
    ),
    (
        "pre of a derivative",
        lambda m: when(m.x > 0, assign(m.d, pre(der(m.x)))),
        rf"pre\(der\(x\)\) contains the derivative der\(x\) \({HERE}\).*Declare a Var for it: v == ",
    ),
    (
        "change of what moves",
        lambda m: when(change(m.x), assign(m.d, 1.0)),
        rf"change\(x\) \({HERE}\): `x` changes all the time",
    ),
    ("edge of a number", lambda m: when(edge(m.x), assign(m.d, 1.0)), r"The argument of edge is `x`"),
    (
        "a reason that is none",
        lambda m: when(m.x > 0, terminate(3)),
        r"terminate takes the reason as a text",
    ),
    (
        "a when in a condition",
        lambda m: [when(m.x > 0, terminate("a"))] and (when(m.x > 0, terminate("a")) or 1),
        r"is used as a truth value: a `when` belongs into the list",
    ),
    (
        "a fraction for an integer",
        lambda m: when(m.x > 0, assign(m.n, pre(m.n) + m.x)),
        rf"assign\(n, pre\(n\) \+ x\) \({HERE}\): n is an integer, as its value at the start says, and .*"
        r"Declare it with Discrete\(0\.0\) if it is real",
    ),
    (
        "a number for a flag",
        lambda m: when(m.x > 0, assign(m.on, pre(m.n))),
        r"on is True or False, as its value at the start says, .*Assign a condition, such as x > 0",
    ),
    (
        "always what moves",
        lambda m: always(assign(m.d, 2 * m.x)),
        rf"always\(assign\(d, 2\*x\)\) \({HERE}\): `x` changes between events, and a discrete",
    ),
    (
        "always by numpy's relation",
        lambda m: always(assign(m.d, 2 * (m.x > 0))),
        r"`x` changes between events",
    ),
    (
        "always something else than an assignment",
        lambda m: always(reinit(m.x, 1.0)),
        rf"reinit\(x, 1\) in an always \({HERE}\): only assign\(d, value\) can hold after every event",
    ),
    ("always nothing", lambda m: always(), r"always\(\) is empty"),
    (
        "always itself",
        lambda m: always(assign(m.on, ~m.on)),
        r"depend on itself: `assign\(on, ~on\)`.*Use `pre`",
    ),
    (
        "a list as a condition of where",
        lambda m: m.x == where([m.x > 0, m.x > 1], 1, 2),
        r"The condition of where is a list .*combine relations by &, \| and ~",
    ),
    (
        "an integral variable that is given a fraction",
        lambda m: type(m)(n=1.5),
        r"Wrong\.n is an integer .*, and cannot be 1\.5",
    ),
    (
        "a flag that is given a number",
        lambda m: type(m)(on=2),
        r"Wrong\.on is True or False .* cannot be 2",
    ),
]


@pytest.mark.parametrize(
    ("statement", "text"),
    [case[1:] for case in IN_ONE_STATEMENT],
    ids=[case[0] for case in IN_ONE_STATEMENT],
)
def test_one_statement(statement, text):
    with pytest.raises(ModelError, match=text):
        elaborate(model_of(statement))


def test_a_discrete_in_two_whens():
    model = model_of(
        lambda m: when(m.x > 1, assign(m.d, 1.0)),
        lambda m: when(m.x < 0, assign(m.d, 2.0)),
    )
    with pytest.raises(
        ModelError,
        match=rf"The discrete variable d is assigned twice: `assign\(d, 1\)` \({HERE}\), and "
        rf"`assign\(d, 2\)` \({HERE}\)\. What it is would depend on the order\. Write one `when` with a",
    ):
        elaborate(model)


def test_overlapping_elements_in_two_whens():
    def model(second):
        return model_of(
            lambda m: when(m.x > 1, assign(m.v[0], 1.0)), lambda m: when(m.x < 0, assign(m.v[second], 2.0))
        )

    assert len(elaborate(model(1)).whens) == 2
    with pytest.raises(ModelError, match=r"The discrete variable v\[0\] is assigned twice"):
        elaborate(model(slice(None)))
    with pytest.raises(ModelError, match=r"`assign\(v\[\[1, 1\]\], 1\)` .* assigns v\[1\] twice"):
        elaborate(model_of(lambda m: when(m.x > 1, assign(m.v[[1, 1]], 1.0))))
    twice_in_one = model_of(lambda m: when(m.x > 1, assign(m.d, 1.0), assign(m.d, 2.0)))
    with pytest.raises(ModelError, match="d is assigned twice"):
        elaborate(twice_in_one)


class Counter(Model):
    x = Var(init=0.0)
    n = Discrete(0)

    def equations(self):
        return [der(self.x) == 1.0, when(self.x > 1, assign(self.n, pre(self.n) + 1))]


class Free(Model):
    x = Var(init=0.0)
    n = Discrete(0)

    def equations(self):
        return [der(self.x) == 1.0]


def test_a_discrete_of_a_component_in_two_whens():
    class Twice(Model):
        c = Counter.array(3)

        def equations(self):
            return [when(self.c[1].x > 2, assign(self.c[1].n, 7))]

    with pytest.raises(
        ModelError,
        match=r"c\[1\]\.n is assigned twice: `assign\(c\[1\]\.n, 7\)`.*`assign\(n, pre\(n\) \+ 1\)` of c",
    ):
        elaborate(Twice())

    class Apart(Model):
        c = Free.array(3)

        def equations(self):
            return [when(self.c[k].x > 2, assign(self.c[k].n, k)) for k in range(3)]

    assert len(elaborate(Apart()).whens) == 3


def test_new_values_that_need_each_other():
    itself = model_of(lambda m: when(m.x > 1, assign(m.n, m.n + 1)))
    with pytest.raises(
        ModelError,
        match=rf"new values of discrete variables depend on itself: `assign\(n, n \+ 1\)` \({HERE}\)\. Use "
        r"`pre` where the old value is meant\. pre\(n\) is",
    ):
        elaborate(itself)
    each_other = model_of(
        lambda m: when(m.x > 1, assign(m.d, m.n + 1)), lambda m: when(m.d > 1, assign(m.n, 2))
    )
    with pytest.raises(
        ModelError, match=r"depend on each other: .*when\(d > 1, \.\.\.\).*assign\(d, n \+ 1\)"
    ):
        elaborate(each_other)
    with_pre = model_of(
        lambda m: when(m.x > 1, assign(m.d, pre(m.n) + 1)), lambda m: when(m.d > 1, assign(m.n, 2))
    )
    assert len(elaborate(with_pre).actions) == 4


def test_a_when_among_initial_equations():
    class Early(Base):
        def equations(self):
            return [der(self.x) == 1.0, der(self.y) == 1.0, der(self.z) == 1.0]

        def initial_equations(self):
            return [when(initial(), assign(self.d, 1.0))]

    with pytest.raises(
        ModelError,
        match=rf"when\(initial\(\), assign\(d, 1\)\) \({HERE}\) stands in Early\.initial_equations: events "
        r"belong into `equations`\. when\(initial\(\), \.\.\.\) acts at the start",
    ):
        elaborate(Early())


def test_a_variable_of_another_model():
    other = Counter()
    with pytest.raises(ModelError, match=rf"`n` is used outside its model: in `when\(x > 0, .* \({HERE}\)"):
        elaborate(model_of(lambda m: when(m.x > 0, assign(m.d, other.n))))


def test_a_discrete_in_a_connector():
    class Port(Connector):
        y = Var()
        on = Discrete(False)

    with pytest.raises(ModelError, match=r"Port\.on is a Discrete in a connector .*Declare a Var"):
        Port()


def test_a_period_from_parameters_is_checked_when_a_run_begins():
    class Sampled(Model):
        x = Var(init=0.0)
        T = Par(0.1)
        n = Discrete(0)

        def equations(self):
            return [der(self.x) == 1.0, when(sample(2 * self.T), assign(self.n, pre(self.n) + 1))]

    class Several(Model):
        s = Sampled.array(3, T=[0.1, 0.0, 0.2])

    good = event_model(Sampled())
    good.functions.check_samples(good.vectors(0.0, [0.0], good.p))
    bad = event_model(Several())
    with pytest.raises(
        ModelError, match=rf"`sample\(2\*T\)` of s\[1\] \({HERE}\) has the period 0: it has no next instant"
    ):
        bad.functions.check_samples(bad.vectors(0.0, np.zeros(3), bad.p))


def test_a_derivative_that_no_equation_has():
    class Odd(Model):
        x = Var(init=0.0)
        y = Var()
        d = Discrete(0)

        def equations(self):
            return [der(self.x) == 1.0, self.y == self.x, when(der(der(self.x)) > 1, assign(self.d, 1))]

    with pytest.raises(
        ModelError,
        match=rf"`der2\(x\) > 1` \({HERE}\) contains der2\(x\), which is not part of the equations",
    ):
        event_model(Odd())


def test_a_jump_has_no_derivative():
    class Jump(Model):
        x = Var(init=0.0)
        y = Var()

        def equations(self):
            return [der(self.x) == 1.0, self.y == der(where(self.x > 1, 1.0, 2.0))]

    with (
        pytest.warns(UserWarning, match="has no impulse"),
        pytest.raises(ModelError, match="is infinite where"),
    ):
        translate(Jump())
