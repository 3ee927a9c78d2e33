"""The project itself: what the wheel holds, that examples and documents say what is."""

from __future__ import annotations

import importlib.util
import json
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


DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LARGEST_PICTURE = 100_000


def name_of(document):
    return document.relative_to(ROOT).as_posix()


LONG = "gradients.md", "studies.md"
"""Pages with many derivatives and fits."""
PROGRAMS = [
    pytest.param(page, marks=pytest.mark.slow) if page.name in LONG else page
    for page in DOCUMENTS
    if "```python\n" in page.read_text()
]


@pytest.mark.parametrize("document", PROGRAMS, ids=name_of)
def test_the_examples_in_documents_run(document, tmp_path, monkeypatch):
    """The blocks of a page are one program; what it writes is what the page shows."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    if "import numpyro" in document.read_text():
        pytest.importorskip("numpyro")
    monkeypatch.syspath_prepend(ROOT / "docs")
    monkeypatch.syspath_prepend("")
    monkeypatch.chdir(tmp_path)  # examples may write files, and import them
    import draw

    draw.run_page(document)
    for picture in draw.pictures_of(document):
        drawn_elsewhere = picture == "sliding_mass_structure.png"
        assert drawn_elsewhere or Path(picture).exists(), f"no code of {document.name} draws {picture}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_in_documents_lead_somewhere(document):
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if "://" not in target:
            assert (document.parent / target.partition("#")[0]).exists(), target


def test_pictures_are_small_and_shown():
    shown = "".join(page.read_text() for page in DOCUMENTS)
    for picture in [*(ROOT / "docs" / "pictures").iterdir(), ROOT / "docs" / "demo.png"]:
        assert picture.stat().st_size < LARGEST_PICTURE, picture.name
        assert picture.name in shown, f"no page shows {picture.name}"


@pytest.mark.parametrize("tutorial", ["circuit", "mechanism", "plate"])
def test_a_tutorial_is_short(tutorial):
    page = (ROOT / "docs" / "tutorials" / f"{tutorial}.md").read_text()
    program = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    assert len(program.splitlines()) < 30
    assert "file=" in program


def made_for_the_site():
    """docs/site.py, under a name that Python's own module does not have."""
    specification = importlib.util.spec_from_file_location("docs_site", ROOT / "docs" / "site.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_reference_describes_each_name_once():
    site = made_for_the_site()
    for page in [site.libraries(), *map(site.reference, site.PACKAGES)]:
        described = re.findall(r"^\.\. auto\w+:: (.*)$", page, re.MULTILINE)
        assert len(described) > 5
        assert len(described) == len(set(described))


def test_notebooks_are_the_code_of_their_pages():
    """What `test_the_examples_in_documents_run` runs is what the notebooks hold."""
    site = made_for_the_site()
    guides = [page for page in site.pages() if "```python\n" in page.read_text()]
    assert len(guides) > 10
    for page in guides:
        book = json.loads(json.dumps(site.notebook(page.read_text())))
        assert (book["nbformat"], book["metadata"]["kernelspec"]["name"]) == (4, "python3")
        code = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
        assert code == [
            block.strip() for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
        ]
        assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path):
    pytest.importorskip("sphinx", reason="make docs installs it")
    build = [sys.executable, ROOT / "docs" / "site.py", tmp_path]
    done = subprocess.run(build, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for page in ("index", "gallery", "events", "tutorials/plate", "reference/modia_py"):
        assert (tmp_path / f"{page}.html").exists()
    reference = (tmp_path / "reference" / "modia_py.html").read_text()
    assert 'id="modia_py.Result.plot_map"' in reference
    fetched = re.findall(
        r'(?:src|href)="https?://[^"]+\.(?:css|js|woff2?)', (tmp_path / "index.html").read_text()
    )
    assert not fetched


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
