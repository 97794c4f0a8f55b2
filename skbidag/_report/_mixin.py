"""What a fitted structure learner shows of itself: a page, and a small picture."""

from pathlib import Path

from sklearn.utils.validation import check_is_fitted

from skbidag._report._facts import facts_of
from skbidag._report._page import make_page
from skbidag._report._thumbnail import thumbnail


class ReportMixin:
    """A report of what was learned.

    A learner whose result another one holds, as a dynamic network does, says so by
    `_reported`.
    """

    @property
    def _reported(self):
        """The structure learner that the report is of, and the dynamic one, if any."""
        return self, None

    def report(self, path, title: str | None = None) -> Path:
        """Write a page that shows what was learned, to open in a browser.

        One file with everything in it, which loads nothing from anywhere: whether the
        result can be trusted, in words; the network to slide the probability, search,
        drag, zoom and save; the edges as a table; traces of the chains; and all
        settings. A picture of how chains agree needs matplotlib, the rest does not.

        Parameters
        ----------
        path : str or path-like
            The file, which is replaced if it exists.
        title : str, default=None
            The heading. By default the name of the estimator.

        Returns
        -------
        path : Path
            The file.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from skbidag import PartitionMCMCStructure
        >>> from skbidag.datasets import load_asia
        >>> asia = load_asia(as_frame=True)
        >>> model = PartitionMCMCStructure(random_state=0).fit(asia.data)
        >>> model.report(f"{mkdtemp()}/asia.html", title="Asia").name
        'asia.html'
        """
        check_is_fitted(self)
        estimator, dynamic = self._reported
        facts = facts_of(estimator, title or type(self).__name__, dynamic)
        path = Path(path)
        page = make_page(facts, estimator, dynamic)
        path.write_text(page, encoding="utf-8", newline="\n")
        return path

    # scikit-learn's hook: what notebooks show of an estimator
    def _html_repr(self):
        html = super()._html_repr()
        if not self.__sklearn_is_fitted__():
            return html
        estimator, dynamic = self._reported
        return f"<div>{html}{thumbnail(estimator, dynamic)}</div>"
