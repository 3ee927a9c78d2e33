# ruff: noqa: E501 -- texts of models are as long as they are
"""Groups that are components: arrays of stores with links between them, joined by connectors."""

from __future__ import annotations

import numpy as np

from .manufactured import Equation, Group, Term, Variable, start_value
from .parts import number
from .world import World

PORT = """\
class @{group}Port(Connector):
    e = Var()
    f = Flow()


class @{group}Store(Model):
    C = Par(1.0, nonzero=True)
    port = @{group}Port()
    level = Var()
    q = Var()

    def equations(self):
        return [self.port.e == self.level, self.C * der(self.level) == self.port.f + self.q]
"""

LINK = """\
class @{group}Link(Model):
    g = Par(1.0, nonzero=True)
    a = @{group}Port()
    b = @{group}Port()
    flow = Var()
    q = Var()

    def equations(self):
        d = self.a.e - self.b.e
        return [{law}, self.a.f == self.flow, self.b.f + self.flow == 0]
"""

LAWS = {
    "linear": "self.flow == self.g * d + self.q",
    "cubic": "self.flow + self.flow**3 == self.g * d + self.q",
    "tanh": "self.flow == self.g * d + np.tanh(d) + self.q",
    "inertia": "self.g * der(self.flow) + self.flow == d + self.q",
}


def network(world: World) -> Group:
    """A row of stores and links as component arrays; rigidly doubled stores raise the index."""
    rng, draw = world.rng, world.draw
    n = int(rng.integers(2, 7))
    tag = world.fresh("N")
    law = str(rng.choice(["linear", "cubic", "tanh", "inertia"]))
    store, link, twin = f"s{tag}", f"l{tag}", f"t{tag}"
    c, g = np.round(draw.uniform(0.5, 2.0, n), 2), np.round(draw.uniform(0.3, 1.5, n - 1), 2)
    level = Variable(f"{store}__level", world.signal((n,)), declared=False, gain=5.0)
    flow = Variable(f"{link}__flow", world.signal((n - 1,)), declared=False, gain=10.0)
    inflow = "(np.concatenate([np.zeros(1), F]) - np.concatenate([F, np.zeros(1)]))".replace(
        "F", f"<{flow.name}>"
    )
    difference = f"(<{level.name}>[:-1] - <{level.name}>[1:])"
    gain = number(g)
    needed = {
        "linear": f"<{flow.name}> - {gain} * {difference}",
        "cubic": f"<{flow.name}> + <{flow.name}>**3 - {gain} * {difference}",
        "tanh": f"<{flow.name}> - {gain} * {difference} - np.tanh({difference})",
        "inertia": f"{gain} * <{flow.name}'> + <{flow.name}> - {difference}",
    }[law]
    # In array form the links see d of all copies; the chosen q makes the chosen flow exact.
    members = [
        (store, f"@{tag}Store.array({n}, C={c.tolist()}, level={start_value(level.signal)})"),
        (
            link,
            f"@{tag}Link.array({n - 1}, g={g.tolist()}{f', flow={start_value(flow.signal)}' if law == 'inertia' else ''})",
        ),
    ]
    statements = [
        f"connect(self.{store}[:-1].port, self.{link}.a)",
        f"connect(self.{store}[1:].port, self.{link}.b)",
    ]
    variables = [level, flow]
    extra = ""
    equations = []
    if (
        rng.random() < 0.5
    ):  # a second row of stores at the same ports: equal levels, one flow between each pair
        ct = float(np.round(draw.uniform(0.5, 2.0), 2))
        between = Variable(f"{twin}__port__f", world.signal((n,)), declared=False, gain=50.0)
        members.append((twin, f"@{tag}Store.array({n}, C={ct})"))
        statements.append(f"connect(self.{store}.port, self.{twin}.port)")
        variables += [between, Variable(f"{twin}__level", level.signal, declared=False, gain=5.0)]
        extra = f" + <{between.name}>"
        equations.append(Equation((Term(f"self.{twin}.q", f"{ct} * <{level.name}'> - <{between.name}>"),)))
    equations += [
        Equation((Term(f"self.{store}.q", f"{number(c)} * <{level.name}'> - {inflow}{extra}"),)),
        Equation((Term(f"self.{link}.q", needed),)),
    ]
    group = Group(
        f"a network ({law})",
        tuple(variables),
        tuple(equations),
        classes=PORT.replace("{group}", tag)
        + "\n\n"
        + LINK.replace("{group}", tag).replace("{law}", LAWS[law]),
        members=tuple(members),
        statements=tuple(statements),
    )
    return world.add(group, 0)
