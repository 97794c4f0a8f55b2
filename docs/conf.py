"""Sphinx configuration. The build needs no network: there are no inventories."""

from skbidag import __version__

project = "skbidag"
author = "The skbidag developers"
copyright = author
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say the types
# The class template lists the methods.
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"skbidag {release}"
html_show_sourcelink = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "download_all_examples": False,
    "show_memory": False,
}
