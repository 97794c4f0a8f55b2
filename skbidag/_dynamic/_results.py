"""What a fitted dynamic network gives away: its edges as a table, and a summary."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbidag._dynamic._series import lagged_name
from skbidag._edge_table import edge_columns
from skbidag._frames import make_frame
from skbidag._summary import Summary, convergence_of, findings, variables_of, verdict_of


class DynamicResultsMixin:
    """The edges of both networks, and a page of text."""

    def edges_frame(self) -> Any:
        """All edges that were seen: the transition's, then those of the first slice.

        Returns
        -------
        edges : dataframe
            In the library of the frame that ``fit`` was given, or else pandas, the most
            probable edges of each network first. Its columns are

            - "network": "transition"; or "initial" for the first slice's network, where
              that is learned apart. With ``initial="shared"`` the transition's edges
              within a slice are those of the first one, too;
            - "parent" and "child": names of the variables;
            - "lag": how many steps the parent is before the child; 0 for a parent at
              the same time, or one that is static;
            - "probability", "error", "rhat", "effect", "either_direction" and
              "in_best_dag", as :meth:`PartitionMCMCStructure.edges_frame` has them.

        Examples
        --------
        >>> import numpy as np
        >>> from skbidag import DynamicStructure, PartitionMCMCStructure
        >>> rng = np.random.default_rng(0)
        >>> X = np.zeros((300, 2))
        >>> for t in range(1, 300):
        ...     X[t] = [0.8 * X[t - 1, 0], 0.8 * X[t - 1, 0]] + rng.normal(size=2)
        >>> model = DynamicStructure(PartitionMCMCStructure(random_state=0)).fit(X)
        >>> edges = model.edges_frame().query("probability > 0.5").round(1)
        >>> edges[["parent", "child", "lag", "probability", "effect"]]
          parent child  lag  probability  effect
        0     x0    x0    1          1.0     0.8
        1     x0    x1    1          1.0     0.8
        """
        check_is_fitted(self)
        columns = [self._edge_columns(name) for name in self._networks]
        return make_frame(join_tables(columns, self._networks), self._template)

    def summary(self) -> Summary:
        """What was fitted, whether it has converged, and the most probable edges.

        Returns
        -------
        summary : Summary
            To print; with the attributes `converged`, which is about all chains,
            `convergence`, which is about the transition's, and `edges`.
        """
        check_is_fitted(self)
        model, lags = self.transition_estimator_, "lags" if self.n_lags > 1 else "lag"
        lines = [
            f"{type(self).__name__} by {type(model).__name__}, {self.n_lags} {lags}",
            variables_of(model, self._in_first_slice),
        ]
        columns, reached = [], []
        for name, model in self._networks.items():
            columns.append(self._edge_columns(name))
            reached.append(convergence_of(model))
            text = findings(model, reached[-1], with_times(columns[-1]))
            lines += ["", f"The {name} network", *text]
        return Summary(
            verdict_of(*reached),
            reached[0],
            make_frame(join_tables(columns, self._networks), self._template),
            "\n".join(lines),
        )

    @property
    def _networks(self):
        """What has learned each network, by its name."""
        networks = {"transition": self.transition_estimator_}
        if self.initial_estimator_ is not None:
            networks["initial"] = self.initial_estimator_
        return networks

    def _edge_columns(self, network):
        """What is known of a network's edges; variables are pairs, with their lags."""
        model, columns = self._networks[network], self._columns
        labels = [(self._names[j], lag) for j, lag in columns]
        if network == "initial":
            labels = [label for label in labels if label[1] == 0]
        return edge_columns(model, model._edge_errors(), labels)


def join_tables(tables, names):
    """One table of edges out of those of each network, with the lags apart."""
    joined = {
        "network": np.repeat(list(names), [len(table["parent"]) for table in tables]),
        "parent": [parent for table in tables for parent, _ in table["parent"]],
        "child": [child for table in tables for child, _ in table["child"]],
        "lag": np.array(
            [lag for table in tables for _, lag in table["parent"]], dtype=int
        ),
    }
    numbers = [column for column in tables[0] if column not in joined]
    return joined | {
        column: np.concatenate([table[column] for table in tables])
        for column in numbers
    }


def with_times(table):
    """The table with names of variables that say how long before."""
    ends = {
        end: [lagged_name(*label) for label in table[end]]
        for end in ("parent", "child")
    }
    return table | ends
