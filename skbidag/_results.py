"""What a fitted learner gives away: parameters, answers, and other formats."""

from collections.abc import Mapping
from typing import Literal, get_args

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skbidag import formats
from skbidag._data import Seed, names_of
from skbidag._edge_table import edge_columns
from skbidag._frames import make_frame
from skbidag._parameters import Parameters, parameters_of
from skbidag._queries import QueryResult, answer
from skbidag._summary import Summary, summarize

#: Formats of text for the best DAG
Format = Literal["bif", "dagitty", "graphml", "modelstring"]


class ResultsMixin:
    """Parameters, queries, a summary, and the best DAG in other programs' formats."""

    def summary(self) -> Summary:
        """What was fitted, whether it has converged, and the most probable edges.

        Returns
        -------
        summary : Summary
            To print; with the attributes `converged`, `convergence` and `edges`.

        Examples
        --------
        >>> from skbidag import PartitionMCMCStructure
        >>> from skbidag.datasets import make_gaussian_network
        >>> X = make_gaussian_network(200, 5, random_state=0).data
        >>> print(PartitionMCMCStructure(random_state=0).fit(X).summary())
        PartitionMCMCStructure: 5 continuous variables, BGe
        Posterior: over DAGs (every DAG counts once)
        Sample:    4 chains of 500 DAGs
        Converged: yes (R-hat ... of the score, at most ... of an edge)
        Best DAG:  ... edges, log score ...
        <BLANKLINE>
        probability  (error)     effect  edge
        ...
        """
        check_is_fitted(self)
        columns = edge_columns(self, self._edge_errors())
        return summarize(self, columns, make_frame(columns, self._template))

    def parameters(self, dag: ArrayLike | Literal["best"] | None = None) -> Parameters:
        """Posterior of the parameters, given a DAG or averaged over the sampled ones.

        Parameters
        ----------
        dag : array-like of shape (n_features, n_features), "best" or None, default=None
            A DAG, in which ``dag[i, j]`` is the edge i -> j; the best one,
            ``adjacency_``; or None to average over the sampled DAGs.

        Returns
        -------
        parameters : Parameters
            Its method ``to_frame`` gives a table with means, standard deviations and
            credible intervals; ``network`` the network with the posterior means, of
            one DAG.

        Notes
        -----
        Continuous data (BGe): intercepts, coefficients and residual variances.
        Averaged, a coefficient is 0 in the DAGs without the edge, so that an interval
        may end at exactly 0; its mean given the edge is the effect in
        :meth:`edges_frame`.

        Categorical data (BDe): probabilities of the child's categories for each
        configuration of its parents. They belong to a parent set: averaged, there is a
        table for each parent set that was sampled, beside the set's probability.

        Mixed data: the same in each cell that the categorical parents make and that has
        rows. Of a categorical child with continuous parents, the probabilities are
        those without these, and beside them stands the mean of each continuous parent
        in each category, of which Bayes' rule makes the rest.

        Distributions are exact given the sampled DAGs, none is drawn. Parameters are in
        the units of the data.

        Examples
        --------
        >>> from skbidag import PartitionMCMCStructure
        >>> from skbidag.datasets import load_asia
        >>> asia = load_asia(as_frame=True)
        >>> model = PartitionMCMCStructure(random_state=0).fit(asia.data)
        >>> frame = model.parameters(asia.adjacency).to_frame()
        >>> frame[frame["child"] == "lung"].round(2)
           child parameter      given  probability  mean    sd  lower  upper
        8   lung       yes  smoke=yes          1.0  0.11  0.02   0.08   0.15
        9   lung        no  smoke=yes          1.0  0.89  0.02   0.85   0.92
        10  lung       yes   smoke=no          1.0  0.01  0.00   0.00   0.02
        11  lung        no   smoke=no          1.0  0.99  0.00   0.98   1.00
        """
        check_is_fitted(self)
        return parameters_of(self, dag)

    def query(
        self,
        target: str | int,
        evidence: Mapping | None = None,
        do: Mapping | None = None,
        *,
        n_draws: int = 1000,
        random_state: Seed = None,
    ) -> QueryResult:
        """Posterior of P(target | evidence, do(x)), over DAGs and their parameters.

        Parameters
        ----------
        target : str or int
            The variable in question, by name or index.
        evidence : mapping, default=None
            Variables that are observed, and their values.
        do : mapping, default=None
            Variables that are set by an intervention, and their values. The edges into
            them are cut before anything is observed.
        n_draws : int, default=1000
            How many draws: of as many sampled DAGs, evenly spaced, each with parameters
            drawn from their posterior.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        result : QueryResult
            With `draws`, `mean`, `interval` and `to_frame`: of the probabilities of a
            categorical target's levels, or of a continuous target's expectation, for
            which ``predictive_interval`` says where it lies itself.

        Notes
        -----
        The answer is about the population, and its posterior is that given the data of
        ``fit``: the evidence is a condition of the question, and no further data. (In
        :meth:`predict`, DAGs count by what they say of the row.) Given DAG and
        parameters it is exact for continuous and for categorical data. For mixed data
        it is simulated, by 512 quasi-random rows weighted by the density of the
        evidence, which adds to the width of intervals; a warning says where the
        evidence is too improbable for that.

        Effects of interventions are causal if the edges are: there are no hidden common
        causes, and the directions that data cannot tell are averaged over.

        See Also
        --------
        skbidag.causal_effects : Differences between interventions.

        Examples
        --------
        >>> from skbidag import PartitionMCMCStructure
        >>> from skbidag.datasets import load_asia
        >>> asia = load_asia(as_frame=True)
        >>> model = PartitionMCMCStructure(random_state=0).fit(asia.data)
        >>> result = model.query(
        ...     "lung", {"xray": "yes"}, do={"smoke": "no"}, random_state=0
        ... )
        >>> result.levels, result.draws.shape
        (['yes', 'no'], (1000, 2))
        >>> lower, upper = result.interval(0.9)
        """
        check_is_fitted(self)
        return answer(self, target, evidence, do, n_draws, random_state)

    def export(self, format: Format) -> str:
        """The best DAG as text that other programs read.

        Parameters
        ----------
        format : {"bif", "dagitty", "graphml", "modelstring"}
            BIF, with the parameters' posterior means, for categorical data; DAGitty;
            GraphML, with the edges' probability, error, R-hat and effect; or the model
            string of bnlearn. See :mod:`skbidag.formats` for these, for pgmpy, and for
            other graphs than the best DAG.

        Returns
        -------
        text : str
            To be written to a file.

        Examples
        --------
        >>> from skbidag import PartitionMCMCStructure
        >>> from skbidag.datasets import make_gaussian_network
        >>> X = make_gaussian_network(200, 3, random_state=0).data
        >>> PartitionMCMCStructure(random_state=0).fit(X).export("modelstring")
        '[...]'
        """
        check_is_fitted(self)
        if format not in get_args(Format):
            raise ValueError(
                f"format must be one of {', '.join(map(repr, get_args(Format)))}, got "
                f"{format!r}."
            )
        if format == "bif":
            if not (self.feature_kinds_ == "categorical").all():
                raise ValueError(
                    "format='bif' is for categorical data; there are columns of "
                    "numbers. The other formats have the graph alone."
                )
            return formats.to_bif(self.parameters("best").network())
        if format == "graphml":
            return formats.to_graphml(self.to_networkx())
        write = formats.to_dagitty if format == "dagitty" else formats.to_modelstring
        return write(self.adjacency_, names_of(self))
