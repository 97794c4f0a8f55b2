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
