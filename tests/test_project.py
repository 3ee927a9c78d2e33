"""The project itself: what the wheel holds, that examples and documents say what is."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import modia_py
from modia_py import elaborate
from modia_py.models import examples

ROOT = Path(__file__).parent.parent
FOLDERS = {
    "modia_py": "modia_py",
    "arrays": "modia_py/arrays",
    "solvers": "modia_py/solvers",
    "models": "modia_py/models",
}


def test_the_wheel_contains_the_four_folders_and_nothing_else(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for folder in FOLDERS:
        for file in (ROOT / folder).rglob("*.py"):
            copy = source / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (source / name).write_bytes((ROOT / name).read_bytes())
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", tmp_path, source], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {
        f"{target}/{file.relative_to(ROOT / folder).as_posix()}"
        for folder, target in FOLDERS.items()
        for file in (ROOT / folder).rglob("*.py")
    }
    assert inside == expected


def test_every_public_name_is_there_and_documented():
    for name in modia_py.__all__:
        thing = getattr(modia_py, name)
        assert name == "time" or thing.__doc__, name


@pytest.mark.parametrize(
    "model",
    [examples.SlidingMass(), examples.Pendulum(), examples.HeatRod(4), examples.Ladder(3)],
    ids=repr,
)
def test_examples_are_balanced(model):
    flat = elaborate(model)
    assert flat.size == flat.unknowns


@pytest.mark.parametrize(
    "document",
    [
        "README.md",
        "docs/language.md",
        "docs/components.md",
        "docs/events.md",
        "docs/gradients.md",
        "docs/structure.md",
        "docs/simulation.md",
        "docs/solvers.md",
        "docs/results.md",
        "docs/ensembles.md",
        "docs/tearing.md",
    ],
)
def test_the_examples_in_documents_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples may write files
    text = (ROOT / document).read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, document, "exec"), {"__name__": "document"})


def test_the_demo_checks_out(tmp_path, capsys):
    from modia_py.models import demo

    demo.main(str(tmp_path / "demo.png"))
    printed = capsys.readouterr().out
    assert "SlidingMass: 13 equations for 13 unknowns" in printed
    assert "x = [s, der(s)]" in printed
    assert (tmp_path / "demo.png").stat().st_size > 10_000


def test_long_files_are_two_ideas():
    for folder in FOLDERS:
        for file in (ROOT / folder).rglob("*.py"):
            assert len(file.read_text().splitlines()) <= 400, (
                f"{file.name} is past 400 lines: find the seam"
            )


def test_cholmod_works_where_it_is_installed():
    cholmod = pytest.importorskip(
        "sksparse.cholmod", reason="scikit-sparse is not installed (needs SuiteSparse)"
    )
    import numpy as np
    import scipy.sparse as sp

    matrix = sp.diags([-1.0, 4.0, -1.0], [-1, 0, 1], (5, 5), format="csc")
    x = cholmod.cholesky(matrix)(np.ones(5))
    np.testing.assert_allclose(matrix @ x, np.ones(5))
