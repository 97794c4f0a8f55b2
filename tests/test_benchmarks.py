"""The benchmarks start, their results come back as written, exact sums are exact."""

import importlib
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers import all_dags, read_data, read_exact_posterior
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
