"""PC's skeleton: the compiled search beside causal-learn's, in one run.

    python benchmarks/pc.py            # all, a minute and a half of it causal-learn
    python benchmarks/pc.py --quick    # without causal-learn at 80 variables
    python benchmarks/pc.py --against-causal-learn --seed 7    # do they agree?

The graphs are Erdős–Rényi with two parents on average, weights from U(0.4, 2) and
unit noise; the columns are standardized. With a hub, one node has three parents and so
many children, all others have up to two parents, and weights are from U(0.4, 0.8),
which leaves the hub more neighbors. Times are the best of several runs, except that
causal-learn runs once where it takes more than a second.

With --against-causal-learn no time is taken: on sixty data sets of random sizes, tests,
significance levels and constraints, skeleton, separating sets and directions must be
those of causal-learn. Some ten seconds; CI runs it with another seed each time.
"""

import argparse
import sys

import numpy as np
from common import best_of, timed

from skbidag._pc import pc_skeleton


def make_data(n_features, n_samples, seed):
    rng = np.random.default_rng(seed)
    edges = np.triu(rng.random((n_features, n_features)) < 4 / (n_features - 1), 1)
    weights = edges * rng.uniform(0.4, 2, edges.shape)
    X = np.zeros((n_samples, n_features))
    for j in range(n_features):
        X[:, j] = X @ weights[:, j] + rng.standard_normal(n_samples)
    X = X[:, rng.permutation(n_features)]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def make_hub(n_features, n_children, n_samples, seed):
    rng = np.random.default_rng(seed)
    edges = np.zeros((n_features, n_features))
    edges[:3, 3] = edges[3, 4 : 4 + n_children] = 1
    for j in range(4 + n_children, n_features):
        edges[rng.choice(np.arange(4, j), 2, replace=False), j] = 1
    weights = edges * rng.uniform(0.4, 0.8, edges.shape)
    weights *= rng.choice([-1, 1], edges.shape)
    X = np.zeros((n_samples, n_features))
    for j in range(n_features):
        X[:, j] = X @ weights[:, j] + rng.standard_normal(n_samples)
    X = X[:, rng.permutation(n_features)]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def make_levels(X, n_levels=3):
    cuts = np.quantile(X, np.arange(1, n_levels) / n_levels, axis=0)
    return (X[None] > cuts[:, None]).sum(axis=0)


def best_time(function, repeats):
    """Shortest of several runs; one is enough if it takes more than a second."""
    result, best = timed(function)
    if best <= 1:
        best = min(best, best_of(function, repeats))
    return best, result


def random_problem(rng):
    """Data, and what PC is asked for."""
    n = int(rng.integers(3, 13))
    X = make_data(n, int(rng.integers(50, 600)), int(rng.integers(2**31)))
    test = str(rng.choice(["fisherz", "gsq", "chisq"]))
    if test != "fisherz":
        X = make_levels(X, int(rng.integers(2, 5)))
    place = rng.permutation(n)
    onward = place[:, None] < place
    required = onward & (rng.random((n, n)) < 0.03)
    return {
        "X": X,
        "test": test,
        "alpha": float(rng.choice([0.01, 0.05, 0.2, 0.4])),
        "required": required,
        "forbidden": (rng.random((n, n)) < rng.choice([0.0, 0.1])) & ~required,
    }


def differences(problem):
    """What the compiled search and causal-learn disagree about, a list of words."""
    ours, theirs = (
        pc_skeleton(**problem, accelerate=accelerate, orient=True)
        for accelerate in (True, False)
    )

    def sets(result):
        return {
            pair: frozenset().union(*(np.atleast_1d(s).tolist() for s in found))
            for pair, found in result.separators().items()
        }

    agree = {
        "skeleton": np.array_equal(ours.skeleton, theirs.skeleton),
        "directions": np.array_equal(ours.directed, theirs.directed),
        "separating sets": sets(ours) == sets(theirs),
    }
    return [what for what, same in agree.items() if not same]


def compare(seed, n_problems):
    """Tell on how many random problems the two agree; True if on all."""
    print(f"seed {seed}")
    wrong = 0
    for number in range(n_problems):
        problem = random_problem(np.random.default_rng([seed, number]))
        found = differences(problem)
        if found:
            wrong += 1
            n_samples, n_features = problem["X"].shape
            print(
                f"problem {number} ({problem['test']}, {n_samples} rows, {n_features} "
                f"variables, alpha {problem['alpha']}): {', '.join(found)} differ"
            )
    print(f"{n_problems - wrong} of {n_problems} as in causal-learn")
    return wrong == 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="skip causal-learn at 80 variables"
    )
    parser.add_argument("--repeats", type=int, default=5, help="runs to take the best")
    parser.add_argument("--seed", type=int, default=0, help="seed of the data")
    parser.add_argument(
        "--against-causal-learn", action="store_true", help="compare results alone"
    )
    args = parser.parse_args()
    if args.against_causal_learn:
        sys.exit(not compare(args.seed, 10 if args.quick else 60))

    # The first use imports causal-learn, which is nobody's search time.
    pc_skeleton(make_data(4, 50, 0), alpha=0.1, accelerate=False)

    # variables, children of a hub, rows, alpha, test, beside causal-learn
    settings = [
        (20, 0, 200, 0.4, "fisherz", True),
        (40, 0, 400, 0.4, "fisherz", True),
        (80, 0, 800, 0.25, "fisherz", not args.quick),
        (200, 0, 2000, 0.1, "fisherz", False),
        (1000, 0, 1000, 0.02, "fisherz", False),
        (80, 20, 600, 0.25, "fisherz", False),
        (120, 40, 600, 20 / 120, "fisherz", False),
        (300, 100, 600, 20 / 300, "fisherz", False),
        (20, 0, 1000, 0.05, "gsq", True),
        (100, 0, 2000, 0.05, "gsq", False),
        (120, 40, 600, 20 / 120, "gsq", False),
    ]
    print(
        f"{'variables':>9}{'hub':>5}{'rows':>6}{'alpha':>7}{'test':>9}{'edges':>7}"
        f"{'undecided':>11}{'tests':>11}"
        f"{'time':>10}{'2 threads':>11}{'causal-learn':>14}{'ratio':>8}{'same':>6}"
    )
    for n_features, n_children, n_samples, alpha, test, beside in settings:
        if n_children:
            X = make_hub(n_features, n_children, n_samples, args.seed)
        else:
            X = make_data(n_features, n_samples, args.seed)
        if test != "fisherz":
            X = make_levels(X)

        def run(X=X, alpha=alpha, test=test, **kwargs):
            return pc_skeleton(X, alpha=alpha, test=test, **kwargs)

        time, result = best_time(run, args.repeats)
        time_two, two = best_time(lambda run=run: run(n_jobs=2), args.repeats)
        same = np.array_equal(result.skeleton, two.skeleton)
        n_edges = result.skeleton.sum() // 2
        theirs = ratio = "-"
        if beside:
            time_theirs, other = best_time(
                lambda run=run: run(accelerate=False), args.repeats
            )
            same = same and np.array_equal(result.skeleton, other.skeleton)
            theirs = f"{time_theirs:.2f} s"
            ratio = f"1/{time_theirs / time:.0f}"
        print(
            f"{n_features:>9}{n_children:>5}{n_samples:>6}{alpha:>7.2g}{test:>9}"
            f"{n_edges:>7}{result.undecided.sum() // 2:>11}{sum(result.n_tests):>11}"
            f"{time:>8.3f} s{time_two:>9.3f} s{theirs:>14}"
            f"{ratio:>8}{'yes' if same else 'NO':>6}",
            flush=True,
        )


if __name__ == "__main__":
    main()
