"""A small fixed study of accuracy, for guard.py: seconds, the same data every time.

Exactness: the largest error of the edge probabilities that the defaults sample, beside
the exact ones (ExactStructure) of the posterior that the chains walk on. Learning: the
structural Hamming distance of the best DAG, and the average precision of the edge
probabilities, both of CPDAGs. Gaussian, categorical and mixed data; chains over orders
and over DAGs, over partitions too where it is cheap.

On the same data results depend on `random_state` alone, bit for bit. A change of the
package that makes chains take another path draws other numbers: how far these scatter
is seen by running the study with several random states. What is worse than that by
more than `LARGEST_DEVIATION` standard errors is worse, not unlucky.
"""

import warnings
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from mixed import make_network

from skbidag import ExactStructure, OrderMCMCStructure, PartitionMCMCStructure
from skbidag.datasets import load_network, make_discrete_network, make_gaussian_network
from skbidag.metrics import edge_average_precision, structural_hamming_distance

# Of some twenty numbers one in a thousand runs would be so far off by chance
LARGEST_DEVIATION = 4.0

SAMPLERS = {
    "orders": OrderMCMCStructure,
    "DAGs": PartitionMCMCStructure,
    "partitions": partial(PartitionMCMCStructure, walk="partitions"),
}


@dataclass
class Exactness:
    """A few variables, whose exact posterior is known."""

    name: str
    data: object
    n_states: int = 3
    samplers: tuple = ("orders", "DAGs", "partitions")

    @cached_property
    def exact(self):
        """Exact probabilities, by what they are of."""
        return {
            posterior: ExactStructure(posterior=posterior)
            .fit(self.data)
            .adjacency_probabilities_
            for posterior in ("order-weighted", "over DAGs")
        }

    def judge(self, sampler, state):
        """The largest error of a fit."""
        fitted = fit(sampler, self.data, state, search_space="full")
        exact = self.exact["order-weighted" if sampler == "orders" else "over DAGs"]
        return {"error": np.abs(fitted.adjacency_probabilities_ - exact).max()}


@dataclass
class Learning:
    """More variables, whose network is known."""

    name: str
    data: object
    adjacency: np.ndarray
    n_states: int = 1
    samplers: tuple = ("orders", "DAGs")

    def judge(self, sampler, state):
        """Distance and average precision of a fit."""
        fitted = fit(sampler, self.data, state)
        probabilities = fitted.edge_probabilities("cpdag")
        return {
            "SHD": structural_hamming_distance(
                self.adjacency, fitted.adjacency_, "cpdag"
            ),
            "AP": edge_average_precision(self.adjacency, probabilities, "cpdag"),
        }


def fit(sampler, data, state, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # integers are categories here
        return SAMPLERS[sampler](random_state=state, **options).fit(data)


def studies():
    """The data sets of the study."""
    child = load_network("child")
    mixed, adjacency, *_ = make_network("conditional", 12, 500, 3)
    weak = make_gaussian_network(100, 20, strengths=(0.2, 0.8), random_state=1)
    return [
        Exactness("8 Gaussian", make_gaussian_network(100, 8, random_state=1).data),
        Exactness("8 categorical", make_discrete_network(150, 8, random_state=1).data),
        Exactness("7 mixed", make_network("conditional", 7, 200, 3)[0]),
        Learning("20 Gaussian", weak.data, weak.adjacency),
        Learning("child", child.sample(300, random_state=1), child.adjacency),
        Learning("12 mixed", mixed, adjacency, n_states=4),
    ]


def measure(n_states=None, study=None):
    """Every number of the study, for each random state.

    Parameters
    ----------
    n_states : int, default=None
        How many random states; None is as many as each data set says.
    study : list, default=None
        What `studies` gives.

    Returns
    -------
    numbers : dict of str to list
        By data, sampler and measure.
    """
    numbers = defaultdict(list)
    for case in studies() if study is None else study:
        for sampler in case.samplers:
            for state in range(n_states or case.n_states):
                for what, value in case.judge(sampler, state).items():
                    numbers[f"{case.name}, {sampler}: {what}"].append(float(value))
    return dict(numbers)


def summarize(numbers):
    """Mean and standard deviation over random states, and their number."""
    return {
        name: {
            "mean": float(np.mean(values)),
            "deviation": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0,
            "states": len(values),
        }
        for name, values in numbers.items()
    }


def worse(name, now, baseline):
    """By how much a number is worse than the baseline, and how much may be chance."""
    difference = now["mean"] - baseline["mean"]
    if name.endswith("AP"):
        difference = -difference
    scatter = np.sqrt(1 / now["states"] + 1 / baseline["states"])
    # what does not scatter at all may still be rounded
    chance = LARGEST_DEVIATION * baseline["deviation"] * scatter + 1e-6
    return float(difference), float(chance)
