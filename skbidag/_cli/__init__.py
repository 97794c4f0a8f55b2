"""The command ``skbidag``: a file of data in, a folder of results out.

It flows one way: ``_read.py`` makes a table of a file, ``_prepare.py`` variables of a
table, ``_fit.py`` a fitted estimator of these, ``_summary.py`` numbers of that, and
``_write.py`` the folder, with the page of ``_report.py`` in it. ``_main.py`` goes
through these steps, and ``_arguments.py`` holds the options. Nothing heavy is imported
before there is work to do, so that ``--help`` answers at once.
"""

from skbidag._cli._main import main

__all__ = ["main"]
