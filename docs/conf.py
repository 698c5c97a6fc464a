"""Configuration of the documentation, built by Sphinx: `make docs`, or `python -m sphinx docs docs/_build/html`.

With `-t no-gallery` the examples are not run, which makes a draft in seconds.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

# Before NumPy is loaded: threads of BLAS cost more than they give on matrices of this size.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

HERE = Path(__file__).parent
# Pages of names that are no longer public would stay.
shutil.rmtree(HERE / "api" / "generated", ignore_errors=True)
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

import offline  # noqa: E402
import plain_docstrings  # noqa: E402
import public_names  # noqa: E402

import quatcast  # noqa: E402

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    tags: set[str]

project = "quatcast"
author = copyright = "the quatcast developers"
version = release = quatcast.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**sg_execution_times.rst"]
if "no-gallery" in tags:  # noqa: F821
    extensions.remove("sphinx_gallery.gen_gallery")
    exclude_patterns.append("gallery")
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
# Single backticks in docstrings name objects; one that is not found is shown as code.
default_role = "py:obj"
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3

# A list rather than True, which forgets pages that were added since the last build.
autosummary_generate = [str(page) for page in (HERE / "api").glob("*.rst")]
autosummary_ignore_module_all = False
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
maximum_signature_line_length = 100
python_use_unqualified_type_names = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False


class _SpacesInFolder(logging.Filter):
    """Drop the warning of sphinx-gallery about spaces, which may be in the path of the checkout: links are relative."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "with spaces found" not in str(record.msg)


logging.getLogger("sphinx.sphinx-gallery").addFilter(_SpacesInFolder())

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("gallery_style.use",),
    "abort_on_example_error": False,
    "only_warn_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 10_000,
    "write_computation_times": False,
    "image_srcset": ["2x"],
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "quatcast"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "quatcast"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "glossary": [], "contributing": []}


def setup(app: Sphinx) -> None:
    """Connect what this folder adds to Sphinx."""
    app.connect("autodoc-process-docstring", plain_docstrings.process, priority=400)  # before numpydoc, at 500
    app.connect("env-check-consistency", public_names.check)
    app.connect("build-finished", offline.check)
    app.connect("source-read", link_benchmarks)


def link_benchmarks(app: Sphinx, name: str, source: list[str]) -> None:
    """Lead links to the README of the benchmarks, right on GitHub, to its page here."""
    source[0] = source[0].replace("](../benchmarks/README.md", "](benchmarks.md")
