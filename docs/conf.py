"""The site: `make docs` puts its sources together (site.py) and builds them with this configuration."""

project = "modia_py"
copyright = "the authors of modia_py"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
exclude_patterns: list[str] = []

html_theme = "furo"
html_title = "modia_py"
html_copy_source = False
html_show_sphinx = False

# Docstrings are numpydoc; a single backtick is a name in code there.
default_role = "code"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True


def keep_bars(app, kind, name, thing, options, lines):
    """|w| is a size in formulas, which Sphinx would take for a substitution; code stays as it is."""
    for k, line in enumerate(lines):
        if ">>>" not in line:
            parts = line.split("`")
            parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]
            lines[k] = "`".join(parts)


def setup(app):
    app.connect("autodoc-process-docstring", keep_bars, priority=100)
