"""The benchmarks start, their results come back as written, exact sums are exact."""

import importlib
import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from helpers import all_dags, read_data, read_exact_posterior
from skbidag import OrderMCMCStructure
from skbidag.scores import BDe, BGe

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(
    path.stem
    for path in BENCHMARKS.glob("*.py")
    if "__main__" in path.read_text(encoding="utf-8")
)

pytestmark = pytest.mark.skipif(
    not BENCHMARKS.exists(), reason="the benchmarks are not beside the tests"
)


@pytest.fixture
def benchmark(monkeypatch):
    """Import a module of the benchmarks, which import each other by name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(BENCHMARKS)):
            del sys.modules[name]


@pytest.mark.slow
def test_scripts_say_what_they_do():
    # one process for all: importing takes longer than the rest
    code = (
        "import runpy, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "for name in sys.argv[2:]:\n"
        "    sys.argv = [f'{name}.py', '--help']\n"
        "    try:\n"
        "        runpy.run_path(f'{sys.path[0]}/{name}.py', run_name='__main__')\n"
        "    except SystemExit as stop:\n"
        "        assert stop.code == 0, name\n"
    )
    run = subprocess.run(
        [sys.executable, "-P", "-c", code, str(BENCHMARKS), *SCRIPTS],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert len(SCRIPTS) > 8
    for name in SCRIPTS:
        assert f"usage: {name}.py " in run.stdout


def test_results_come_back(benchmark, tmp_path):
    common = benchmark("common")
    rows = [
        {"n": 20, "method": "order", "seconds": 0.1234567891},
        {"n": 20, "method": "a, b", "status": "time limit"},
    ]
    common.write_results("some", rows, tmp_path, packages=("pytest",), note="a: b")
    assert common.read_results("some", tmp_path) == [
        {"n": 20.0, "method": "order", "seconds": 0.123457, "status": ""},
        {"n": 20.0, "method": "a, b", "seconds": "", "status": "time limit"},
    ]
    about = common.read_circumstances("some", tmp_path)
    assert about["note"] == "a: b"
    assert about["pytest"] == pytest.__version__
    assert about["numpy"] == np.__version__


def test_table(benchmark, capsys):
    table = benchmark("common").Table("n:.0f method:>12 seconds:.2f")
    table.add({"n": 20, "method": "order", "seconds": 1.234})
    table.add({"n": 20, "method": "partition", "status": "time limit"})
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["n", "method", "seconds"]
    assert first.split() == ["20", "order", "1.23"]
    assert second.split() == ["20", "partition", "-"]
    assert len(head) == len(first) == len(second)


def n_linear_extensions(adjacency):
    return sum(
        all(not adjacency[b, a] for a, b in itertools.combinations(order, 2))
        for order in itertools.permutations(range(len(adjacency)))
    )


@pytest.mark.parametrize("prior", ["dag", "order"])
def test_exact_probabilities_are_those_of_all_dags(benchmark, prior):
    exact = benchmark("exact")
    X = np.random.default_rng(0).normal(size=(30, 4)).cumsum(axis=1)
    score = BGe().fit(X)
    dags = all_dags(4)
    assert len(dags) == 543
    log_weights = np.array([score.dag_score(dag) for dag in dags])
    weights = np.exp(log_weights - log_weights.max())
    if prior == "order":
        weights *= [n_linear_extensions(dag) for dag in dags]
    expected = np.average(dags, axis=0, weights=weights)
    found = exact.edge_probabilities(exact.local_scores(score), prior)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("prior", ["dag", "order"])
@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("gauss5", BGe(prior="paper", edge_penalty=1.0)),
        ("cancer300", BDe(edge_penalty=1.0)),
    ],
)
def test_exact_probabilities_are_the_references(benchmark, name, score, prior):
    exact = benchmark("exact")
    score.fit(read_data(name, dtype=int if name == "cancer300" else float))
    reference = read_exact_posterior(name, prior)
    found = exact.edge_probabilities(exact.local_scores(score), prior)
    np.testing.assert_allclose(found, reference, atol=1e-9)


@pytest.mark.slow
def test_process_of_its_own(benchmark):
    common = benchmark("common")
    outcome = common.in_process(sum, [1, 2, 3], timeout=60)
    assert outcome["status"] == "ok"
    assert outcome["result"] == 6
    assert outcome["seconds"] < 1
    assert common.in_process(sum, [1], timeout=0.0) == {"status": "time limit"}


def test_score_of_the_comparison_is_the_same_everywhere(benchmark):
    versus = benchmark("versus")
    rng = np.random.default_rng(0)
    score = versus.FairBGe().fit(rng.normal(size=(30, 5)))
    candidates, outsiders = np.array([1, 3]), np.array([2, 4])
    table = np.full((4, 8), -np.inf)
    score.fill_table(0, candidates, outsiders, 0, table)
    assert table[3, 0] == pytest.approx(score.local_score(0, [1, 3]))
    assert table[2, 4] == pytest.approx(score.local_score(0, [3, 4]))
    additions = score.addition_scores(0, [1])
    assert additions[2] == pytest.approx(score.local_score(0, [1, 2]))
    assert score.pair_scores(0, [1])[2, 3] == pytest.approx(
        score.local_score(0, [1, 2, 3])
    )


def test_guard_looks_beyond_the_machine(benchmark):
    guard = benchmark("guard")
    baseline = {"times": {"loop": 10.0}, "calibrations": {"serial": 1.0, "memory": 2.0}}

    def slowdown(time, serial, memory):
        gauges = {"serial": serial, "memory": memory}
        return guard.slowdown("loop", {"loop": time}, gauges, baseline)

    assert slowdown(30.0, 1.0, 2.0) == pytest.approx(3.0)
    # a machine that is three times as slow, or whose memory is
    assert slowdown(30.0, 3.0, 6.0) == pytest.approx(1.0)
    assert slowdown(30.0, 1.0, 6.0) == pytest.approx(1.0)


def test_paper_is_in_the_checkout(benchmark):
    paper = benchmark("common").read_paper()
    assert len(paper) == 24
    for rows in paper.values():
        assert 0 < rows["MAP", 0.25]["SHDn_median"] < 2
        assert rows["MCMC", 0.6]["seconds_median"] > rows["PCt", ""]["seconds_median"]


def test_pc_is_compared_with_causal_learn(benchmark, monkeypatch, capsys):
    pc = benchmark("pc")
    assert pc.compare(seed=0, n_problems=4)
    assert capsys.readouterr().out == "seed 0\n4 of 4 as in causal-learn\n"
    find = pc.pc_skeleton

    def other_level(*, alpha, accelerate, **kwargs):
        alpha = alpha / 5 if accelerate else alpha
        return find(alpha=alpha, accelerate=accelerate, **kwargs)

    monkeypatch.setattr(pc, "pc_skeleton", other_level)
    assert not pc.compare(seed=0, n_problems=4)
    assert "skeleton" in capsys.readouterr().out


def test_pairs_with_the_paper(benchmark, tmp_path, monkeypatch):
    paired = benchmark("paired")
    name = "n_20_N_40_parents_2_type_ERs_seed_{}"
    rng = np.random.default_rng(0)
    X, dag = rng.normal(size=(40, 20)), np.triu(np.ones((20, 20)), 1)
    np.savez(tmp_path / f"{name.format(101)}.npz", X=X, dag=dag)
    header = ",".join(f'"V{k}"' for k in range(20))
    for path, values in ((name.format(102), X), (f"{name.format(102)}_dag", dag)):
        np.savetxt(
            tmp_path / f"{path}.csv", values, delimiter=",", header=header, comments=""
        )
    sets = paired.read_sets(tmp_path)
    assert [where["seed"] for where, _ in sets] == [101, 102]
    for _, path in sets:
        data, truth = paired.load(path)
        np.testing.assert_allclose(data, X)
        np.testing.assert_array_equal(truth != 0, dag != 0)

    where = sets[0][0] | {"settings": "defaults", "method": "MAP", "log_score": 0.0}
    distances = {101: 7, 102: 5, 103: 4, 104: 4, 151: 0}
    theirs = {101: 8.0, 102: 5.0, 103: 2.0, 104: 3.0, 151: 9.0}
    key = ("ERs", 20, 40, 2)
    monkeypatch.setattr(
        paired,
        "read_per_seed",
        lambda: {(*key, seed, "MAP"): value for seed, value in theirs.items()},
    )
    rows = [where | {"seed": seed, "SHD": shd} for seed, shd in distances.items()]
    (line,) = paired.summarize_pairs(paired.with_differences(rows))
    assert (line["sets"], line["wins"], line["ties"], line["losses"]) == (4, 1, 1, 2)
    differences = np.array([-1, 0, 2, 1]) / 20
    assert line["difference"] == pytest.approx(differences.mean())
    assert line["error"] == pytest.approx(differences.std(ddof=1) / 2)
    other = [row | {"settings": "letter", "log_score": -1.0} for row in rows]
    higher = [row | {"settings": "paper's"} for row in rows]
    (line,) = paired.compare_scores(other + higher)
    assert (line["sets"], line["higher"], line["lower"]) == (5, 5, 0)
    assert line["nats"] == 1.0
    with pytest.raises(SystemExit, match="no data sets"):
        paired.read_sets(tmp_path.parent)


def test_the_paper_has_results_for_its_data_sets(benchmark):
    results = benchmark("paired").read_per_seed()
    assert results["ERs", 80, 800, 2, 101, "MAP"] >= 0
    assert len(results) == 5 * 158


@pytest.mark.parametrize("kind", ["model", "nonlinear", "latent"])
def test_series_have_the_edges_that_are_told(benchmark, kind):
    dynamic = benchmark("dynamic")
    series, true = dynamic.make_series(kind, 6, 4, 3000, 0)
    assert series.shape == (3000, 4, 6)
    assert true.shape == (6, 6)
    assert np.abs(series).max() < 50
    again, _ = dynamic.make_series(kind, 6, 4, 3000, 0)
    np.testing.assert_array_equal(series, again)
    if kind == "model":
        strength, chosen = dynamic.by_least_squares(series)
        # least squares takes what goes by way of the same time for lagged edges, too
        assert chosen[true].all()
        assert strength[true].min() > 4


def test_peers_are_not_asked_about_tables_that_take_too_long(benchmark):
    mixed = benchmark("mixed")
    assert mixed.is_hopeless(("latent", 20, 200), [("latent", 20, 200)])
    assert mixed.is_hopeless(("latent", 40, 1000), [("latent", 20, 200)])
    assert not mixed.is_hopeless(("latent", 40, 200), [("latent", 20, 1000)])
    assert not mixed.is_hopeless(("conditional", 40, 200), [("latent", 20, 200)])
    rows = mixed.run(("latent", 5, 100), 1, 0, ("ours",), {})
    assert [row["method"] for row in rows] == list(mixed.METHODS)
    assert all(0 <= row["ap"] <= 1 and row["shd"] >= 0 for row in rows)


def test_accuracy_is_worse_beyond_chance_alone(benchmark, capsys):
    accuracy = benchmark("accuracy")
    guard = benchmark("guard")
    small = accuracy.Exactness(
        "3 Gaussian", np.random.default_rng(0).normal(size=(40, 3)), samplers=("DAGs",)
    )
    numbers = accuracy.measure(2, [small])
    assert list(numbers) == ["3 Gaussian, DAGs: error"]
    # 2000 nearly independent draws: five standard errors
    assert 0 < max(numbers["3 Gaussian, DAGs: error"]) < 5 * np.sqrt(0.25 / 2000)

    baseline = {"mean": 0.02, "deviation": 0.004, "states": 12}
    now = {"mean": 0.02, "deviation": 0.0, "states": 4}
    chance = 4 * 0.004 * np.sqrt(1 / 4 + 1 / 12)
    for name, way in (("x: error", 1), ("x: SHD", 1), ("x: AP", -1)):
        for factor in (-10, 0.9, 1.1):
            moved = now | {"mean": 0.02 + way * factor * chance}
            failed = guard.check_accuracy({name: moved}, {"numbers": {name: baseline}})
            assert failed == ([name] if factor > 1 else [])
    assert "WORSE" in capsys.readouterr().out


def test_guard_has_a_baseline_of_each_number(benchmark):
    baseline = json.loads((BENCHMARKS / "results" / "guard.json").read_text())
    names = baseline["accuracy"]["numbers"]
    for case in benchmark("accuracy").studies():
        for sampler in case.samplers:
            assert any(name.startswith(f"{case.name}, {sampler}:") for name in names)


@pytest.mark.parametrize(
    ("space", "constraint"),
    [("full", "background"), ("one more parent", "required"), ("permitted", "tiers")],
)
def test_listed_sets_are_those_of_the_problem(benchmark, space, constraint):
    exactness = benchmark("exactness")
    rng = np.random.default_rng(3)
    constraints = exactness.draw_constraints(constraint, 4, rng)
    permitted, extra = exactness.draw_space(space, 4, constraints, rng)
    score = BGe(edge_penalty=1.0).fit(rng.normal(size=(30, 4)))
    found = exactness.exact_probabilities(score, permitted, extra, constraints)
    # all DAGs, one by one
    allowed = np.ones((4, 4), dtype=bool) if space == "full" else permitted
    background = constraints.get("background", [])
    first, second = constraints.get("tiers", ([], []))
    required = constraints.get("required_edges", [])
    weights, dags = [], all_dags(4)
    for dag in dags:
        inside = ((dag & ~allowed).sum(axis=0) <= extra).all()
        inside &= not dag[:, background].any() and not dag[np.ix_(second, first)].any()
        inside &= all(dag[edge] for edge in required)
        main = [node for node in range(4) if node not in background]
        log_weight = sum(score.local_score(j, np.flatnonzero(dag[:, j])) for j in main)
        weights.append(np.exp(log_weight) if inside else 0.0)
    expected = np.average(dags, axis=0, weights=weights)
    np.testing.assert_allclose(found["over DAGs"], expected, atol=1e-10)


def test_errors_over_their_errors(benchmark):
    exactness = benchmark("exactness")
    rows = list(exactness.one_problem(0, n_draws=400))
    assert {row["walk"] for row in rows} == {"orders", "DAGs", "partitions"}
    assert all(0 < row["exact"] < 1 for row in rows)
    (everything, *_) = exactness.summarize(rows)
    assert everything["edges"] == len(rows)
    # a hundred errors or so, which depend on each other
    assert abs(everything["mean"]) < 0.5
    assert 0.6 < everything["deviation"] < 1.5
    bins = list(exactness.bins_of(rows))
    assert sum(row["edges"] for row in bins) == len(rows)


def test_scores_of_probabilities(benchmark):
    bootstrap = benchmark("bootstrap")
    there = np.array([True, False, True, False])
    judged = bootstrap.judge(np.array([1.0, 0.0, 0.5, 0.5]), there)
    assert judged["Brier"] == pytest.approx(0.125)
    expected = -(2 * np.log(0.995) + 2 * np.log(0.5)) / 4
    assert judged["log loss"] == pytest.approx(expected)
    share = bootstrap.bootstrapped(lambda X: np.array([[0, 1], [1, 0]], dtype=bool))
    np.testing.assert_array_equal(
        share(np.zeros((3, 2)), 0, 4), [[0.0, 0.5], [0.5, 0.0]]
    )


def test_covariance_of_a_network(benchmark):
    real = benchmark("real")
    X = np.random.default_rng(0).normal(size=(50, 4)).cumsum(axis=1)
    X -= X.mean(axis=0)
    complete = np.triu(np.ones((4, 4), dtype=bool), 1)
    found = real.network_covariance(X, complete)
    np.testing.assert_allclose(found, X.T @ X / 50, atol=1e-12)
    expected = stats.multivariate_normal(np.zeros(4), found).logpdf(X)
    np.testing.assert_allclose(real.normal(found)(X), expected)
    # the chain that the columns are is their tree
    density = real.tree(X, 0)
    chain = np.diag(np.ones(3, dtype=bool), 1)
    np.testing.assert_allclose(
        density(X), real.normal(real.network_covariance(X, chain))(X)
    )
    # without a network: the density of a complete DAG
    model = OrderMCMCStructure(
        BGe(edge_penalty=1.0),
        search_space="full",
        required_edges=complete,
        n_iter=100,
        n_draws=1,
        n_chains=1,
    )
    expected = model.fit(X).score_samples(X)
    np.testing.assert_allclose(real.full_bayes(X, 0)(X), expected)


@pytest.mark.slow
def test_peers_are_judged_by_one_score(benchmark):
    peers = benchmark("peers")
    rows = peers.one_set(
        ("barabasi_albert", 5, 2),
        0,
        ["search", "search BGe"],
        {("search BGe", 5, 1)},
        60,
    )
    ours, left_out, truth = rows
    assert left_out["status"].startswith("left out")
    assert ours["status"] == "ok"
    peers.compare(rows)
    assert ours["loss"] == 0
    lead = float(ours["BIC"]) - float(truth["BIC"])
    assert truth["loss"] == pytest.approx(lead)
    # rows of an earlier run have numbers; a graph that is of no class of DAGs has none
    rows = [
        {"method": "search", "BIC": float("nan")},
        {"method": "search BGe", "BIC": -1301199.04},
        truth | {"BIC": -1301200.0},
        {"method": "ges", "BIC": ""},
    ]
    peers.compare(rows)
    assert np.isnan(rows[0]["loss"])
    assert rows[1]["BIC"] == "-1301199.0"
    assert rows[2]["loss"] == pytest.approx(1.0)
    assert "loss" not in rows[3]


def test_particles_are_judged_as_the_package_does(benchmark):
    particles = benchmark("particles")
    true = np.triu(np.ones((3, 3), dtype=bool), 1)
    empty = np.zeros((3, 3), dtype=bool)
    cycle = np.roll(np.eye(3, dtype=bool), 1, axis=1)
    states = [
        (2, 5.0, np.array([cycle, cycle, cycle]), np.zeros(3)),
        (4, 6.0, np.array([true, empty, cycle]), np.array([-1000.0, -1010.0, 0.0])),
    ]
    assert particles.set_up_and_step(states) == (4.0, 0.5)
    none, none_plus, equal, weighted = particles.rows_of_dibs("joint", states, true)
    assert [row["method"] for row in (equal, weighted)] == ["DiBS joint", "DiBS joint+"]
    # without any DAG all pairs are wrong
    assert none["E-SHD-dag"] == none_plus["E-SHD-cpdag"] == 3
    assert (none["AUROC"], none["AP"]) == (0.5, 0.5)
    assert (none["seconds"], equal["seconds"]) == (1.0, 2.0)
    assert equal["acyclic"] == pytest.approx(2 / 3)
    assert equal["E-SHD-dag"] == equal["E-SHD-cpdag"] == pytest.approx(1.5)
    assert weighted["E-SHD-dag"] == pytest.approx(3 / (1 + np.exp(10)))
    assert equal["AUROC"] == equal["AP"] == 1.0


def test_chains_do_not_drift(benchmark):
    load = benchmark("load")
    for kind in ("order", "dag", "partition"):
        found = load.soak(kind, 2000, n=8, moments=10)
        assert found["drift"] < 1e-9


def test_fits_that_are_interrupted(benchmark):
    rows = benchmark("load").interrupts(2, n_iter=20_000)
    assert [row["outcome"] for row in rows] == ["ok", "ok"]


def contrast(cause, outcome, level):
    """Mean difference, or slope, of an outcome, and its standard error."""
    if level is None:
        weight = cause - cause.mean()
        weight /= weight @ weight
    else:
        inside, outside = cause == level, cause == 0
        weight = inside / inside.sum() - outside / outside.sum()
    error = np.sqrt(((weight * (outcome - outcome.mean())) ** 2).sum())
    return weight @ outcome, error


@pytest.mark.parametrize("kind", ["numbers", "categories", "mixed"])
def test_effects_of_a_network_are_those_of_its_rows(benchmark, kind):
    coverage = benchmark("coverage")
    rng = np.random.default_rng(7)
    divides, _ = coverage.KINDS[kind]
    dag = np.triu(np.ones((4, 4), dtype=bool), 1) & ~(~divides[:, None] & divides)
    dag[0, 3] = False
    network = coverage.Network(rng, dag, divides)
    effects = iter(network.effects())
    for cause in range(4):
        cells = np.zeros((20_000, 4), dtype=bool)
        cells[:, cause] = True
        X = network.draw_rows(rng, cells)
        for level in (1, 2) if divides[cause] else (None,):
            row = iter(next(effects))
            for j in range(4):
                outcomes = [X[:, j] == k for k in (1, 2)] if divides[j] else [X[:, j]]
                for outcome in outcomes:
                    expected = next(row)
                    if j == cause:
                        assert np.isnan(expected)
                        continue
                    # values are set at random: what they do, comparisons tell
                    found, error = contrast(X[:, cause], outcome, level)
                    assert abs(found - expected) <= 4 * error + 1e-12


def test_effects_lie_where_their_posterior_says(benchmark):
    coverage = benchmark("coverage")
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(999, 2000))
    true = rng.normal(size=2000)
    true[:500] = draws[:, :500] = 0.0  # ties
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    case = coverage.judge(rng, true, draws, low, high, np.ones(2000))
    shares = np.array([effect["share"] for effect in case])
    assert stats.kstest(shares, "uniform").pvalue > 0.01
    all_, likely = coverage.summarize([case[:1000], case[1000:]], rng)
    assert (all_["networks"], likely["effects"]) == (2, 2000)
    assert all_["holds"] == pytest.approx((500 + 0.9 * 1500) / 2000, abs=0.002)
    assert all_["interval"] == pytest.approx(all_["holds"], abs=0.03)
    assert all_["inside 50"] == pytest.approx(0.5, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("data", ["observed", "interventions", "holes"])
def test_coverage_of_effects(benchmark, data):
    rows = list(benchmark("coverage").study("numbers", data, 2, 40, 0))
    assert rows[0]["effects"] == 24
    # effects of two networks, which depend on each other
    assert 0.6 < rows[0]["inside 90"] <= 1.0
