"""The report of a fitted estimator: its data, its words, and what a browser shows."""

import csv
import json
import re
import struct
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from skbidag import (
    DynamicStructure,
    ExactStructure,
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
)
from skbidag._convergence import assess
from skbidag._edge_effects import direct_effects
from skbidag._report import _network, _trust
from skbidag._report._charts import make_charts
from skbidag.datasets import load_asia, make_gaussian_network

SHORT = {"n_iter": 4000, "n_draws": 100, "n_chains": 2, "random_state": 0}


@pytest.fixture(scope="module")
def asia():
    return PartitionMCMCStructure(random_state=0).fit(load_asia(as_frame=True).data)


def gaussian(n_features, n_samples=300):
    network = make_gaussian_network(n_samples, n_features, random_state=n_features)
    names = [f"gene {k}" for k in range(n_features)]
    return network, pd.DataFrame(network.data, columns=names)


@pytest.fixture(scope="module")
def linear():
    return OrderMCMCStructure(**{**SHORT, "n_iter": 20_000}).fit(gaussian(6)[1])


@pytest.fixture(scope="module")
def asia_page(asia, tmp_path_factory):
    return asia.report(tmp_path_factory.mktemp("report") / "page.html", title="asia")


def points(estimator, **options):
    reached = assess(estimator.dag_samples_, estimator.log_score_trace_)
    found = _trust.trust(estimator, reached, **options)
    return {point["question"].split()[0]: point for point in found}, found


def data_of(path):
    text = path.read_text(encoding="utf-8")
    found = re.search(r'id="network-data">(.*?)</script>', text, flags=re.S)
    return json.loads(found[1]), text


# ---------------------------------------------------------------------------- data


def test_pairs_are_the_posterior(asia):
    network = _network.network_of(asia)
    dag, joined = asia.edge_probabilities(), asia.edge_probabilities("skeleton")
    cpdag = asia.edge_probabilities("cpdag")
    seen = np.zeros_like(joined, dtype=bool)
    for i, j, both, *rest in network["pairs"]:
        assert i < j
        seen[i, j] = True
        assert both == pytest.approx(joined[i, j], rel=1e-3)
        assert rest[:4] == pytest.approx(
            [dag[i, j], dag[j, i], cpdag[i, j], cpdag[j, i]], rel=1e-3
        )
    assert seen[np.triu(joined >= _network.LEAST_PROBABILITY)].all()
    left_out = np.triu(joined > 0) & ~seen
    assert network["left_out"] == left_out.sum()
    assert_array_equal(network["best"], np.argwhere(asia.adjacency_))
    assert_array_equal(network["cpdag"], np.argwhere(asia.cpdag_))


def test_samples_are_draws_of_all_chains(asia):
    samples = _network.network_of(asia)["samples"]
    assert {sample["chain"] for sample in samples} == {0, 1, 2, 3}
    assert 24 <= len(samples) <= _network.MOST_SAMPLES
    for sample in samples:
        drawn = asia.dag_samples_.chain(sample["chain"])[sample["draw"]]
        assert_array_equal(sample["edges"], np.argwhere(drawn))
        trace = asia.log_score_trace_[sample["chain"], sample["draw"]]
        assert sample["log_score"] == trace


def test_effects_are_those_of_the_table(linear, asia):
    for model, word in ((linear, "coefficient"), (asia, "second category")):
        network = _network.network_of(model)
        assert word in network["effect"]
        expected = direct_effects(model.score_, model.dag_samples_)
        told = 0
        for i, j, *rest in network["pairs"]:
            for shown, effect in zip(
                rest[-2:], (expected[i, j], expected[j, i]), strict=True
            ):
                assert shown == _network.plain(effect)
                told += shown is not None
        assert told >= 5


def test_long_names_are_shortened():
    assert _network.shortened("a" * 24) == "a" * 24
    short = _network.shortened("interleukin_receptor_antagonist_17")
    assert len(short) == _network.LONGEST_LABEL
    assert short.startswith("interleukin_")
    assert short.endswith("onist_17")


def test_entangled_networks_have_boxes_apart():
    rng = np.random.default_rng(0)
    graph = np.triu(rng.random((120, 120)) < 0.06, 1)
    names = [f"variable {k}" for k in range(120)]
    places = _network.places(graph, names)
    assert places["routes"] == []  # too many edges for layers
    x, y, width = (np.array(places[key]) for key in ("x", "y", "width"))
    beside = np.abs(x[:, None] - x) > (width[:, None] + width) / 2
    above = np.abs(y[:, None] - y) > places["height"]
    assert (beside | above | np.eye(120, dtype=bool)).all()
    # arrows point downwards, on the whole
    parents, children = np.nonzero(graph)
    assert np.mean(y[children] - y[parents]) > 0


def test_charts_show_what_was_sampled(asia):
    drawn = {
        name: ElementTree.fromstring(svg) for name, svg in make_charts(asia).items()
    }
    probabilities = asia.edge_probabilities()
    titles = [title.text for title in drawn["probabilities"].iter("title")]
    names = asia.feature_names_in_
    assert titles == [
        f"{names[i]} → {names[j]}: {probabilities[i, j]:.3f}"
        for i, j in np.argwhere(probabilities >= 0.005)
    ]
    lines = list(drawn["traces"].iter("polyline"))
    assert len(lines) == 4
    heights = [float(point.split(",")[1]) for point in lines[0].get("points").split()]
    trace = asia.log_score_trace_[0]
    assert len(heights) == len(trace) == 500
    # one straight line through all pairs of score and height: higher is above
    assert np.corrcoef(heights, trace)[0, 1] == pytest.approx(-1, abs=1e-3)


# --------------------------------------------------------------------------- words


def test_trust_of_converged_chains(asia):
    by_question, found = points(asia)
    assert by_question["Did"]["verdict"] == "good"
    assert by_question["Did"]["text"].startswith("Yes. 4 chains")
    assert by_question["Are"]["verdict"] == "note"  # causes and effects
    assert "every DAG counts once" in found[2]["text"]
    assert found[2]["verdict"] == "good"
    assert "chosen from the data" in found[3]["text"]
    assert "taken for categorical, a guess from their values" in found[4]["text"]
    assert _trust.headline(found).startswith("As far as the computation goes, yes.")


def test_trust_of_short_chains():
    _, frame = gaussian(12, 40)
    model = OrderMCMCStructure(
        n_iter=60, n_draws=60, n_chains=3, burn_in=0, random_state=0, n_jobs=1
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(frame)
    by_question, found = points(model)
    assert by_question["Did"]["verdict"] == "bad"
    assert "far off" in by_question["Did"]["text"]
    assert found[2]["verdict"] == "note"
    assert "With PartitionMCMCStructure every DAG" in found[2]["text"]
    assert _trust.headline(found) == "Not yet: one point speaks against it."


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"n_chains": 1}, "one chain has nothing"), ({"n_draws": 20}, "20 draws of each")],
)
def test_trust_that_cannot_be_told(options, reason):
    model = PartitionMCMCStructure(**{**SHORT, **options}).fit(gaussian(5)[1])
    by_question, found = points(model)
    assert by_question["Did"]["verdict"] == "note"
    assert reason in by_question["Did"]["text"]
    assert _trust.headline(found).startswith("In part")


def test_trust_without_chains():
    _, frame = gaussian(5)
    _, found = points(ExactStructure(random_state=0).fit(frame))
    assert found[0]["verdict"] == "good"
    assert "exact sums" in found[0]["text"]
    search = IterativeSearchStructure(n_draws=0, random_state=0).fit(frame)
    _, found = points(search)
    assert found[0]["verdict"] == "note"
    assert "Nothing was sampled" in found[0]["text"]


def test_trust_in_the_search_space(linear):
    mass, space = linear.outside_mass_, linear.search_space_
    try:
        linear.search_space_ = np.zeros((6, 6), dtype=bool)
        verdicts = []
        for most in (0.01, 0.1, 0.5):
            linear.outside_mass_ = np.array([0, 0, most, 0, 0, 0])
            verdicts.append(_trust.coverage(linear))
        assert [verdict for verdict, _ in verdicts] == ["good", "note", "bad"]
        assert "0 of 30 possible edges" in verdicts[0][1]
        assert "'gene 2' (0.50)" in verdicts[2][1]
        linear.search_space_ = ~np.eye(6, dtype=bool)
        assert _trust.coverage(linear) == ("good", "Yes: all edges are permitted.")
    finally:
        linear.outside_mass_, linear.search_space_ = mass, space


def test_trust_tells_of_missing_cells():
    _, frame = gaussian(4)
    frame = frame.copy()
    frame.iloc[:7, 1] = np.nan
    _, found = points(PartitionMCMCStructure(**SHORT).fit(frame))
    assert "7 missing cells were drawn along" in found[4]["text"]


def test_trust_tells_what_was_given_and_tempered():
    _, frame = gaussian(5)
    model = OrderMCMCStructure(
        **SHORT, power=0.5, tiers=[["gene 0"]], background=["gene 1"]
    )
    _, found = points(model.fit(frame), notes=["Two rows were left out."])
    assert "to the power 0.5" in found[2]["text"]
    assert "tiers, background variables" in found[3]["text"]
    assert found[4]["text"].endswith("Two rows were left out.")


# -------------------------------------------------------------------------- method


def series():
    rng = np.random.default_rng(0)
    rows = np.zeros((200, 2))
    for t in range(1, 200):
        rows[t, 0] = 0.5 * rows[t - 1, 0] + rng.normal()
        rows[t, 1] = 0.9 * rows[t - 1, 0] + 0.3 * rng.normal()
    return pd.DataFrame(rows, columns=["a", "b"])


def mixed():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], size=100)
    weight = rng.normal(size=100) + (sex == "m")
    return pd.DataFrame({"sex": sex, "weight": weight, "age": rng.normal(size=100)})


def with_interventions():
    _, frame = gaussian(5)
    cells = np.zeros(frame.shape, dtype=bool)
    cells[:40, 2] = True
    return PartitionMCMCStructure(**SHORT).fit(frame, interventions=cells)


def many_series():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(160, 2)), columns=["a", "b"])
    frame["b"] += frame["a"]
    return DynamicStructure(PartitionMCMCStructure(**SHORT)).fit(
        frame, groups=np.repeat(np.arange(40), 4)
    )


FITTED = {
    "best alone": lambda: IterativeSearchStructure(n_draws=0, random_state=0).fit(
        gaussian(5)[1]
    ),
    "exact": lambda: ExactStructure(random_state=0).fit(gaussian(5)[1]),
    "no names": lambda: PartitionMCMCStructure(**SHORT).fit(gaussian(5)[0].data),
    "mixed": lambda: PartitionMCMCStructure(**SHORT).fit(mixed()),
    "interventions": with_interventions,
    "two variables": lambda: PartitionMCMCStructure(**SHORT).fit(gaussian(2)[1]),
    "many series": many_series,
    "dynamic": lambda: DynamicStructure(PartitionMCMCStructure(**SHORT)).fit(series()),
}


@pytest.mark.parametrize("kind", FITTED)
def test_report_of_every_kind(kind, tmp_path, monkeypatch):
    if kind not in ("best alone", "exact", "dynamic"):  # pictures take a second
        monkeypatch.setitem(sys.modules, "matplotlib", None)
    model = FITTED[kind]()
    path = model.report(tmp_path / "page.html", title="<b>Mine</b>")
    network, text = data_of(path)
    assert "<h1>&lt;b&gt;Mine&lt;/b&gt;</h1>" in text
    assert "Can I trust this?" in text
    assert "skbidag learn" not in text
    assert not re.search(r'(?:src|href)="(?!data:|#)', text)
    learned = getattr(model, "transition_estimator_", model)
    assert len(network["names"]) == learned.n_features_in_
    assert_array_equal(network["best"], np.argwhere(learned.adjacency_))
    with config_context(display="diagram"):
        assert model._repr_html_().count("<svg xmlns") <= 1
    if kind == "dynamic":
        # slices side by side, the present on the right
        x = dict(zip(network["names"], network["x"], strict=True))
        assert x["a"] == x["b"] > x["a[t-1]"] == x["b[t-1]"]
        assert ">n_lags<" in text
    assert ("first slice?" in text) == (kind == "many series")
    if kind in ("dynamic", "many series"):
        assert "what is given: background variables." in text
    if kind == "interventions":
        assert "Experiments tell directions" in text
    if kind == "best alone":
        assert network["samples"] == []


def test_report_needs_a_fit():
    with pytest.raises(ValueError, match="not fitted"):
        PartitionMCMCStructure().report("page.html")


def test_notebooks_show_a_small_graph(asia):
    html = asia._repr_html_()
    assert html.count("PartitionMCMCStructure") >= 1  # scikit-learn's own
    svg = re.search(r"<svg xmlns.*?</svg>", html, flags=re.S)[0]
    root = ElementTree.fromstring(svg)
    space = "{http://www.w3.org/2000/svg}"
    joined = asia.edge_probabilities("skeleton") > 0.5
    assert {text.text for text in root.iter(f"{space}text")} == {
        name
        for name, on in zip(asia.feature_names_in_, joined.any(axis=0), strict=True)
        if on
    }
    lines = [path for path in root.iter(f"{space}path") if path.get("stroke")]
    assert len(lines) == np.triu(joined).sum()
    assert "<svg xmlns" not in PartitionMCMCStructure()._repr_html_()
    with config_context(display="text"):
        assert not hasattr(asia, "_repr_html_")


# ------------------------------------------------------------------------- browser


class Shown:
    """The page in a browser, as a user sees and handles it."""

    def __init__(self, browser, path):
        self.browser = browser
        for log in ("browser", "performance"):
            browser.get_log(log)  # what earlier pages said
        browser.get(path.as_uri())

    def find(self, selector):
        return self.browser.find_element("css selector", selector)

    def count(self, selector):
        """How many elements are visible."""
        script = (
            "return [...document.querySelectorAll(arguments[0])]"
            ".filter((e) => getComputedStyle(e).display !== 'none').length"
        )
        return self.browser.execute_script(script, selector)

    def wait(self, condition):
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.browser, 20, 0.05).until(lambda _: condition())

    def slide(self, threshold):
        """Slide the threshold, as a mouse does, and wait for the picture."""
        self.browser.execute_script(
            "const slider = document.getElementById('threshold');"
            "slider.value = arguments[0];"
            "slider.dispatchEvent(new Event('input', {bubbles: true}));",
            threshold,
        )
        self.wait(lambda: self.find("#threshold-value").text == f"{threshold:.2f}")

    def choose(self, name, value):
        from selenium.webdriver.support.ui import Select

        Select(self.find(f"#{name}")).select_by_value(value)

    def search(self, name):
        box = self.find("#search")
        box.clear()
        box.send_keys(name)

    def rows(self):
        return self.browser.execute_script(
            "return [...document.querySelectorAll('#edges tbody tr')]"
            ".map((row) => [...row.cells].map((cell) => cell.innerText))"
        )

    def console(self):
        return self.browser.get_log("browser")


def consensus_of(estimator, threshold):
    joined = estimator.edge_probabilities("skeleton")
    cpdag = estimator.edge_probabilities("cpdag")
    return _network.consensus(joined, cpdag, threshold)


def n_joined(graph):
    return int(np.triu(graph | graph.T).sum())


def test_sliding_changes_the_picture(asia, browser, asia_page):
    page = Shown(browser, asia_page)
    drawn = {}
    for threshold in (0.5, 0.9, 0.05):
        page.slide(threshold)
        graph = consensus_of(asia, threshold)
        drawn[threshold] = n_joined(graph)
        directed = int((graph & ~graph.T).sum())
        assert page.count("#network-edges .edge") == drawn[threshold]
        assert page.count("#network-edges .head") == directed
        assert len(page.rows()) == drawn[threshold]
        assert page.find("#status").text.startswith(f"{drawn[threshold]} edge")
    assert drawn[0.9] < drawn[0.5] < drawn[0.05]
    # by the keyboard, too
    from selenium.webdriver.common.keys import Keys

    page.find("#threshold").send_keys(Keys.END)
    page.wait(lambda: page.find("#threshold-value").text == "0.99")
    assert page.count("#network-edges .edge") == n_joined(consensus_of(asia, 0.99))
    assert page.console() == []


def test_other_graphs(asia, browser, asia_page):
    page = Shown(browser, asia_page)
    page.choose("view", "best")
    best = asia.adjacency_
    assert page.count("#network-edges .head") == best.sum()
    names = asia.feature_names_in_
    listed = {(row[0], row[1].removeprefix("→ ")) for row in page.rows()}
    assert listed == {(names[i], names[j]) for i, j in np.argwhere(best)}
    # improbable edges are drawn, but dashed
    page.slide(0.95)
    improbable = int((asia.edge_probabilities()[best] <= 0.95).sum())
    assert improbable > 0
    assert page.count("#network-edges .edge") == best.sum()
    assert page.count("#network-edges .faint") == improbable
    page.choose("view", "cpdag")
    assert page.count("#network-edges .edge") == n_joined(asia.cpdag_)
    page.choose("view", "sample")
    sample = _network.network_of(asia)["samples"][0]
    assert page.count("#network-edges .head") == len(sample["edges"])
    assert f"log score {sample['log_score']:.2f}" in page.find("#status").text
    assert page.console() == []


def test_search_drag_and_hover(asia, browser, asia_page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    page = Shown(browser, asia_page)
    graph = consensus_of(asia, 0.5)
    names = list(asia.feature_names_in_)
    either = names.index("either")
    around = np.flatnonzero(graph[either] | graph[:, either])
    page.search("EITHE")
    assert page.find("#details h3").text == "either"
    assert page.count("#network-edges .marked") == len(around)
    page.choose("scope", "neighbors")
    assert page.count("#network-nodes .node") == 1 + len(around)
    children = graph[either] & ~graph[:, either]
    directed = graph & ~graph.T
    blanket = set(around) | set(np.flatnonzero(directed[:, children].any(axis=1)))
    page.choose("scope", "blanket")
    assert page.count("#network-nodes .node") == len(blanket | {either})
    page.find("#network").send_keys(Keys.ESCAPE)
    assert page.count("#network-nodes .node") == len(names)
    assert page.find("#search").get_property("value") == ""

    # a name in the table marks it as well
    page.find("#edges tbody .name").click()
    assert page.count("#network-nodes .focus") == 1
    page.find("#reset").click()

    network = page.find("#network")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", network)
    node = page.find(f'#network-nodes [data-node="{either}"]')
    before = node.get_attribute("transform")
    x, y = browser.execute_script(
        "const {x, y, width, height} = arguments[0].getBoundingClientRect();"
        "return [Math.round(x + width / 2), Math.round(y + height / 2)]",
        node,
    )
    actions = ActionChains(browser)
    pointer = actions.w3c_actions.pointer_action
    pointer.move_to_location(x, y)
    pointer.pointer_down()
    pointer.move_to_location(x + 30, y + 20)
    pointer.move_to_location(x + 60, y + 40)
    pointer.pointer_up()
    actions.perform()
    assert node.get_attribute("transform") != before
    assert page.count("#network-nodes .focus") == 0  # dragging is not clicking
    page.find("#reset").click()
    assert node.get_attribute("transform") == before

    # in the middle of an edge's line
    where = browser.execute_script(
        "const line = document.querySelector('.edge:last-child .touch');"
        "const point = line.getPointAtLength(line.getTotalLength() / 2);"
        "const moved = point.matrixTransform(line.getScreenCTM());"
        "return [Math.round(moved.x), Math.round(moved.y)]"
    )
    actions = ActionChains(browser)
    actions.w3c_actions.pointer_action.move_to_location(*where)
    actions.perform()
    tip = page.wait(lambda: page.find("#tip").text)
    assert "joined: " in tip
    assert "R-hat: " in tip
    assert "effect: " in tip

    scene = page.find("#scene")
    for key in ("+", Keys.ARROW_LEFT):
        before = scene.get_attribute("transform")
        page.find("#network").send_keys(key)
        assert scene.get_attribute("transform") != before
    assert page.console() == []


def test_saved_files(asia, browser, asia_page):
    page = Shown(browser, asia_page)

    def saved(name):
        page.find(f"#save-{name.split('.')[1]}").click()
        path = browser.downloads / name
        page.wait(lambda: path.exists() and path.stat().st_size)
        return path

    with open(saved("edges.csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    shown = page.rows()
    assert [row["from"] for row in rows] == [row[0] for row in shown]
    joined = asia.edge_probabilities("skeleton")
    names = list(asia.feature_names_in_)
    for row in rows:
        place = names.index(row["from"]), names.index(row["to"])
        assert float(row["joined"]) == pytest.approx(joined[place], rel=1e-3)
    root = ElementTree.parse(saved("network.svg")).getroot()
    texts = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert texts == set(names)
    rects = list(root.iter("{http://www.w3.org/2000/svg}rect"))
    assert len(rects) == len(names) + 1  # and the paper
    assert all(rect.get("fill").startswith("rgb") for rect in rects)
    png = saved("network.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    assert width == 2 * page.find("#network").get_property("clientWidth")
    assert height > 400
    assert page.console() == []


def test_the_table_is_sorted_and_nothing_is_loaded(browser, asia_page):
    page = Shown(browser, asia_page)
    assert browser.title == "asia: Bayesian network"
    before = [row[0] for row in page.rows()]
    page.find("#edges th button").click()
    assert [row[0] for row in page.rows()] == sorted(before) != before
    assert page.find("#edges th").get_attribute("aria-sort") == "ascending"
    page.find("#edges th button").click()
    assert [row[0] for row in page.rows()] == sorted(before, reverse=True)
    # pictures are visible, and nothing is wider than the window
    for name in ("network", "probabilities", "traces", "concordance"):
        box = page.find(f"#{name}").rect
        assert min(box["width"], box["height"]) > 100, name
    for width in (1200, 400):
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
        )
        wide = "return document.documentElement.scrollWidth - window.innerWidth"
        assert page.wait(lambda: browser.execute_script("return innerWidth")) == width
        assert browser.execute_script(wide) <= 0
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert page.console() == []
    messages = [
        json.loads(entry["message"])["message"]
        for entry in browser.get_log("performance")
    ]
    url = asia_page.as_uri()
    requests = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
        and message["params"]["documentURL"] == url  # not what the first tab showed
    ]
    assert url in requests
    assert [r for r in requests if r != url and not r.startswith("data:")] == []


@pytest.mark.slow
def test_many_variables_in_a_browser(browser, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    network, frame = gaussian(100)
    model = OrderMCMCStructure(
        search_space=network.adjacency | network.adjacency.T,
        extra_parent=False,
        **{**SHORT, "n_draws": 40},  # too few to tell whether they agree
    ).fit(frame)
    page = Shown(browser, model.report(tmp_path / "page.html"))
    for threshold in (0.5, 0.8):
        page.slide(threshold)
        drawn = n_joined(consensus_of(model, threshold))
        assert drawn > 50
        assert page.count("#network-edges .edge") == drawn
        assert page.find("#status").text.startswith(f"{drawn} edges")
    # variables without edges are left out, and come back if they are asked for
    connected = consensus_of(model, 0.8)
    connected = (connected | connected.T).any(axis=0).sum()
    assert page.count("#network-nodes .node") == connected
    rest = page.find("#rest").text
    assert rest.startswith("Without edges here: gene ")
    assert rest.count("gene ") == min(30, 100 - connected)
    page.find("#unconnected").click()
    assert page.count("#network-nodes .node") == 100
    # what is small has labels that can be read and do not overlap
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('#network-labels text')]"
        ".filter((text) => text.style.display !== 'none')"
        ".map((text) => text.getBoundingClientRect())"
        ".map(({left, right, top, bottom}) => [left, right, top, bottom])"
    )
    boxes = np.array(boxes)
    assert len(boxes) > 10
    assert (boxes[:, 3] - boxes[:, 2] > 7).all()
    left, right, top, bottom = boxes.T
    # letters of one line may come near those of the next
    apart = (left[:, None] > right - 2) | (top[:, None] > bottom - 4)
    assert (apart | apart.T | np.eye(len(boxes), dtype=bool)).all()
    page.search("gene 7")
    page.choose("scope", "blanket")
    assert 1 <= page.count("#network-nodes .node") < 60
    assert page.console() == []
