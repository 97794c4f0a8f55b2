"""Exact answers by enumeration, for chains on tables of few variables."""

import itertools
import math

import numpy as np
from scipy.special import logsumexp

from skbidag._search_space import SearchSpace
from skbidag._tables import build_tables
from skbidag.scores import BDe, BGe, TabulatedScore


def make_space(n, *, permitted=None, extended=True, required=(), forbidden=()):
    allowed = ~np.eye(n, dtype=bool)
    for i, j in forbidden:
        allowed[i, j] = False
    if permitted is None:
        permitted = np.ones((n, n), dtype=bool)
    permitted = permitted & allowed
    needed = np.zeros((n, n), dtype=bool)
    for i, j in required:
        needed[i, j] = permitted[i, j] = True
    extra = allowed & ~permitted if extended else np.zeros((n, n), dtype=bool)
    return SearchSpace(permitted, extra, needed, extended)


def sparse(n, seed):
    """A space of about half the edges."""
    return np.random.default_rng(seed).random((n, n)) < 0.5


def gaussian_data(seed, n_samples, n, strength=0.6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n))
    for j in range(1, n):
        X[:, j] += strength * X[:, rng.integers(j)]
    return X[:, rng.permutation(n)]


def discrete_data(seed, n_samples, levels):
    rng = np.random.default_rng(seed)
    X = np.stack([rng.integers(r, size=n_samples) for r in levels], axis=1)
    for j in range(1, len(levels)):
        copied = rng.random(n_samples) < 0.3
        X[copied, j] = X[copied, rng.integers(j)] % levels[j]
    return X


def listed(n, seed, share=0.5):
    """Scores of some of the parent sets, among them the empty one."""
    rng = np.random.default_rng(seed)
    tables = []
    for node in range(n):
        others = [i for i in range(n) if i != node]
        sets = [
            parents
            for size in range(n)
            for parents in itertools.combinations(others, size)
        ]
        kept = [s for s in sets if not s or rng.random() < share]
        tables.append(dict(zip(kept, rng.normal(-50, 2, len(kept)), strict=True)))
    score = TabulatedScore(tables)
    return score.fit(score.stand_in_rows())


SETTINGS = {
    "bge": lambda n: (BGe().fit(gaussian_data(0, 60, n)), make_space(n)),
    "bge restricted": lambda n: (
        BGe().fit(gaussian_data(1, 60, n)),
        make_space(n, permitted=sparse(n, 0), extended=False),
    ),
    "bge extended": lambda n: (
        BGe().fit(gaussian_data(2, 60, n)),
        make_space(n, permitted=sparse(n, 1)),
    ),
    "bge constraints": lambda n: (
        BGe().fit(gaussian_data(3, 60, n)),
        make_space(
            n, permitted=sparse(n, 2), required=[(0, 1)], forbidden=[(2, 0), (1, 2)]
        ),
    ),
    "bde": lambda n: (BDe().fit(discrete_data(4, 100, [2] * n)), make_space(n)),
    "bde levels": lambda n: (
        BDe().fit(discrete_data(5, 150, [2, 8, 3, 5, 4, 2][:n])),
        make_space(n),
    ),
    "bde levels extended": lambda n: (
        BDe().fit(discrete_data(6, 150, [8, 2, 4, 6, 3, 2][:n])),
        make_space(n, permitted=sparse(n, 3)),
    ),
    "tabulated": lambda n: (listed(n, 7), make_space(n)),
    "tabulated extended": lambda n: (
        listed(n, 8),
        make_space(n, permitted=sparse(n, 4)),
    ),
}


def tables_of(setting, n):
    score, space = SETTINGS[setting](n)
    return build_tables(score, space, sums=True)


def descendants(dag, node):
    found = {node}
    while True:
        more = {j for i in found for j in np.flatnonzero(dag[i])} - found
        if not more:
            return found
        found |= more


def local_scores(tables):
    """Scores of each node by its parents."""
    scores = [{} for _ in tables]
    for table in tables:
        for mask in range(len(table.scores)):
            for column in [table.base_column, *table.outsiders]:
                parents = frozenset(table.parents_of(mask, column).tolist())
                scores[table.node][parents] = table.scores[mask, column]
    return scores


def reversal_matrix(tables, dags):
    """Transitions between DAGs by the reversal of an edge, from the paper."""
    n = len(tables)
    scores = local_scores(tables)
    number = {dag.tobytes(): d for d, dag in enumerate(dags)}
    matrix = np.zeros((len(dags),) * 2)

    def choices(node, barred, needed):
        sets = [
            (parents, score)
            for parents, score in scores[node].items()
            if not parents & barred and needed <= parents and score > -np.inf
        ]
        return sets, logsumexp([score for _, score in sets] or [-np.inf])

    for d, dag in enumerate(dags):
        edges = np.argwhere(dag)
        if not len(edges):
            matrix[d, d] = 1.0
        for i, j in edges.tolist():
            bare = dag.copy()
            bare[:, [i, j]] = False
            of_i, of_j = descendants(bare, i), descendants(bare, j)
            sets_i, there_i = choices(i, of_i, {j})
            sets_j, there_j = choices(j, of_i | of_j, set())
            _, back_j = choices(j, of_j, {i})
            _, back_i = choices(i, of_i | of_j, set())
            stay = 1.0
            for (new_i, score_i), (new_j, score_j) in itertools.product(sets_i, sets_j):
                new = bare.copy()
                new[list(new_i), i] = new[list(new_j), j] = True
                log_ratio = there_i + there_j - back_i - back_j
                accept = min(1.0, math.exp(log_ratio) * len(edges) / new.sum())
                probability = math.exp(score_i - there_i + score_j - there_j) * accept
                matrix[d, number[new.tobytes()]] += probability / len(edges)
                stay -= probability
            matrix[d, d] += stay / len(edges)
    assert matrix.shape[1] == len(dags)
    assert n == dags.shape[1]
    return matrix


def dag_posterior(tables, dags):
    """Exact posterior over DAGs, from the scores in the tables."""
    n = dags.shape[1]
    log_scores = np.zeros(len(dags))
    keys = dags.transpose(0, 2, 1) @ (1 << np.arange(n))
    for node, by_parents in enumerate(local_scores(tables)):
        scores = np.full(1 << n, -np.inf)
        for parents, score in by_parents.items():
            scores[sum(1 << parent for parent in parents)] = score
        log_scores += scores[keys[:, node]]
    return np.exp(log_scores - logsumexp(log_scores)), log_scores


def draw(chain, n, n_draws, thin):
    chain.run(2000)
    packed = np.zeros((n_draws, n, -(-n // 8)), dtype=np.uint8)
    log_scores = np.empty(n_draws)
    for d in range(n_draws):
        chain.run(thin)
        log_scores[d] = chain.draw_dag(packed[d])
    return np.unpackbits(packed, axis=-1, count=n).astype(bool), log_scores


def standard_errors(indicators, n_batches=50):
    """Monte Carlo standard errors of means along a chain, by batch means."""
    batches = np.array_split(indicators, n_batches)
    means = np.array([batch.mean(axis=0) for batch in batches])
    errors = means.std(axis=0, ddof=1) / math.sqrt(n_batches)
    # an edge too rare to be seen has an error, too
    return np.maximum(errors, 1.0 / len(indicators))


def assert_same_posterior(samples, exact):
    # no chain has a smaller error than as many independent draws, which the batches
    # of an edge that was hardly ever seen or missed do not tell
    errors = np.maximum(
        standard_errors(samples),
        np.sqrt(np.clip(exact * (1 - exact), 0, None) / len(samples)),
    )
    assert (np.abs(samples.mean(axis=0) - exact) < 4 * errors).all()
