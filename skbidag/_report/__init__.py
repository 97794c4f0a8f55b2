"""One page that shows a result, and a small picture of it for notebooks.

``_network.py`` makes plain data of a fitted estimator, which the page's script draws,
``_trust.py`` says in words what speaks for the result and what against it,
``_facts.py`` has the rest of what is said, and ``_page.py`` puts all of it into
``page.html``, with ``style.css`` and ``script.js``. ``_charts.py`` draws what is
static, ``_pictures.py`` lets matplotlib draw more, if it is there.
"""

from skbidag._report._mixin import ReportMixin

__all__ = ["ReportMixin"]
