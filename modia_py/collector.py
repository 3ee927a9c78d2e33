"""Python's search for cycles of garbage, paused while a model is translated.

Translation makes hundreds of thousands of small objects, nearly all of which are kept. The collector looks
at all of them again and again as they become more, and finds nothing: of 2000 different equations it took a
sixth of the time of their first run.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """No search within this context; as before after it. Contexts in each other, and in several threads,
    do no harm: who has found it running lets it run again."""
    was_running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_running:
            gc.enable()
