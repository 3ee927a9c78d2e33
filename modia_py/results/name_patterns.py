"""Names with stars: `arm.*.tau`, `**.i`, `der(*.q)`, `c[0].*`.

A star stands for letters of one segment of a dotted name, as in a shell for those of one folder; two stars
alone between dots stand for any number of segments. Indices are written as in any other name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

WILD = re.compile(r"[*?]")
WRAPPED = re.compile(r"((?:der\d*\()*)((?:[^()\s]|(?<=,)\s)*)(\)*(?:\[[^()]*\])?(?: in .+)?)")
INDEX = re.compile(r"\[[^\]]*\]$")
ANY_SEGMENTS = "**"


def is_pattern(text: object) -> bool:
    """Whether a text stands for several names.

    >>> is_pattern("arm.*.tau"), is_pattern("arm.j.tau"), is_pattern("c[*].u")
    (True, False, True)
    """
    return isinstance(text, str) and WILD.search(text) is not None


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """What a pattern stands for among some names, with its derivatives, indices and units around them.

    >>> names = ["arm.a.tau", "arm.b.tau", "arm.b.q", "c.u", "l[0].x", "l[1].x"]
    >>> matching("arm.*.tau", names), matching("der(arm.*.q)", names), matching("**.tau", names)
    (['arm.a.tau', 'arm.b.tau'], ['der(arm.b.q)'], ['arm.a.tau', 'arm.b.tau'])
    >>> matching("c[::10].?", names), matching("l[*].x", names)
    (['c[::10].u'], ['l[0].x', 'l[1].x'])
    >>> matching("arm.a.* in mN.m", names)
    ['arm.a.tau in mN.m']
    """
    parts = WRAPPED.fullmatch(pattern.strip())
    if parts is None:
        return []
    before, wanted, after = parts.groups()
    segments = _segments(wanted)
    found = (_matched(segments, _segments(name)) for name in names)
    return [before + ".".join(segments) + after for segments in found if segments is not None]


def _segments(name: str) -> list[str]:
    """Between dots, but not between those inside brackets: `T[..., 0].x`."""
    return re.split(r"\.(?![^\[]*\])", name)


def _matched(wanted: Sequence[str], name: Sequence[str]) -> list[str] | None:
    """The segments of a name with the indices that are wanted of them; None if it is another name.

    As long as it is deep, a name has a few segments only: recursion is safe here.
    """
    if not wanted:
        return None if name else []
    if wanted[0] == ANY_SEGMENTS:
        for count in range(len(name) + 1):
            rest = _matched(wanted[1:], name[count:])
            if rest is not None:
                return [*name[:count], *rest]
        return None
    first = _one_segment(wanted[0], name[0]) if name else None
    rest = _matched(wanted[1:], name[1:]) if first is not None else None
    return None if first is None or rest is None else [first, *rest]


def _one_segment(wanted: str, segment: str) -> str | None:
    if _fits(wanted, segment):
        return segment
    index = INDEX.search(wanted)  # of a component array, which its name does not show
    if index is None or not _fits(wanted[: index.start()], segment):
        return None
    return segment if WILD.search(index[0]) else segment + index[0]


def _fits(wanted: str, segment: str) -> bool:
    letters = (".*" if c == "*" else "." if c == "?" else re.escape(c) for c in wanted)
    return re.fullmatch("".join(letters), segment) is not None
