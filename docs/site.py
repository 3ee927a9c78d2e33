"""Builds the site: python docs/site.py [FOLDER]. Nothing is fetched, and a warning is an error.

The sources are the pages in this folder, and what is made here: the reference from docstrings, a gallery
of all pictures, a notebook of each page whose code runs. They are put together in .build/docs.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
BUILD = DOCS.parent / ".build" / "docs"
EXPLANATION = ("structure", "tearing", "inline", "solvers", "trust")
FIRST_GUIDES = (
    "language",
    "components",
    "events",
    "simulation",
    "results",
    "ensembles",
    "gradients",
    "studies",
)
NO_GUIDES = ("index", "gallery", *EXPLANATION)
PACKAGES = {
    "modia_py": "Models, simulations, results",
    "modia_py.solvers": "The integrator alone",
    "modia_py.arrays": "Structure of array equations",
}
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
PICTURE = re.compile(r"!\[([^\]]*)\]\(((?:\.\./)?pictures/[\w.]+)\)")


def pages() -> list[Path]:
    """All pages, the front page first."""
    found = sorted(DOCS.rglob("*.md"), key=lambda page: (len(page.relative_to(DOCS).parts), page.name))
    return sorted(found, key=lambda page: page.name != "index.md")


def guides() -> list[str]:
    """Guides in their order; pages that nobody has put in an order stand behind them."""
    there = [page.stem for page in sorted(DOCS.glob("*.md")) if page.stem not in NO_GUIDES]
    return sorted(there, key=lambda name: FIRST_GUIDES.index(name) if name in FIRST_GUIDES else len(there))


def toctree(caption: str, names: list[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *names, "```", ""])


def contents() -> str:
    """The table of contents, behind the front page."""

    def folder(name: str) -> list[str]:
        return [f"{name}/{page.stem}" for page in sorted((DOCS / name).glob("*.md"))]

    parts = [
        ("Tutorials", [*folder("tutorials"), "gallery"]),
        ("How to", folder("howto")),
        ("Guides", guides()),
        ("Explanation", list(EXPLANATION)),
        ("Reference", [f"reference/{package}" for package in (*PACKAGES, "libraries")]),
    ]
    return "\n" + "\n".join(toctree(*part) for part in parts)


def gallery() -> str:
    """Every picture that the code of a page draws, with a link to it."""
    lines = []
    for page in pages():
        where = page.relative_to(DOCS).as_posix()
        for text, picture in PICTURE.findall(page.read_text()):
            if CODE.search(page.read_text()):
                lines.append(f"[![{text}]({picture.removeprefix('../')})]({where})\n\n{text}\n")
    return "\n".join(lines)


def notebook(text: str) -> dict:
    """A page as a notebook: its blocks of code are cells."""
    cells = []
    for number, part in enumerate(CODE.split(text)):
        if not part.strip():
            continue
        cell = {"id": f"cell{number}", "metadata": {}, "source": part.strip().splitlines(keepends=True)}
        kind = {"cell_type": "code", "outputs": [], "execution_count": None}
        cells.append(cell | (kind if number % 2 else {"cell_type": "markdown"}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def reference(package: str) -> str:
    """Public names of a package with their docstrings, as reStructuredText."""
    module = importlib.import_module(package)
    lines = [package, "=" * len(package), "", f"{PACKAGES[package]}.", ""]
    for kind, is_kind in (("Classes", inspect.isclass), ("Functions", inspect.isroutine)):
        names = sorted((n for n in module.__all__ if is_kind(getattr(module, n))), key=str.lower)
        if names:
            lines += [kind, "-" * len(kind), ""]
        for name in names:
            lines += directive("autoclass" if kind == "Classes" else "autofunction", f"{package}.{name}")
    return "\n".join(lines)


def libraries() -> str:
    """The component libraries: the classes that their modules define."""
    import modia_py.models
    from modia_py import Connector, Model

    lines = ["Component libraries", "===================", "", "What `modia_py.models` holds.", ""]
    for _, name, is_package in pkgutil.walk_packages(modia_py.models.__path__, "modia_py.models."):
        module = importlib.import_module(name)
        classes = [thing for thing in vars(module).values() if inspect.isclass(thing)]
        own = [
            thing
            for thing in dict.fromkeys(classes)  # one class may have several names, such as Pin
            if issubclass(thing, (Connector, Model)) and thing.__module__ == name
        ]
        if is_package or not own:
            continue
        lines += [name, "-" * len(name), ""]
        for thing in own:
            lines += directive("autoclass", f"{name}.{thing.__name__}", members=False)
    return "\n".join(lines)


def directive(kind: str, name: str, *, members: bool = True) -> Iterator[str]:
    yield f".. {kind}:: {name}"
    if kind == "autoclass" and members:
        yield from (
            "   :members:",
            "   :inherited-members: Exception, BaseException, Mapping, Sequence, tuple, int",
        )
    yield ""


def put_together(source: Path) -> None:
    """All pages, with what is made for them, in one folder."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(DOCS, source, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copy(DOCS / "conf.py", source)
    (source / "notebooks").mkdir()
    (source / "reference").mkdir()
    for page in pages():
        path = page.relative_to(DOCS)
        text = page.read_text()
        if path.name == "gallery.md":
            text = text.replace("GALLERY", gallery())
        if CODE.search(text):
            name = "_".join(path.with_suffix(".ipynb").parts)
            (source / "notebooks" / name).write_text(json.dumps(notebook(text), indent=1))
            up = "../" * (len(path.parts) - 1)
            text += f"\n\n{{download}}`This page as a notebook <{up}notebooks/{name}>`\n"
        if path.name == "index.md":
            text += contents()
        (source / path).write_text(text)
    for package in PACKAGES:
        (source / "reference" / f"{package}.rst").write_text(reference(package))
    (source / "reference" / "libraries.rst").write_text(libraries())


def main(folder: str = str(BUILD / "html")) -> int:
    from sphinx.cmd.build import build_main

    source = BUILD / "source"
    put_together(source)
    strict = ["--fail-on-warning", "--keep-going"]
    code = build_main(
        ["-q", "-E", "-b", "html", *strict, "-d", str(BUILD / "doctrees"), str(source), folder]
    )
    print(f"the site is in {folder}/index.html" if code == 0 else "the site has errors")
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
