"""The command ``skbidag``: a file of data in, a folder of results out.

It flows one way: ``_read.py`` makes a table (``_table.py``) of a file, with one module
per format and ``_cells.py`` for what a cell is; ``_prepare.py`` makes variables of a
table, with the kinds of ``_kinds.py``; ``_fit.py`` a fitted estimator of these, with
what is known beforehand (``_knowledge.py``); ``_summary.py`` numbers of that, and
``_write.py`` the folder, with the page of ``_report.py`` in it. ``_main.py`` goes
through these steps, ``_arguments.py`` holds the options, and ``_wording.py`` puts the
estimators' messages into their words. Nothing heavy is imported before there is work to
do, so that ``--help`` answers at once.
"""

from skbidag._cli._main import main

__all__ = ["main"]
