"""The command line: what it reads, writes and says."""

import csv
import gzip
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import pytest

from helpers import python_process
from skbidag import PartitionMCMCStructure, _cli, graphs
from skbidag._cli import (
    _fit,
    _prepare,
    _progress,
    _read,
    _report,
    _summary,
    _wording,
    _write,
)
from skbidag._kinds import column_kinds
from skbidag.datasets import load_asia
from skbidag.formats import from_bif, from_dagitty, from_modelstring

QUICK = ["--n-iter", "2000", "--n-draws", "60", "--n-chains", "2"]
FILES = {
    "edges.csv",
    "graph.dot",
    "graph.graphml",
    "map.csv",
    "report.html",
    "samples.npz",
    "summary.json",
}
PICTURES = {
    "concordance",
    "expansions",
    "probabilities",
    "traces",
}
DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch):
    """Most tests are not about pictures, which take a second."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A folder whose report has all pictures there are."""
    folder = tmp_path_factory.mktemp("report") / "out"
    run(*QUICK, "--method", "iterative", "--out", folder, "--quiet")
    return folder


def run(*argv, code=0):
    assert _cli.main(["learn", *map(str, argv)]) == code


def gaussian_text(n_rows=60, separator=","):
    rng = np.random.default_rng(0)
    a = rng.normal(size=n_rows)
    b = a + rng.normal(size=n_rows)
    c = b + rng.normal(size=n_rows)
    lines = [separator.join("abc")]
    lines += [separator.join(f"{v:.6g}" for v in row) for row in zip(a, b, c)]  # noqa: B905
    return "\n".join(lines) + "\n"


@pytest.fixture
def gaussian():
    Path("data.csv").write_text(gaussian_text(), encoding="utf-8")
    return "data.csv"


def write(text, name="data.csv", encoding="utf-8"):
    Path(name).write_text(text, encoding=encoding)
    return name


# ------------------------------------------------------------------------- results


def test_built_in_data(capsys):
    run(*QUICK)
    folder = Path("skbidag-asia")
    assert {path.name for path in folder.iterdir()} == FILES
    out, err = capsys.readouterr()
    assert "built-in asia data: 500 rows, 8 variables, discrete" in err
    assert "-> dysp" in out
    assert str(folder / "report.html") in out
    # again: nothing is overwritten
    run(*QUICK, "--quiet")
    assert {path.name for path in Path("skbidag-asia-2").iterdir()} == FILES
    assert capsys.readouterr() == ("", "")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_files_hold_what_the_estimator_learned():
    run(*QUICK, "--seed", 3, "--out", "out")
    asia = load_asia(as_frame=True)
    model = PartitionMCMCStructure(
        n_iter=2000, n_draws=60, n_chains=2, random_state=3
    ).fit(asia.data.astype(str))
    names = asia.feature_names

    best = pd.read_csv("out/map.csv", index_col=0)
    assert list(best) == list(best.index) == names
    np.testing.assert_array_equal(best, model.adjacency_)

    edges = pd.read_csv("out/edges.csv")
    assert list(edges) == list(_summary.EDGE_FIELDS)
    assert edges["probability"].is_monotonic_decreasing
    probabilities = np.zeros((8, 8))
    in_best = np.zeros((8, 8), dtype=bool)
    for edge in edges.itertuples():
        i, j = names.index(edge[1]), names.index(edge[2])
        probabilities[i, j] = edge.probability
        in_best[i, j] = edge.in_best_dag
        assert edge.either_direction >= edge.probability - 1e-6
        assert 0 <= edge.error < 0.3
    np.testing.assert_allclose(probabilities, model.adjacency_probabilities_, atol=1e-6)
    np.testing.assert_array_equal(in_best, model.adjacency_)

    # as the documentation and the report say
    namespace = {}
    os.chdir("out")
    exec(_report.LOADING, namespace)
    os.chdir("..")
    loaded, dags = namespace["names"], namespace["dags"]
    assert loaded.tolist() == names
    assert dags.shape == (2, 60, 8, 8)
    np.testing.assert_array_equal(namespace["log_scores"], model.log_score_trace_)
    np.testing.assert_array_equal(dags.reshape(-1, 8, 8), list(model.dag_samples_))

    graph = networkx.read_graphml("out/graph.graphml")
    np.testing.assert_array_equal(graphs.from_networkx(graph, names), model.adjacency_)
    assert all(0 <= p <= 1 for *_, p in graph.edges(data="probability"))
    dot = Path("out/graph.dot").read_text(encoding="utf-8")
    assert len(re.findall(r'^  "\w+" -> "\w+" \[label=', dot, flags=re.M)) == len(
        graph.edges
    )


def test_summary_has_everything_to_repeat_it(gaussian, capsys):
    argv = [gaussian, *QUICK, "--json", "--alpha-mu", "0.5", "--n-jobs", "2"]
    run(*argv)
    printed = json.loads(capsys.readouterr().out)
    assert printed.pop("folder") == "skbidag-data"
    saved = json.loads(Path("skbidag-data/summary.json").read_text(encoding="utf-8"))
    assert printed == saved
    assert saved["command"] == " ".join(["skbidag", "learn", *argv])
    assert saved["estimator"] == "PartitionMCMCStructure"
    parameters = saved["parameters"]
    assert parameters["score"] == "BGe"
    assert parameters["score__alpha_mu"] == 0.5
    assert parameters["random_state"] == 0
    assert parameters["n_iter"] == 2000
    assert parameters["burn_in"] == 0.2
    data = saved["data"]
    assert data["kind"] == "continuous"
    assert saved["result"]["posterior"] == "over DAGs"
    assert data["variables"] == ["a", "b", "c"]
    assert data["sha256"] == hashlib.sha256(Path(gaussian).read_bytes()).hexdigest()
    assert saved["result"]["n_chains"] == 2
    assert saved["result"]["converged"] in (True, False)
    assert {"skbidag", "python", "numpy", "scikit-learn"} <= set(saved["versions"])


@pytest.mark.parametrize("method", ["order", "partition", "iterative"])
def test_methods(gaussian, method):
    run(gaussian, "--method", method, *QUICK, "--out", "out", "--quiet")
    summary = json.loads(Path("out/summary.json").read_text(encoding="utf-8"))
    assert method.capitalize() in summary["estimator"]
    best = pd.read_csv("out/map.csv", index_col=0).to_numpy(dtype=bool)
    skeleton = best | best.T
    assert skeleton[0, 1]
    assert skeleton[1, 2]
    assert not skeleton[0, 2]


def test_search_alone(gaussian, capsys):
    run(gaussian, "--method", "iterative", "--n-draws", 0, "--out", "out")
    edges = pd.read_csv("out/edges.csv")
    assert edges["error"].isna().all()
    assert set(edges["posterior"]) == {"best DAG alone"}
    assert "Best DAG: 2 edges" in capsys.readouterr().out
    summary = json.loads(Path("out/summary.json").read_text(encoding="utf-8"))
    assert summary["result"]["log_score_rhat"] is None


def test_stdin(monkeypatch):
    class Stdin:
        buffer = open("stdin.csv", "w+b")  # noqa: SIM115

    Stdin.buffer.write(gaussian_text().encode())
    Stdin.buffer.seek(0)
    monkeypatch.setattr(sys, "stdin", Stdin)
    run("-", *QUICK, "--quiet")
    Stdin.buffer.close()
    assert Path("skbidag-stdin/report.html").exists()


def test_warnings_are_passed_on(capsys):
    rows = np.random.default_rng(0).normal(size=(30, 12))
    rows[:, 1:] += rows[:, :1]
    pd.DataFrame(rows, columns=list("abcdefghijkl")).to_csv("data.csv", index=False)
    chains = ["--n-iter", 60, "--n-draws", 60, "--n-chains", 3, "--burn-in", 0]
    space = ["--search-space", "full", "--max-parents", 3]
    run("data.csv", *chains, *space, "--out", "out")
    out, err = capsys.readouterr()
    assert "skbidag: warning: The chains disagree" in err
    assert "NOT CONVERGED" in out
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "The chains disagree" in page
    assert not json.loads(Path("out/summary.json").read_text())["result"]["converged"]


@pytest.mark.parametrize(
    ("method", "posterior", "said"),
    [
        ("order", "order-weighted", "A DAG counts once for each order"),
        ("iterative", "order-weighted", "--method partition every DAG counts once"),
        ("partition", "over DAGs", "every DAG counts once"),
    ],
)
def test_the_order_bias_is_named(method, posterior, said, capsys):
    """Of a chain's six DAGs five have g1 -> g0; over orders that edge gets 0.95."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(400, 6))
    chain = np.empty_like(noise)
    chain[:, 0] = noise[:, 0]
    for k in range(1, 6):
        chain[:, k] = 0.9 * chain[:, k - 1] + 0.45 * noise[:, k]
    frame = pd.DataFrame(chain, columns=[f"g{k}" for k in range(6)])
    frame.to_csv("data.csv", index=False)
    argv = ["--method", method, "--n-iter", 40_000, "--edge-penalty", 30]
    run("data.csv", *argv, "--out", "out")
    out = " ".join(capsys.readouterr().out.split())
    edges = pd.read_csv("out/edges.csv")
    probability = edges.set_index(["parent", "child"])["probability"]["g1", "g0"]
    # exact: 5/6 over DAGs; the errors of 2000 dependent draws stay well below 0.05
    assert abs(probability - 5 / 6) < 0.05 or method != "partition"
    assert probability > 0.9 or method == "partition"
    assert set(edges["posterior"]) == {posterior}
    assert said in out
    assert ("--method partition" in out) == (method != "partition")
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert _summary.POSTERIORS[posterior][:60] in page
    summary = json.loads(Path("out/summary.json").read_text(encoding="utf-8"))
    assert summary["result"]["posterior"] == posterior


def test_probabilities_beside_the_heat_map(report):
    text = (report / "report.html").read_text(encoding="utf-8")
    start = _summary.POSTERIORS["order-weighted"][:60]
    assert text.count(start) == 3  # "can I trust this?", the table and the heat map
    assert text.count("<code>--method partition</code>") == 2


# ------------------------------------------------------------------------- reading


def columns_of(name, **options):
    return {c.name: c for c in _read.read_table(name, **options).columns}


@pytest.mark.parametrize(
    ("name", "separator"),
    [("x.csv", ","), ("x.csv", ";"), ("x.tsv", "\t"), ("x.txt", "\t"), ("x.csv", "|")],
)
def test_delimiters(name, separator):
    table = _read.read_table(write(gaussian_text(separator=separator), name))
    assert [column.name for column in table.columns] == ["a", "b", "c"]
    assert all(len(column.numbers) == 60 for column in table.columns)


def test_cells():
    text = '"a, b",c,d\r\n 1 ,x,NA\r\n\r\n-2.5e3,"y ""z""",null\r\n,?,1_0\r\n'
    table = _read.read_table(write(text), missing=["?"])
    first, second, third = table.columns
    assert first.name == "a, b"
    np.testing.assert_array_equal(first.numbers, [1, -2500, np.nan])
    assert second.labels.tolist() == ["x", 'y "z"', None]
    assert second.numbers is None
    assert third.numbers is None
    assert table.lines == [2, 4, 5]
    assert columns_of("data.csv")["c"].labels[2] == "?"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("a;b\n1,5;2\n-0,25;3\n", [1.5, -0.25]),
        ("a\tb\n,5\t2\n-2e3\t3,1\n", [0.5, -2000]),
        ("a;b\n1,234;2\n0,5;?\n", [1.234, 0.5]),
        # points elsewhere, or thousands perhaps: nothing is guessed
        ("a;b\n1,5;2\n-0,25;3.5\n", None),
        ("a;b\n1,234;2\n2,500;3\n", None),
    ],
)
def test_decimal_comma(text, numbers):
    table = _read.read_table(write(text))
    if numbers is None:
        assert table.columns[0].numbers is None
        assert table.notes == []
        return
    np.testing.assert_array_equal(table.columns[0].numbers, numbers)
    assert "decimal commas" in table.notes[0]
    assert "--decimal ." in table.notes[0]
    assert columns_of("data.csv", decimal=".")["a"].numbers is None
    np.testing.assert_array_equal(
        columns_of("data.csv", decimal=",")["a"].numbers, numbers
    )


@pytest.mark.parametrize(
    "mark",
    ["?", ".", "NA", "n/a", "N/A", "null", "None", "-", "nan", "NaN", "", "#DIV/0!"],
)
def test_marks_of_missing_cells(mark):
    """One such cell neither deletes a column nor turns the data discrete."""
    rows = np.random.default_rng(0).normal(size=(40, 3)).astype(str)
    rows[7, 1] = mark
    text = "\n".join(["a,b,c", *(",".join(row) for row in rows)])
    variables = prepared(text)
    assert variables.kind == "continuous"
    assert variables.names == ["a", "b", "c"]
    assert variables.n_rows == 40
    assert np.isnan(variables.columns[1]).nonzero()[0].tolist() == [7]
    assert any(
        "1 cells in 1 of 40 rows are missing (1 in 'b')" in note
        for note in variables.notes
    )
    said = f"Cells with {mark!r} among numbers are taken as missing (1 in 'b')."
    assert (said in variables.notes) == (mark not in _read.MISSING)


def test_marks_in_text_are_categories_unless_said():
    text = lines(COIN, ("pain", ["none", "some", "?"] * 10))
    variables = prepared(text)
    assert variables.n_rows == 30
    assert set(variables.columns[1]) == {"none", "some", "?"}
    assert any("--na '?' makes it missing" in note for note in variables.notes)
    table = _read.read_table("data.csv", missing=["?"])
    assert _prepare.prepare(table, missing="drop").n_rows == 20
    (_, pain) = _prepare.prepare(table).columns
    assert pain.tolist() == ["none", "some", None] * 10
    # one number and many marks: a flag
    flags = prepared(lines(COIN, ("flag", ["1", "-", "-"] * 10)))
    assert set(flags.columns[1]) == {"1", "-"}


def test_text_among_measurements_is_an_error(capsys):
    for other in (COIN, SIZE):
        write(lines(("dose", [*np.linspace(0.1, 3, 29), "<0.1"]), other))
        run("data.csv", *QUICK, code=2)
        error = capsys.readouterr().err
        assert "column 'dose' holds '<0.1' in line 31, but numbers in 29 rows" in error
        assert "--na '<0.1'" in error
        assert "--drop dose" in error
    write(
        lines(("price", [f'"{k},{k}00"' for k in range(1, 10)]), ("b", [0, 1, 2] * 3))
    )
    run("data.csv", *QUICK, code=2)
    assert "say --decimal ," in capsys.readouterr().err


@pytest.mark.parametrize("name", ["data.csv.gz", "data.tsv.gz", "data.gz"])
def test_gzip(name, capsys):
    separator = "\t" if "tsv" in name else ","
    content = gzip.compress(gaussian_text(separator=separator).encode())
    Path(name).write_bytes(content)
    run(name, *QUICK)
    assert "60 rows, 3 variables, continuous" in capsys.readouterr().err
    assert Path("skbidag-data/report.html").exists()
    Path(name).write_bytes(content[:-20])
    run(name, *QUICK, code=2)
    assert f"Cannot decompress {name}" in capsys.readouterr().err


def test_excel(monkeypatch):
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["x", "n", "s", "t"])
    sheet.append([1.5, 1, "u", True])
    sheet.append([None] * 4)
    sheet.append([2, "?", "v"])
    sheet.append([2.5, 3, "v"])
    sheet["F9"] = " "
    other = book.create_sheet("other")
    other.append(["a", "b"])
    other.append([0.5, "0,5"])
    book.create_sheet("nothing")
    book.save("data.xlsx")
    table = _read.read_table("data.xlsx")
    columns = {column.name: column for column in table.columns}
    np.testing.assert_array_equal(columns["x"].numbers, [1.5, 2, 2.5])
    np.testing.assert_array_equal(columns["n"].numbers, [1, np.nan, 3])
    assert columns["s"].labels.tolist() == ["u", "v", "v"]
    assert columns["t"].labels.tolist() == ["True", None, None]
    assert table.lines == [2, 4, 5]
    assert table.notes == ["Read is the sheet 'Sheet'; --sheet names another."]
    assert list(columns_of("data.xlsx", sheet="other")) == ["a", "b"]
    for options, message in (
        (
            {"sheet": "third"},
            "--sheet third: data.xlsx has no such sheet; it has Sheet",
        ),
        ({"sheet": "nothing"}, "data.xlsx is empty"),
    ):
        with pytest.raises(_read.InputError, match=message):
            _read.read_table("data.xlsx", **options)
    Path("bad.xlsx").write_bytes(b"PK\x03\x04 no")
    with pytest.raises(_read.InputError, match=r"Cannot read bad\.xlsx as an Excel"):
        _read.read_table("bad.xlsx")
    Path("old.xls").write_bytes(b"\xd0\xcf\x11\xe0 no")
    with pytest.raises(_read.InputError, match=r"save it as \.xlsx or CSV"):
        _read.read_table("old.xls")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(_read.InputError, match=r"skbidag\[excel\]"):
        _read.read_table("data.xlsx")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(encoding):
    name = write("größe,b\n1,2\n2,3\n", encoding=encoding)
    options = {"encoding": encoding} if encoding == "latin-1" else {}
    assert list(columns_of(name, **options)) == ["größe", "b"]


def test_no_header():
    name = write("1,2\n3,4\n")
    assert list(columns_of(name, header=False)) == ["x1", "x2"]


def test_parquet(monkeypatch):
    import polars

    polars.DataFrame(
        {
            "x": [1.5, None, 3.0],
            "n": [1, 2, None],
            "s": ["u", "v", None],
            "t": [True, False, None],
        }
    ).write_parquet("data.parquet")
    columns = columns_of("data.parquet")
    np.testing.assert_array_equal(columns["x"].numbers, [1.5, np.nan, 3])
    np.testing.assert_array_equal(columns["n"].numbers, [1, 2, np.nan])
    assert columns["s"].labels.tolist() == ["u", "v", None]
    assert columns["t"].labels.tolist() == ["True", "False", None]
    assert columns["x"].missing.tolist() == [False, True, False]

    polars.DataFrame(
        {"x": [1.5, 2], "when": ["2026-01-01", "2026-01-02"]}
    ).with_columns(polars.col("when").str.to_date()).write_parquet("dates.parquet")
    with pytest.raises(_read.InputError, match=r"'when' has the type .*--drop when"):
        _read.read_table("dates.parquet")
    Path("bad.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(_read.InputError, match=r"Cannot read bad.parquet as Parquet"):
        _read.read_table("bad.parquet")
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "fastparquet", None)
    monkeypatch.setattr(
        pd, "read_parquet", lambda *_: (_ for _ in ()).throw(ImportError("no engine"))
    )
    with pytest.raises(_read.InputError, match=r"skbidag\[parquet\]"):
        _read.read_table("data.parquet")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "data.csv is empty"),
        ("\n\n", "data.csv is empty"),
        ("a,b\n", r"0 usable row\(s\)"),
        ("a,b\n1,2\n", r"1 usable row\(s\)"),
        ("a,b\n1,2\n3,4,5\n", "line 3: 3 cells, but the first line has 2"),
        ("a,b,a\n1,2,3\n", "columns 1 and 3 are both called 'a'"),
        ("a,,c\n1,2,3\n", "column 2 has no name"),
        ("1,2\n3,4\n", "the first line holds numbers only.*--no-header"),
        ('a,b\n1,"2\n3,4\n', "line 3: unexpected end of data"),
        ("a\x01,b\n1,2\n", "the name of column 1 has a control character"),
        ("a,b\n1.5,inf\n2,3\n", "line 2: column 'b' holds infinity"),
        ("a,b\n,1\n2,\n", r"0 usable column\(s\).*'a': it is constant, '2'"),
        ("a,b\n1,5\n1,6\n", r"1 usable column\(s\).*'a': it is constant, '1'"),
        (
            "a;b\n1,5;0.1\n1,5;0.2\n2,5;0.3\n",
            "'a' holds '1,5' in line 2 .say --decimal ,",
        ),
    ],
)
def test_bad_files(text, message, capsys):
    write(text)
    run("data.csv", *QUICK, code=2)
    error = capsys.readouterr().err
    assert error.startswith("skbidag: error: ")
    assert error.count("\n") == 1
    assert re.search(message, error), error
    assert os.listdir() == ["data.csv"]


MIXED = "age,sex,dose,visits\n" + "".join(
    f"{30 + (7 * k) % 23}.5,{'fm'[k % 2]},{k % 7 + 0.25 * (k % 2)},{k % 3}\n"
    for k in range(60)
)


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ([], ["continuous", "discrete", "continuous", "discrete"]),
        (["--kind", "mixed"], ["continuous", "discrete", "continuous", "discrete"]),
        (["--categorical", "sex"], ["continuous", "discrete", *["continuous"] * 2]),
    ],
)
def test_mixed_files(options, kinds, capsys):
    write(MIXED)
    run("data.csv", *QUICK, "--json", *options)
    summary = json.loads(capsys.readouterr().out)
    assert summary["data"]["kind"] == "mixed"
    assert "ConditionalGaussian" in json.dumps(summary["parameters"]["score"])
    chosen = [kind == "discrete" for kind in kinds]
    assert summary["parameters"]["categorical_features"] == chosen


def test_mixed_is_said_of_numbers():
    write(
        "a,b,c\n" + "".join(f"{k * 0.37 % 1:.3f},{k % 2},{k % 3}\n" for k in range(50))
    )
    run("data.csv", *QUICK, "--kind", "mixed", "--out", "learned")
    report = Path("learned/report.html").read_text(encoding="utf-8")
    assert "50 rows of mixed data" in report


GRADES = ("low", "mid", "high")
ORDERED = "age,dose=,stage,sex\n" + "".join(
    f"{30 + 7 * k % 23}.5,{GRADES[(k * k + k // 7) % 3]},{k % 4 / 2},{'fm'[k % 2]}\n"
    for k in range(60)
)


@pytest.mark.parametrize(
    ("options", "ordinal"),
    [
        (["--ordinal", "dose==low<mid<high"], ["dose="]),
        (["--ordinal", "stage", "--ordinal", "dose== low < mid<high"], GRADES),
        # all others are what --categorical or --kind says
        (["--ordinal", "stage", "--categorical", "dose=,sex"], ["stage"]),
        (["--ordinal", "stage", "--drop", "age", "--kind", "discrete"], ["stage"]),
    ],
)
def test_ordinal_columns(options, ordinal, capsys, monkeypatch):
    write(ORDERED)
    seen = []
    fit = PartitionMCMCStructure.fit
    monkeypatch.setattr(
        PartitionMCMCStructure,
        "fit",
        lambda self, X, **given: seen.append((self, X)) or fit(self, X, **given),
    )
    run("data.csv", *QUICK, "--json", *options)
    out, err = capsys.readouterr()
    assert json.loads(out)["data"]["kind"] == "mixed"
    (model, frame), *_ = seen
    ordered = ["dose=", "stage"] if ordinal is GRADES else ordinal
    names = frame.columns.to_numpy()
    assert names[model.score_.is_ordinal_].tolist() == ordered
    discrete = {*ordered, "dose=", "sex"} & {*names}
    assert {*names[model.score_.is_categorical_]} == discrete
    if "dose=" in ordered:
        assert frame["dose="].cat.categories.tolist() == [*GRADES]
        assert "Column 'dose=' is ordinal: low < mid < high." in err
    if "stage" in ordered:
        assert frame["stage"].cat.categories.tolist() == [0, 0.5, 1, 1.5]


def test_missing_cells_of_ordinal_columns():
    write(ORDERED.replace("mid,", ",", 3).replace("high,0.0", "high,", 2))
    ordinal = ["--ordinal", "dose==low<mid<high", "--ordinal", "stage"]
    run("data.csv", *QUICK, *ordinal, "--out", "learned")
    report = Path("learned/report.html").read_text(encoding="utf-8")
    assert "5 cells in 5 of 60 rows are missing" in report


@pytest.mark.parametrize(
    ("ordinal", "message"),
    [
        ("z", "--ordinal z: data.csv has no such column"),
        ("z=a<b", "--ordinal z: data.csv has no such column"),
        ("dose=", "text, whose order is not known. Say .*'dose==high<low<mid'"),
        ("dose==low<high", "the column of data.csv also holds 'mid'. List all"),
        ("dose==low<<high", "levels must differ and have < between them"),
        ("dose==low<mid<low", "levels must differ and have < between them"),
        ("stage=1<0", "numbers, which have an order of their own; say --ordinal st"),
    ],
)
def test_bad_orders(ordinal, message, capsys):
    write(ORDERED)
    run("data.csv", *QUICK, "--ordinal", ordinal, code=2)
    error = capsys.readouterr().err.splitlines()[-1]
    assert re.search(message, error), error


def test_orders_are_for_other_scores_and_rows(capsys):
    write(ORDERED)
    bde = ["--score", "bde", "--drop", "age"]
    run("data.csv", *QUICK, "--ordinal", "stage", *bde, code=2)
    assert "--score bde takes one kind of columns" in capsys.readouterr().err
    run("data.csv", *QUICK, "--ordinal", "stage", "--lags", "1", code=2)
    assert "--ordinal is not for series" in capsys.readouterr().err
    run("data.csv", *QUICK, "--ordinal", "stage", "--drop", "stage", code=2)
    assert "'stage' is given to both --drop and --ord" in capsys.readouterr().err


def test_a_score_of_one_kind_refuses_mixed_files(capsys):
    write(MIXED)
    run("data.csv", *QUICK, "--score", "bic", code=2)
    assert "--score bic takes one kind of columns" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--kind", "discrete"], "column 'a' holds .* not a category.*--drop a"),
        (["--score", "bde"], "column 'a' holds .* not a category"),
        (["--score", "bge", "--kind", "discrete"], "--score bge is for continuous"),
        (["--equivalent-sample-size", "1"], "--equivalent-sample-size is no param"),
        (["--drop", "z"], "--drop z: data.csv has no such column; it has a, b, c"),
        (["--keep", "z"], "--keep z: data.csv has no such column"),
        (["--keep", "a", "--drop", "a"], "'a' is given to both"),
        (["--drop", "a", "--drop", "b"], r"1 usable column\(s\)"),
        (["--n-chains", "0"], "error: --n-chains must be an int"),
        (["--alpha", "2"], "error: --alpha must be"),
        (["--alpha-mu", "-1"], "error: --alpha-mu must be"),
        (["--max-time", "-1"], "error: --max-time must be"),
        (["--method", "iterative", "--search-space", "iterative"], ": --search-space"),
        (["--categorical", "a,z"], "--categorical z: data.csv has no such column"),
        (
            ["--categorical", "a", "--score", "bic"],
            "column 'a' holds .* not a category",
        ),
        (["--categorical", "a", "--kind", "discrete"], "--kind for all columns, or"),
        (
            ["--categorical", "a", "--drop", "a"],
            "'a' is given to both --drop and --cat",
        ),
        (["--delimiter", "ab"], "--delimiter must be one character"),
        (["--decimal", ","], "--decimal and --delimiter are both"),
        (["--encoding", "klingon"], "--encoding klingon is not known"),
        (["--constraints", "missing.csv"], "Cannot read missing.csv: No such file"),
        (["--out", "no/where"], "there is no folder"),
        (["--out", "data.csv"], "--out data.csv is a file"),
    ],
)
def test_bad_options(gaussian, options, message, capsys):
    run(gaussian, *QUICK, *options, code=2)
    error = capsys.readouterr().err
    assert re.search(message, error), error
    assert os.listdir() == ["data.csv"]


def test_bad_encoding_names_line_and_option(capsys):
    write("a,b\n1,2\nü,3\n", encoding="latin-1")
    run("data.csv", code=2)
    error = capsys.readouterr().err
    assert "is not utf-8: byte 0xfc in line 3" in error
    assert "--encoding latin-1" in error


@pytest.mark.parametrize(
    "argv", [[], ["teach"], ["learn", "a.csv", "b.csv"], ["learn", "--n-iter", "many"]]
)
def test_usage_errors(argv, capsys):
    with pytest.raises(SystemExit) as caught:
        _cli.main(argv)
    assert caught.value.code == 2
    assert "usage: skbidag" in capsys.readouterr().err


# ---------------------------------------------------------------------- preparation


def prepared(text, **options):
    return _prepare.prepare(_read.read_table(write(text)), **options)


def lines(*columns):
    """CSV text of a header and columns."""
    rows = zip(*(values for _, values in columns), strict=True)
    header = ",".join(name for name, _ in columns)
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)])


COIN = ("coin", [0, 1] * 15)
WORD = ("word", ["yes", "no", "perhaps"] * 10)
SIZE = ("size", np.linspace(0.1, 7, 30))
AGE = ("age", [20 + 7 * k % 31 for k in range(30)])


DIE = ("die", [1, 2, 3, 4, 5, 6] * 5)


@pytest.mark.parametrize(
    ("columns", "kind", "why"),
    [
        ([COIN, SIZE], "continuous", "column 'size' holds 0.1"),
        ([COIN, WORD], "discrete", "column 'word' holds 'yes'"),
        ([DIE, COIN], "discrete", "column 'die' has 6 different integers in 30 rows"),
        (
            [("n", [k % 25 for k in range(30)]), ("m", [k % 26 for k in range(30)])],
            "continuous",
            "column 'n' has 25 different integers in 30 rows",
        ),
        ([("a", ["1.0", "2.0"] * 15), COIN], "discrete", "has 2 different integers"),
        ([("a", ["1", "2", "?"] * 10), SIZE], "continuous", "column 'size' holds"),
    ],
)
def test_kind_is_guessed_and_said(columns, kind, why):
    variables = prepared(lines(*columns))
    assert variables.kind == kind
    (note,) = [note for note in variables.notes if "data are taken as" in note]
    assert kind in note
    assert why in note


def test_kind_can_be_forced():
    text = lines(COIN, DIE)
    variables = prepared(text, kind="continuous")
    assert variables.columns[1].dtype == float
    assert prepared(text).columns[1].dtype == np.int64
    with pytest.raises(_read.InputError, match=r"'word' holds 'yes' in line 2"):
        prepared(lines(COIN, WORD), kind="continuous")
    named = prepared(lines(AGE, COIN), categorical=["age", "coin"], keep=["age"])
    assert named.kind == "discrete"
    assert any("'age' has 30 levels, many" in note for note in named.notes)


@pytest.mark.parametrize(
    "columns", [[COIN, SIZE], [COIN, WORD], [DIE, AGE], [AGE, SIZE]]
)
def test_kinds_are_those_of_the_estimators(columns):
    """What pandas reads is of the same kind as on the command line."""
    text = lines(*columns, ("last", [k % 3 for k in range(30)]))
    variables = prepared(text, keep=[name for name, _ in columns])
    found = column_kinds(pd.read_csv("data.csv"))
    kind = {"continuous": "continuous", "categorical": "discrete"}[found.common()]
    assert variables.kind == kind
    told = [note for note in variables.notes if note.startswith("That is a guess.")]
    assert len(told) == bool(found.guessed)
    for column in found.guessed:
        assert f"column {[*variables.names][column]!r} (" in told[0]


def test_integers_to_999(capsys):
    values = np.random.default_rng(1).integers(1000, size=(500, 3))
    pd.DataFrame(values, columns=list("abc")).to_csv("data.csv", index=False)
    run("data.csv", *QUICK, "--out", "out")
    err = capsys.readouterr().err
    assert "500 rows, 3 variables, continuous." in err
    assert re.search(r"a guess\. Taken as continuous: column 'a' \(\d+ different", err)
    assert "warning: The kinds" not in err


def test_rows_with_missing_cells():
    table = _read.read_table(write("a,b,c\n1.5,2,\n2.5,NA,\n3.5,4,\n4.5,5,\n"))
    variables = _prepare.prepare(table, missing="drop")
    assert variables.names == ["a", "b"]
    assert variables.n_rows == 3
    assert "1 of 4 rows have missing cells and are left out (1 in 'b')." in (
        variables.notes
    )
    assert variables.left_out == {"c": "every cell is missing"}
    drawn = _prepare.prepare(table)
    np.testing.assert_array_equal(drawn.columns[1], [2, np.nan, 4, 5])
    with pytest.raises(_read.InputError, match="has missing cells"):
        _prepare.prepare(table, missing="error")
    table = _read.read_table(write("a,b\n,1\n2,\n"))
    with pytest.raises(_read.InputError, match="no row without a missing cell"):
        _prepare.prepare(table, missing="drop")


def test_missing_cells_are_drawn(capsys):
    rng = np.random.default_rng(0)
    rows = np.round(rng.normal(size=(60, 3)).cumsum(axis=1), 3).astype(str)
    rows[::9, 1] = ""
    write("\n".join(["a,b,c", *(",".join(row) for row in rows)]))
    run("data.csv", *QUICK, "--out", "out")
    said = capsys.readouterr().err
    assert said.count("missing at random") == 1
    assert "7 cells in 7 of 60 rows are missing (7 in 'b')" in said
    assert "missing at random" in Path("out/report.html").read_text()
    run("data.csv", *QUICK, "--out", "dropped", "--missing", "drop")
    assert "7 of 60 rows have missing cells and are left out" in capsys.readouterr().err
    run("data.csv", *QUICK, "--score", "bic", code=2)
    assert "With --missing drop" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("column", "others", "why"),
    [
        (("id", range(30)), [COIN, SIZE], "counts the rows"),
        (("id", range(101, 131)), [COIN, WORD], "counts the rows"),
        (("id", [f"p{7 * k % 31}" for k in range(30)]), [COIN, SIZE], "every row"),
        (AGE, [COIN, WORD], "differs in every row"),
        (("same", [3] * 30), [COIN, SIZE], "constant, '3' in every row"),
    ],
)
def test_useless_columns_are_left_out_and_can_be_kept(column, others, why):
    text = lines(column, *others)
    variables = prepared(text)
    name = column[0]
    assert list(variables.left_out) == [name]
    assert why in variables.left_out[name]
    assert any(f"Column {name!r} is left out" in note for note in variables.notes)
    kind = "discrete" if WORD in others else "auto"
    if not isinstance(column[1][0], str):
        assert prepared(text, keep=[name], kind=kind).names[0] == name


def test_measurements_that_differ_are_kept():
    assert prepared(lines(AGE, SIZE)).names == ["age", "size"]


def test_row_names_of_r():
    variables = prepared('"","a","b"\n"1",1.5,2\n"2",2.5,2.5\n')
    assert variables.names == ["a", "b"]


def test_kept_constant_column_has_no_edges():
    write(lines(("same", [3] * 30), SIZE, ("b", [k % 7 / 2 for k in range(30)])))
    run("data.csv", "--keep", "same", *QUICK, "--quiet", "--out", "out")
    best = pd.read_csv("out/map.csv", index_col=0)
    assert best.loc["same"].sum() + best["same"].sum() == 0


# ---------------------------------------------------------------------- constraints


def test_background(gaussian):
    run(gaussian, "--background", "a", *QUICK, "--out", "given", "--quiet")
    summary = json.loads(Path("given/summary.json").read_text())
    assert summary["data"]["background"] == ["a"]
    assert summary["parameters"]["background"] == ["a"]
    edges = pd.read_csv("given/edges.csv")
    assert len(edges)
    assert "a" not in set(edges["child"])
    page = Path("given/report.html").read_text(encoding="utf-8")
    assert '<th scope="row">background</th><td><code>a</code></td>' in page


def test_background_that_is_no_variable(gaussian, capsys):
    run(gaussian, "--background", "z", *QUICK, code=2)
    assert "--background z: there is no column 'z'" in capsys.readouterr().err


def series_text():
    rng = np.random.default_rng(0)
    rows = ["who,month,a,sex,b"]
    for who in range(8):
        a, sex = 0.0, who % 2 + rng.normal()
        for month in range(12):
            before, a = a, 0.5 * a + rng.normal()
            b = 0.9 * before + 0.3 * rng.normal()
            rows.append(f"p{who},{month},{a:.4f},{sex:.4f},{b:.4f}")
    return "\n".join(rows) + "\n"


def test_series():
    write(series_text(), "visits.csv")
    run(
        *("visits.csv", "--time", "month", "--series", "who", "--lags", "2"),
        *("--background", "sex", *QUICK, "--out", "out", "--quiet"),
    )
    summary = json.loads(Path("out/summary.json").read_text())
    names = ["sex", "a[t-1]", "b[t-1]", "a[t-2]", "b[t-2]", "a", "b"]
    assert summary["data"]["variables"] == names
    assert summary["data"]["background"] == names[:5]
    assert summary["parameters"]["n_lags"] == 2
    edges = pd.read_csv("out/edges.csv").set_index(["parent", "child"])["probability"]
    assert edges["a[t-1]", "b"] == 1
    assert set(edges.reset_index()["child"]) <= {"a", "b"}
    assert list(pd.read_csv("out/map.csv", index_col=0).columns) == names
    # the network of the first month, of the eight first rows
    first = pd.read_csv("out/initial_edges.csv")
    assert set(first["parent"]) | set(first["child"]) <= {"sex", "a", "b"}
    assert "sex" not in set(first["child"])
    best = pd.read_csv("out/initial_map.csv", index_col=0)
    assert list(best.columns) == ["sex", "a", "b"]
    assert summary["result"]["initial"]["n_edges"] == best.to_numpy().sum()
    page = Path("out/report.html").read_text()
    assert 'id="initial-edges"' in page
    assert "initial_map.csv" in page
    # rows in another order, and constraints in the names of the transition
    lines = series_text().splitlines()
    write("\n".join([lines[0], *lines[:0:-1]]), "turned.csv")
    write("a[t-1],b,forbidden\n", "constraints.csv")
    run(
        *("turned.csv", "--time", "month", "--series", "who", "--drop", "sex"),
        *("--constraints", "constraints.csv", *QUICK, "--out", "two", "--quiet"),
    )
    edges = pd.read_csv("two/edges.csv").set_index(["parent", "child"])["probability"]
    assert ("a[t-1]", "b") not in edges.index


@pytest.fixture(scope="module")
def series_report(tmp_path_factory):
    """The report of series, with pictures."""
    folder = tmp_path_factory.mktemp("series")
    write(series_text(), folder / "visits.csv")
    options = ("--time", "month", "--series", "who", "--drop", "sex", *QUICK)
    run(folder / "visits.csv", *options, "--out", folder / "out", "--quiet")
    return (folder / "out" / "report.html").read_text()


def test_picture_of_slices(series_report):
    picture = series_report.split('<svg id="slices"')[1].split("</svg>")[0]
    for column in ("first", "t-1", "t"):
        assert re.search(rf"<text [^>]*>{column}</text>", picture), column


def test_one_series_has_no_first_slice(capsys):
    rows = [line for line in series_text().splitlines() if line[:2] in ("wh", "p0")]
    write("\n".join(rows), "one.csv")
    drop = ("--drop", "who", "--drop", "sex")
    run("one.csv", "--time", "month", *drop, *QUICK, "--out", "out", "--progress")
    assert not Path("out/initial_edges.csv").exists()
    assert "initial_edges.csv" not in Path("out/report.html").read_text()
    told = capsys.readouterr()
    assert "First slice" not in told.out
    assert "Sampling" in told.err


def test_progress_and_summary_of_series(capsys):
    write(series_text(), "visits.csv")
    options = ("--time", "month", "--series", "who", "--drop", "sex", "--progress")
    run("visits.csv", *options, *QUICK, "--out", "out")
    told = capsys.readouterr()
    assert re.search(r"First slice: \d edges, log score -\d+", told.out)
    # of the transition, and of the first slice
    assert told.err.count("skbidag: Searching") >= 2


def test_series_with_interventions():
    rows = series_text().splitlines()
    # a was set by chance in the odd months
    rows = [rows[0] + ",what"] + [
        row + (",a" if int(row.split(",")[1]) % 2 else ",") for row in rows[1:]
    ]
    write("\n".join(rows), "visits.csv")
    options = ("--time", "month", "--series", "who", "--drop", "sex")
    run(
        *("visits.csv", *options, "--interventions", "what"),
        *(*QUICK, "--out", "out", "--quiet"),
    )
    summary = json.loads(Path("out/summary.json").read_text())
    assert summary["data"]["interventions"] == [["a"]]
    assert summary["data"]["variables"] == ["a[t-1]", "b[t-1]", "a", "b"]
    edges = pd.read_csv("out/edges.csv").set_index(["parent", "child"])["probability"]
    assert edges["a[t-1]", "b"] == 1


def test_series_of_mixed_data():
    rows = series_text().splitlines()
    rows = [rows[0] + ",mood"] + [
        row + (",good" if float(row.split(",")[2]) > 0 else ",bad") for row in rows[1:]
    ]
    write("\n".join(rows), "visits.csv")
    options = ("--time", "month", "--series", "who", "--drop", "sex", "--drop", "a")
    run("visits.csv", *options, *QUICK, "--out", "out", "--quiet")
    summary = json.loads(Path("out/summary.json").read_text())
    assert summary["data"]["kind"] == "mixed"
    edges = pd.read_csv("out/edges.csv").set_index(["parent", "child"])["probability"]
    assert edges["mood[t-1]", "b"] > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--time", "day"], "--time day: visits.csv has no such column"),
        (["--lags", "0"], "--lags 0: at least 1 is needed"),
        (["--time", "month"], "time: a series has two rows for 0"),
        (["--series", "who", "--lags", "20"], "series are too short"),
    ],
)
def test_bad_series(options, message, capsys):
    write(series_text(), "visits.csv")
    drop = () if "who" in options else ("--drop", "who")
    run("visits.csv", *options, *drop, *QUICK, code=2)
    assert message in capsys.readouterr().err


def test_constraints_and_tiers(gaussian):
    write("from,to,kind\nc,a,required\nb,a,forbidden\n", "constraints.csv")
    write("a,2\nb,1\n", "tiers.csv")
    run(gaussian, "--constraints", "constraints.csv", *QUICK, "--out", "one", "--quiet")
    edges = pd.read_csv("one/edges.csv").set_index(["parent", "child"])["probability"]
    assert edges["c", "a"] == 1
    assert ("b", "a") not in edges.index
    run(gaussian, "--tiers", "tiers.csv", *QUICK, "--out", "two", "--quiet")
    edges = pd.read_csv("two/edges.csv").set_index(["parent", "child"])["probability"]
    assert ("a", "b") not in edges.index
    assert edges["b", "a"] > 0
    parameters = json.loads(Path("two/summary.json").read_text())["parameters"]
    assert parameters["tiers"] == [["b"], ["a"]]


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("--constraints", "a,b,banned\n", "line 1: the third cell .* 'banned'"),
        ("--constraints", "a,b\n", "line 1: expected from,to,forbidden"),
        ("--constraints", "a,b,required\nb,z,required\n", "line 2: .* no column 'z'"),
        ("--constraints", "a,same,required\n", "line 1: column 'same' is left out"),
        (
            "--constraints",
            "a,b,required\nb,a,required\n",
            r"--constraints \(required\) has a cycle",
        ),
        ("--constraints", "", "given.csv is empty"),
        ("--tiers", "a,one\n", "line 1: the tier must be a whole number, got 'one'"),
        ("--tiers", "z,1\n", "line 1: there is no column 'z'"),
        ("--tiers", "a,1\na,2\n", "error: --tiers has 'a' more than once"),
    ],
)
def test_bad_constraints(option, text, message, capsys):
    write(lines(("a", SIZE[1]), ("b", SIZE[1] ** 2), ("same", [1] * 30)))
    write(text, "given.csv")
    run("data.csv", option, "given.csv", *QUICK, code=2)
    error = capsys.readouterr().err.splitlines()[-1]
    assert re.search(message, error), error
    assert sorted(os.listdir()) == ["data.csv", "given.csv"]


# --------------------------------------------------------------------------- output


def test_existing_output_is_replaced_only_by_force(gaussian, capsys):
    Path("empty").mkdir()
    run(gaussian, *QUICK, "--out", "empty", "--quiet")
    before = Path("empty/summary.json").read_bytes()
    run(gaussian, *QUICK, "--out", "empty", code=2)
    assert "--out empty exists; --force replaces it" in capsys.readouterr().err
    assert Path("empty/summary.json").read_bytes() == before
    run(gaussian, *QUICK, "--seed", 1, "--out", "empty", "--force", "--quiet")
    assert Path("empty/summary.json").read_bytes() != before
    Path("mine").mkdir()
    write("mine", "mine/notes.txt")
    run(gaussian, *QUICK, "--out", "mine", "--force", code=2)
    assert "holds something else" in capsys.readouterr().err
    assert os.listdir("mine") == ["notes.txt"]
    assert sorted(os.listdir()) == ["data.csv", "empty", "mine"]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_nothing_is_half_written(gaussian, error, monkeypatch):
    run(gaussian, *QUICK, "--out", "out", "--quiet")
    before = Path("out/summary.json").read_bytes()

    def fail(*_):
        raise error

    monkeypatch.setattr(_write, "write_graphml", fail)
    code = 130 if isinstance(error, KeyboardInterrupt) else 2
    run(gaussian, *QUICK, "--out", "new", "--quiet", code=code)
    run(gaussian, *QUICK, "--out", "out", "--force", "--quiet", code=code)
    assert sorted(os.listdir()) == ["data.csv", "out"]
    assert Path("out/summary.json").read_bytes() == before


def test_memory_error(gaussian, capsys):
    run(gaussian, *QUICK, "--memory-limit", 1, code=1)
    assert "score tables would take" in capsys.readouterr().err


def test_awkward_names(gaussian):
    names = ['<b>&"', "a'b", "$x_1$ ^2 \\", "größe 🙂", "-> ;"]
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 5)).cumsum(axis=1)
    pd.DataFrame(rows, columns=names).to_csv("data.csv", index=False)
    run("data.csv", *QUICK, "--out", "out")
    assert list(pd.read_csv("out/map.csv", index_col=0)) == names
    assert list(networkx.read_graphml("out/graph.graphml")) == names
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "<b>&" not in page
    with open("out/edges.csv", encoding="utf-8", newline="") as file:
        assert {row["parent"] for row in csv.DictReader(file)} <= set(names)


# --------------------------------------------------------------------------- report


class Page(HTMLParser):
    """Collects what a page refers to."""

    def __init__(self):
        super().__init__()
        self.ids, self.links, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "data", "action"):
                self.links.append(value)


def parse(path):
    page = Page()
    text = Path(path).read_text(encoding="utf-8")
    page.feed(text)
    return page, text


def test_report_is_self_contained(report):
    page, text = parse(report / "report.html")
    assert len(page.ids) == len(set(page.ids))
    local = FILES - {"report.html"}
    for link in page.links:
        # inside the page, in it, or a file beside it
        assert link.startswith("data:") or link[1:] in page.ids or link in local, link
    assert set(page.links) >= local
    assert not re.search(r"url\((?!#)", text)
    assert "@import" not in text
    assert set(page.ids) >= PICTURES
    assert page.tags.count("svg") == len(PICTURES) + 1  # the network
    for svg in re.findall(r"<svg .*?</svg>", text, flags=re.S):
        ElementTree.fromstring(svg)
    summary = json.loads((report / "summary.json").read_text(encoding="utf-8"))
    assert summary["data"]["sha256"] in text
    assert summary["command"] in text
    for parameter in summary["parameters"]:
        assert f">{parameter}<" in text


def test_report_without_matplotlib():
    run(*QUICK, "--out", "out", "--quiet")
    page, text = parse("out/report.html")
    # the network, the heat map and the traces
    assert page.tags.count("svg") == 3
    assert "pip install 'skbidag[plot]'" in text
    data = re.search(r'id="network-data">(.*?)</script>', text, flags=re.S)[1]
    network = json.loads(data)
    edges = pd.read_csv("out/edges.csv").set_index(["parent", "child"])["probability"]
    names = network["names"]
    assert len(network["pairs"]) > 5
    for i, j, joined, there, back, *_ in network["pairs"]:
        one, other = (edges.get((names[a], names[b]), 0.0) for a, b in [(i, j), (j, i)])
        assert [there, back] == pytest.approx([one, other], abs=1e-3)
        assert joined == pytest.approx(one + other, abs=1e-3)


def test_trust_is_told_in_the_words_of_the_command_line(gaussian):
    run(gaussian, "--method", "order", "--tiers", write("a,1\nb,2\nc,2\n", "t"), *QUICK)
    summary = json.loads(Path("skbidag-data/summary.json").read_text(encoding="utf-8"))
    said = {point["question"]: point["text"] for point in summary["trust"]}
    assert "With --method partition" in said["What does a probability say?"]
    assert "tiers" in said["What was assumed beforehand?"]
    assert "taken as continuous" in said["What was made of the data?"]
    page = Path("skbidag-data/report.html").read_text(encoding="utf-8")
    assert "Can I trust this?" in page


# ------------------------------------------------------------------ as a user runs it


def test_version_and_help_are_quick():
    """They import nothing heavy."""
    script = (
        "import sys; from skbidag._cli import main\n"
        "try: main([*sys.argv[1:]])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    for argv, said in [
        (["--version"], "skbidag "),
        (["--help"], "exit codes:"),
        (["learn", "--help"], "130  interrupted"),
    ]:
        done = subprocess.run(
            [sys.executable, "-P", "-c", script, *argv],
            capture_output=True,
            text=True,
            check=True,
        )
        assert said in done.stdout


@pytest.mark.slow
def test_module_and_exit_code():
    write("a,b\n")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "skbidag", "learn", "data.csv"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "skbidag: error: data.csv has 0 usable row(s), at least 2 are needed.\n"
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_control_c(gaussian):
    script = f"""
        import sys
        from skbidag._cli import main
        sys.stderr.isatty = lambda: True
        sys.exit(main(["learn", {gaussian!r}, "--n-iter", "100000000", "--out", "out"]))
    """
    with python_process(script) as process:
        assert "60 rows" in process.stderr.readline()
        assert any("Sampling" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait() == 130
    assert rest.endswith("skbidag: error: interrupted; nothing was written.\n")
    assert "Traceback" not in rest
    assert os.listdir() == ["data.csv"]


def test_progress_on_a_terminal(gaussian, monkeypatch, capsys):
    monkeypatch.setattr(_progress, "INTERVAL", 0.001)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    run(gaussian, *QUICK, "--out", "out")
    err = capsys.readouterr().err
    assert "\r\x1b[KSearching ... 0 s" in err
    assert "Sampling [###" in err
    assert "100 %, 0 s left\r\x1b[K" in err
    run(gaussian, *QUICK, "--out", "quiet", "--quiet")
    assert capsys.readouterr().err == ""


def test_progress_in_lines(gaussian, capsys):
    run(gaussian, *QUICK, "--out", "out")
    assert "Searching" not in capsys.readouterr().err
    run(gaussian, *QUICK, "--out", "quiet", "--progress", "--quiet")
    assert capsys.readouterr().err == ""
    run(gaussian, *QUICK, "--out", "lines", "--progress")
    told = capsys.readouterr().err.splitlines()
    assert "skbidag: Searching ... 0 s" in told
    assert "skbidag: Sampling, 100 %, 0 s left" in told


def test_the_clock_is_shown_while_searching():
    """A search reports nothing, so that a thread has to."""

    class Stream:
        text, seen = "", threading.Event()

        def write(self, text):
            self.text += text
            if self.text.count("Searching") > 2:
                self.seen.set()

        def flush(self):
            pass

    class Chain:
        task_name = "chain"

    class Steps:
        task_name = "steps"

    stream = Stream()
    progress = _progress.TerminalProgress(stream)
    progress.setup(None, None)
    assert stream.seen.wait(60)
    progress.on_fit_task_begin(None, Chain)
    for _ in range(50):
        assert not progress.on_fit_task_end(None, Steps)
    progress.teardown(None, None)
    assert "50 %" in stream.text
    assert stream.text.endswith("\r\x1b[K")


def test_max_time(gaussian, capsys):
    run(gaussian, "--n-iter", 10**9, "--max-time", 0.2, "--out", "out")
    err = capsys.readouterr().err
    assert "warning: --max-time 0.2 seconds are up." in err
    assert "warm_start" not in err
    summary = json.loads(Path("out/summary.json").read_text(encoding="utf-8"))
    assert summary["parameters"]["max_time"] == 0.2


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            "The chains disagree: R-hat is 2.46 for the score and up to 3.00 for an "
            "edge (log_score_rhat_, rhat_). Edge probabilities are not reliable yet: "
            "run longer chains (n_iter) and see log_score_trace_; with few variables "
            "try search_space='full'.",
            "The chains disagree: R-hat is 2.46 for the score and up to 3.00 for an "
            "edge. Edge probabilities are not reliable yet: run longer chains "
            "(--n-iter) and see the traces in the report; with few variables try "
            "--search-space full.",
        ),
        (
            "max_time=5.0 seconds are up. Each chain made 3 of 500 draws. With "
            "warm_start=True another fit goes on.",
            "--max-time 5.0 seconds are up. Each chain made 3 of 500 draws.",
        ),
        (
            "Node 'a' has 20 permissible parents; the 14 strongest are kept "
            "(max_parents).",
            "Node 'a' has 20 permissible parents; the 14 strongest are kept "
            "(--max-parents).",
        ),
        ("The score of 'a' is 0.", "The score of 'a' is 0."),
    ],
)
def test_messages_are_in_the_words_of_the_command_line(message, said):
    assert _wording.in_options(message) == said


def test_score_parameters_are_passed_on():
    score = _fit.make_score({"score": "bic", "edge_penalty": 2.0}, "discrete")
    assert type(score).__name__ == "CategoricalBIC"
    assert score.edge_penalty == 2.0


@pytest.mark.skipif(not DOCS.exists(), reason="the docs are not beside the tests")
def test_documentation_is_up_to_date(capsys):
    page = (DOCS / "command_line.rst").read_text(encoding="utf-8")
    with pytest.raises(SystemExit):
        _cli.main(["learn", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert set(re.findall(r"``(--[a-z-]+)", page)) <= options
    for line in filter(None, _report.LOADING.splitlines()):
        assert line.replace("samples.npz", "skbidag-asia/samples.npz") in page


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_closed_pipe(monkeypatch, gaussian):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        run(gaussian, *QUICK, "--out", "out")
    assert Path("out/report.html").exists()


# ------------------------------------------------------------------ other programs


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_programs_formats():
    formats = ["--export", "bif", "--export", "dagitty", "--export", "modelstring"]
    run(*QUICK, *formats, "--out", "out")
    best = pd.read_csv("out/map.csv", index_col=0)
    names, network = list(best), Path("out/network.bif").read_text(encoding="utf-8")
    np.testing.assert_array_equal(from_bif(network).adjacency, best)
    for name, read in (("dagitty", from_dagitty), ("modelstring", from_modelstring)):
        found = read(Path(f"out/graph.{name}").read_text(encoding="utf-8"))
        np.testing.assert_array_equal(found.loc[names, names], best)
    assert set(os.listdir("out")) == FILES | {
        "network.bif",
        "graph.dagitty",
        "graph.modelstring",
    }


def test_bif_is_refused_before_any_work(gaussian, capsys):
    run(gaussian, "--export", "bif", "--out", "out", code=2)
    assert "the data are continuous" in capsys.readouterr().err
    run("--export", "bif", "--score", "bic", "--out", "out", code=2)
    assert "--score bic has no probabilities" in capsys.readouterr().err
    run("--export", "bif", "--lags", "1", "--out", "out", code=2)
    assert "the rows are series" in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_edges_have_effects(gaussian):
    run(gaussian, *QUICK, "--out", "out")
    edges = pd.read_csv("out/edges.csv")
    assert edges["effect"].notna().all()
    assert edges["effect"].iloc[0] != 0
