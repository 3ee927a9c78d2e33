"""Draws the pictures of the documents: python docs/draw.py [PAGE.md ...]

The code of each page runs in an empty folder; what it writes and the page shows is taken, with few
colours, so that it is small. demo.png is what `modia demo` draws.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

import matplotlib
from PIL import Image, ImageSequence

matplotlib.use("Agg")

DOCS = Path(__file__).resolve().parent
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
COLOURS = {".png": 96, ".gif": 48}
MAIN = 'if __name__ == "__main__":'


def run_page(page: Path) -> None:
    """Run all blocks of code of a page, as one program, in the current folder."""
    text = page.read_text()
    names = {"__name__": "__main__" if MAIN in text else "document"}
    sys.path.insert(0, "")  # files that it writes may be imported
    try:
        for block in CODE.findall(text):
            exec(compile(block, page.name, "exec"), names)
    finally:
        sys.path.remove("")


def pictures_of(page: Path) -> list[str]:
    """The names of the pictures that a page shows."""
    return re.findall(r"\]\((?:\.\./)?pictures/([\w.]+)\)", page.read_text())


def make_small(file: Path, target: Path) -> None:
    """The same picture with fewer colours."""
    with Image.open(file) as image:
        if file.suffix == ".gif":
            frames = [
                frame.convert("RGB").quantize(COLOURS[".gif"]) for frame in ImageSequence.Iterator(image)
            ]
            duration = image.info["duration"]
            frames[0].save(
                target, save_all=True, append_images=frames[1:], loop=0, duration=duration, optimize=True
            )
        else:
            image.convert("RGB").quantize(COLOURS[".png"]).save(target, optimize=True)


def draw(page: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run_page(page)
        for name in pictures_of(page):
            if Path(name).exists():
                make_small(Path(name), DOCS / "pictures" / name)
        os.chdir(DOCS)


def draw_structure() -> None:
    """The picture of structure.md, from passes that have no other picture."""
    import matplotlib.pyplot as plt

    from modia_py import elaborate
    from modia_py.arrays.pictures import incidence_picture
    from modia_py.arrays.transform import transform
    from modia_py.lowering.model_structure import model_structure
    from modia_py.models.examples import SlidingMass

    model = model_structure(elaborate(SlidingMass()))
    result = transform(model.structure, model.integers, model.integer_rows)
    figure, axes = plt.subplots(1, 3, figsize=(17, 4.6), layout="constrained")
    incidence_picture(model.structure, axes=axes[0], title="as written")
    incidence_picture(result.structure, axes=axes[1], title="with derivatives")
    incidence_picture(
        result.structure, blocks=result.blocks, axes=axes[2], title="highest derivatives, in blocks"
    )
    file = DOCS / "pictures" / "sliding_mass_structure.png"
    figure.savefig(file, dpi=80)
    make_small(file, file)


def draw_demo() -> None:
    from modia_py.models import demo

    with tempfile.TemporaryDirectory() as folder:
        demo.main(f"{folder}/demo.png")
        make_small(Path(folder) / "demo.png", DOCS / "demo.png")


if __name__ == "__main__":
    chosen = [Path(name).resolve() for name in sys.argv[1:]]
    for page in chosen or [page for page in sorted(DOCS.rglob("*.md")) if pictures_of(page)]:
        draw(page)
    if not chosen:
        draw_structure()
        draw_demo()
