"""Makes the pictures of the documents: python docs/pictures.py"""

import os
import re
import shutil
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from modia_py import elaborate
from modia_py.arrays.pictures import incidence_picture
from modia_py.arrays.transform import transform
from modia_py.lowering.model_structure import model_structure
from modia_py.models.examples import SlidingMass

DOCS = Path(__file__).resolve().parent

model = model_structure(elaborate(SlidingMass()))
result = transform(model.structure, model.integers, model.integer_rows)
figure, axes = plt.subplots(1, 3, figsize=(17, 4.6), layout="constrained")
incidence_picture(model.structure, axes=axes[0], title="as written")
incidence_picture(result.structure, axes=axes[1], title="with derivatives")
incidence_picture(
    result.structure, blocks=result.blocks, axes=axes[2], title="highest derivatives, in blocks"
)
figure.savefig(DOCS / "sliding_mass_structure.png", dpi=80)

# The picture of results.md is what its example draws.
(example,) = re.findall(r"```python\n(.*?)```", (DOCS / "results.md").read_text(), re.DOTALL)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    exec(example, {})
    shutil.copy("example.png", DOCS / "result.png")
    os.chdir(DOCS)
