"""Draw the figures and write the tables of the documentation's page on benchmarks.

    python benchmarks/figures.py                # all studies with results, seconds
    python benchmarks/figures.py --only paper   # one of them

Reads ``benchmarks/results/*.csv``; writes ``docs/images/benchmarks_*.svg`` and
``docs/tables/*.inc``, which ``docs/benchmarks*.rst`` include. A study without results
gets a table that says so and a figure that is empty, so that the page builds.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from common import HERE, RESULTS, groups, read_circumstances, read_results
from matplotlib.ticker import (
    FixedLocator,
    LogLocator,
    NullFormatter,
    StrMethodFormatter,
)
from paired import compare_scores, summarize_pairs, with_differences

IMAGES = HERE.parent / "docs" / "images"
TABLES = HERE.parent / "docs" / "tables"

# Okabe & Ito's colors, which color-blind readers can tell apart; markers help, too.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
STYLES = {
    name: (COLORS[k], MARKERS[k])
    for k, names in enumerate(
        [
            ("order", "MCMC"),
            ("partition",),
            ("search", "MAP", "sumu 1"),
            ("sparse search", "sumu 4", "iMCMC"),
            ("GES", "sumu 16"),
            ("PC", "hill climbing"),
            ("dag",),
        ]
    )
    for name in names
}

# What stands in an empty cell; a hyphen would begin a list there.
NOTHING = "\N{EN DASH}"

plt.switch_backend("Agg")
plt.rcParams.update(
    {
        "svg.hashsalt": "skbidag",  # the same file for the same results
        "svg.fonttype": "none",  # text as text: small files
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "legend.frameon": False,
    }
)


# ------------------------------------------------------------------- what is shared


def values(rows, key):
    """A column as an array, rows without it left out."""
    return np.array([row[key] for row in rows if isinstance(row.get(key), float)])


def median(rows, key):
    column = values(rows, key)
    return float(np.median(column)) if len(column) else ""


def curve(ax, rows, x, y, label, style=None, **options):
    """Medians of `y` at each `x`, over graphs or repeats, with quartiles."""
    points = sorted(groups(rows, x).items())
    at = np.array([key[0] for key, group in points if len(values(group, y))])
    columns = [values(group, y) for _, group in points if len(values(group, y))]
    if len(at) == 0:
        return
    color, marker = style or STYLES[label]
    middle = [np.median(column) for column in columns]
    ax.plot(at, middle, color=color, marker=marker, ms=4, label=label, **options)
    if max(map(len, columns)) > 2:
        low, high = np.array([np.quantile(c, [0.25, 0.75]) for c in columns]).T
        ax.fill_between(at, low, high, color=color, alpha=0.15, lw=0)


def log_scale(axis, data):
    """A logarithmic axis, with plain numbers where there is less than two decades."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    if np.max(data) < 100 * np.min(data):
        at = np.unique(data)
        few = 2 < len(at) <= 6 or axis.axis_name == "x"
        axis.set_major_locator(FixedLocator(at) if few else LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def save(figure, name):
    IMAGES.mkdir(exist_ok=True)
    path = IMAGES / f"benchmarks_{name}.svg"
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
    # matplotlib leaves blanks at the ends of lines
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(map(str.rstrip, lines)) + "\n", encoding="utf-8")
    print(path)


def legend_below(figure, axes):
    """One legend for all panels."""
    entries = {}
    for ax in np.ravel(axes):
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(
        entries.values(),
        entries.keys(),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=max(1, min(6, len(entries))),
    )


def panels(n_panels, n_columns=3, height=2.4):
    """A grid of axes, the unused ones hidden."""
    n_columns = max(1, min(n_columns, n_panels))
    n_rows = max(1, -(-n_panels // n_columns))
    figure, axes = plt.subplots(
        n_rows,
        n_columns,
        figsize=(2.8 * n_columns, height * n_rows),
        squeeze=False,
        layout="constrained",
    )
    for ax in axes.ravel()[n_panels:]:
        ax.set_visible(False)
    return figure, axes.ravel()[:n_panels]


def write_table(name, source, columns, rows):
    """A table as reStructuredText, under a line that tells where it comes from.

    Parameters
    ----------
    name : str
        The file is ``docs/tables/<name>.inc``.
    source : str
        Name of the results.
    columns : dict of str to str
        Heading of each column, and the format of its numbers.
    rows : list of list
        The cells.
    """
    about = read_circumstances(source)
    lines = [
        f"*Commit {about.get('commit', '?')} of {about.get('date', '?')}, "
        f"{about.get('processor', '?')}, Python {about.get('python', '?')}, "
        f"numpy {about.get('numpy', '?')}"
        + (f": {about['note']}" if "note" in about else "")
        + ".*",
        "",
        ".. csv-table::",
        "   :header: " + ", ".join(f'"{heading}"' for heading in columns),
        "",
    ]
    for row in rows:
        cells = [
            format(cell, form) if isinstance(cell, (int, float)) else str(cell)
            for cell, form in zip(row, columns.values(), strict=True)
        ]
        lines.append("   " + ", ".join(f'"{cell or NOTHING}"' for cell in cells))
    put_table(name, lines)


def put_table(name, lines):
    TABLES.mkdir(exist_ok=True)
    (TABLES / f"{name}.inc").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(TABLES / f"{name}.inc")


# -------------------------------------------------------------------------- studies


def draw_paper():
    """The paper's study: rates by threshold, distances, times."""
    rows = read_results("paper")
    reference = read_results("paper_reference")
    setting = ("type", "n", "N", "parents")
    theirs = groups(reference, *setting)
    settings = groups(rows, *setting)

    def title(key):
        kind, n, N, parents = key
        return f"{kind}, n = {n:.0f}, N = {N:.0f}, {parents:g} parents"

    figure, axes = panels(len(settings))
    for ax, (key, group) in zip(axes, settings.items(), strict=True):
        for (method,), found in groups(group, "method").items():
            color, marker = STYLES[method]
            x, y = values(found, "FPRp_median"), values(found, "TPR_median")
            ax.plot(x, y, color=color, marker=marker, ms=3, label=method)
            old = [row for row in theirs.get(key, ()) if row["method"] == method]
            if old:
                x, y = values(old, "FPRp_median"), values(old, "TPR_median")
                ax.plot(
                    x,
                    y,
                    color=color,
                    marker=marker,
                    ms=3,
                    mfc="none",
                    ls=":",
                    label=f"{method}, paper",
                )
        ax.set(title=title(key), xlim=(-0.02, 1.0), xlabel="FPRp", ylabel="TPR")
        ax.title.set_fontsize(8)
    legend_below(figure, axes)
    save(figure, "paper_rates")

    # the samplers at the paper's headline threshold, the others at their best one
    table, times = [], []
    for key, group in settings.items():
        for (method,), found in groups(group, "method").items():
            ours = headline(found)
            old = headline(
                [row for row in theirs.get(key, ()) if row["method"] == method]
            )
            table.append(
                [
                    *key,
                    method,
                    ours["value"] if method != "MAP" else "",
                    ours["SHDn_median"],
                    ours["SHDn_mean"],
                    old.get("SHDn_median", ""),
                    old.get("SHDn_mean", ""),
                    ours.get("above_median", ""),
                    ours.get("above_mean", ""),
                    ours["seconds_median"],
                    old.get("seconds_median", ""),
                    ours["reps"],
                ]
            )
            times.append((key, method, ours["seconds_median"]))
    write_table(
        "paper",
        "paper",
        {
            "graph": "",
            "n": ".0f",
            "N": ".0f",
            "parents": "g",
            "method": "",
            "threshold": "g",
            "SHD/n, median": ".3f",
            "mean": ".3f",
            "paper's, median": ".3f",
            "paper's, mean": ".3f",
            "above, median": "+.1f",
            "mean ": "+.1f",
            "seconds": ".3g",
            "paper's seconds": ".3g",
            "graphs": ".0f",
        },
        table,
    )

    figure, (ax,) = panels(1, height=0.22 * len(settings) + 1.2)
    figure.set_figwidth(7)
    labels = list(dict.fromkeys(title(tuple(row[:4])) for row in table))
    for row in table:
        place = -labels.index(title(tuple(row[:4])))
        color, marker = STYLES[row[4]]
        ax.plot(row[6], place, marker, color=color, label=row[4])
        if row[8] != "":
            ax.plot(
                row[8], place, marker, color=color, mfc="none", label=f"{row[4]}, paper"
            )
    ax.set(yticks=-np.arange(len(labels)), yticklabels=labels, xlabel="SHD / n")
    legend_below(figure, ax)
    save(figure, "paper_distances")

    figure, (ax,) = panels(1, height=3)
    figure.set_figwidth(6)
    for method in dict.fromkeys(method for _, method, _ in times):
        points = [{"n": key[1], "seconds": t} for key, m, t in times if m == method]
        curve(ax, points, "n", "seconds", method)
    ax.set(yscale="log", xlabel="n", ylabel="seconds, median")
    log_scale(ax.xaxis, [key[1] for key, _, _ in times])
    legend_below(figure, ax)
    save(figure, "paper_times")


def draw_paper_times():
    """Seconds by stage: a table."""
    columns = {
        "graph": ("type", ""),
        "n": ("n", ".0f"),
        "N": ("N", ".0f"),
        "parents": ("parents", ".0f"),
        "PC": ("PC", ".3f"),
        "search": ("search", ".2f"),
        "tables": ("tables", ".3f"),
        "chain": ("chain", ".2f"),
        "total, s": ("total", ".2f"),
        "paper's PC": ("paper_PC", ".2f"),
        "paper's total, s": ("paper_total", ".0f"),
        "times as fast": ("speedup", ".0f"),
    }
    write_table(
        "paper_times",
        "paper_times",
        {heading: form for heading, (_, form) in columns.items()},
        [
            [row.get(name, "") for name, _ in columns.values()]
            for row in read_results("paper_times")
        ],
    )


def draw_paper_paired():
    """The paper's own data, pair by pair: a table of differences, one of scores."""
    rows = read_results("paper_paired")
    names = {"defaults": "defaults", "paper's": "paper's prior", "letter": "its scheme"}
    keys = ("type", "n", "N", "parents", "method", "sets")
    table = {}
    for row in summarize_pairs(with_differences(rows)):
        line = table.setdefault(tuple(row[key] for key in keys), {})
        line["distance"] = row["paper's"]
        line[row["settings"]] = (
            f"{row['difference']:+.3f} ± {row['error']:.3f} "
            f"({row['wins']}/{row['ties']}/{row['losses']})"
        ).replace(" ± nan", "")
    write_table(
        "paper_paired",
        "paper_paired",
        dict.fromkeys(("graph", *keys[1:]), "")
        | {"paper's SHD/n": ".3f"}
        | dict.fromkeys(names.values(), ""),
        [
            [*key, line["distance"], *(line.get(name, "") for name in names)]
            for key, line in table.items()
        ],
    )
    write_table(
        "paper_paired_scores",
        "paper_paired",
        {
            "graph": "",
            "n": "",
            "sets": "",
            "higher": "",
            "lower": "",
            "nats": "+.2f",
            "SHD/n": "+.4f",
        },
        [list(line.values()) for line in compare_scores(rows)],
    )


def headline(rows):
    """The row at threshold 0.6, or where there is none, at the best threshold."""
    at = {row["value"]: row for row in rows}
    if 0.6 in at:
        return at[0.6]
    return min(rows, key=lambda row: row["SHDn_median"], default={})


def draw_convergence():
    """Agreement of runs, by steps in units of n² ln n."""
    rows = read_results("convergence")
    sizes = groups(rows, "n")
    figure, axes = panels(2 * len(sizes), len(sizes))
    for k, ((n,), group) in enumerate(sizes.items()):
        for (method,), found in groups(group, "method").items():
            upper, lower = axes[k], axes[len(sizes) + k]
            curve(upper, found, "scaled_steps", "R2", method)
            curve(lower, found, "scaled_steps", "RMSD", method)
        upper.set(title=f"n = {n:.0f}", xscale="log", ylim=(0, 1.02), ylabel="R²")
        lower.set(xscale="log", yscale="log", xlabel="steps / (n² ln n)", ylabel="RMSD")
    legend_below(figure, axes)
    save(figure, "convergence")
    table = [
        [*key, median(group, "R2"), median(group, "RMSD"), median(group, "seconds")]
        for key, group in groups(rows, "n", "method", "scaled_steps").items()
        if key[2] in (1, 10, max(row["scaled_steps"] for row in rows))
    ]
    write_table(
        "convergence",
        "convergence",
        {
            "n": ".0f",
            "method": "",
            "steps / (n² ln n)": "g",
            "R²": ".4f",
            "RMSD": ".4f",
            "seconds": ".2f",
        },
        table,
    )


def draw_discrete():
    """Benchmark networks: a table of all methods, and ROC curves."""
    rows = read_results("discrete")
    table = []
    for key, group in groups(rows, "network", "n", "N", "method").items():
        if not len(values(group, "seconds")) and group[0]["status"] != "time limit":
            continue  # not installed
        table.append(
            [
                *key,
                *(median(group, name) for name in ("gain", "SHD", "AP", "seconds")),
            ]
        )
        if table[-1][-1] == "":
            table[-1][-1] = "time limit"
    write_table(
        "discrete",
        "discrete",
        {
            "network": "",
            "n": ".0f",
            "N": ".0f",
            "method": "",
            "gain": ".1f",
            "SHD": ".0f",
            "AP": ".3f",
            "seconds": ".3g",
        },
        table,
    )
    points = read_results("discrete_roc")
    settings = groups(points, "network", "N")
    figure, axes = panels(len(settings), 4)
    for ax, ((network, N), group) in zip(axes, settings.items(), strict=True):
        for (method,), found in groups(group, "method").items():
            by_threshold = groups(found, "threshold").values()
            x, y = (
                [np.median(values(g, name)) for g in by_threshold]
                for name in ("FPRp", "TPR")
            )
            color, marker = STYLES[method]
            ax.plot(x, y, color=color, marker=marker, ms=3, label=method)
        for (method,), found in groups(rows, "method").items():
            here = [r for r in found if (r["network"], r["N"]) == (network, N)]
            if method not in ("order", "partition") and len(values(here, "TPR")):
                color, marker = STYLES[method]
                ax.plot(
                    median(here, "FPRp"),
                    median(here, "TPR"),
                    marker,
                    color=color,
                    label=method,
                )
        ax.set(
            title=f"{network}, N = {N:.0f}",
            xlim=(-0.02, 1),
            ylim=(0, 1.02),
            xlabel="FPRp",
            ylabel="TPR",
        )
    legend_below(figure, axes)
    save(figure, "discrete")


def draw_scaling():
    """Time and memory as things grow."""
    rows = read_results("scaling")
    by_growth = groups(rows, "grows")
    figure, axes = panels(2 * len(by_growth), 2)
    figure.set_figwidth(7)
    for ((grows,), group), (left, right) in zip(
        by_growth.items(), axes.reshape(-1, 2), strict=True
    ):
        for k, ((what,), found) in enumerate(groups(group, "what").items()):
            style = COLORS[k % 7], MARKERS[k % 7]
            again = {"ls": "--", "mfc": "none"} if k >= 7 else {}
            curve(left, found, "size", "seconds", what, style, **again)
            curve(right, found, "size", "peak_mb", what, style, **again)
        left.set(ylabel="seconds")
        right.set(ylabel="peak memory, MB")
        for ax, y in ((left, "seconds"), (right, "peak_mb")):
            ax.set(xlabel=grows)
            log_scale(ax.xaxis, values(group, "size"))
            largest, least = values(group, y).max(), values(group, y).min()
            if largest > 10 * least:
                log_scale(ax.yaxis, [least, largest])
            else:
                ax.set_ylim(0, 1.1 * largest)
        right.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, "scaling")
    table = []
    for (what, grows), group in groups(rows, "what", "grows").items():
        done = [row for row in group if row["status"] == "ok"]
        last = done[-1] if done else group[0]
        table.append(
            [
                what,
                grows,
                last["size"],
                last["seconds"],
                last["peak_mb"],
                median(group, "exponent"),
                group[-1].get("expected", ""),
            ]
        )
    write_table(
        "scaling",
        "scaling",
        {
            "what": "",
            "grows": "",
            "largest": ",.0f",
            "seconds": ".3g",
            "peak MB": ".0f",
            "exponent": ".2f",
            "expected": "",
        },
        table,
    )


def draw_versus_error():
    """Error against the exact posterior, by time."""
    rows = read_results("versus_error")
    sizes = groups(rows, "n")
    figure, axes = panels(len(sizes))
    for ax, ((n,), group) in zip(axes, sizes.items(), strict=True):
        for (method,), found in groups(group, "method").items():
            curve(ax, found, "seconds", "rmse", method)
            curve(
                ax,
                found,
                "seconds",
                "error_order",
                "order, own target",
                STYLES["order"],
                ls=":",
                mfc="none",
            )
        ax.axhline(
            group[0]["bias"], color="gray", lw=1, ls="--", label="bias of orders"
        )
        ax.set(
            title=f"n = {n:.0f}",
            xscale="log",
            yscale="log",
            xlabel="seconds",
            ylabel="RMSE of edge probabilities",
        )
    legend_below(figure, axes)
    save(figure, "versus")
    table = [
        [*key, *(median(group, name) for name in ("rmse", "error_order", "draws"))]
        for key, group in groups(rows, "n", "seconds", "method").items()
        if len(values(group, "rmse"))
    ]
    write_table(
        "versus_error",
        "versus_error",
        {
            "n": ".0f",
            "seconds": "g",
            "method": "",
            "RMSE": ".5f",
            "RMSE to own target": ".5f",
            "draws": ".0f",
        },
        table,
    )


def draw_versus_mixing():
    """Effective draws per second: a table."""
    rows = [row for row in read_results("versus_mixing") if row["status"] == "ok"]
    names = ("n", "method", "setup", "ess_score", "ess_edges", "score")
    write_table(
        "versus_mixing",
        "versus_mixing",
        {
            "n": ".0f",
            "method": "",
            "set-up, s": ".2f",
            "effective draws/s, score": ".1f",
            "edges": ".1f",
            "mean log score": ".1f",
        },
        [[row[name] for name in names] for row in rows],
    )


def draw_limits():
    """Physical limits: a table."""
    rows = [row for row in read_results("limits") if row["loop"]]
    gauges = {row["loop"]: row["reached_ns"] for row in rows if row["share"] == ""}
    names = ("loop", "unit", "bytes", "flops", "limit_ns", "reached_ns", "share")
    write_table(
        "limits",
        "limits",
        {
            "loop": "",
            "per": "",
            "bytes": ".3g",
            "flops": ".3g",
            "limit, ns": ".3g",
            "reached, ns": ".3g",
            "share": ".0%",
        },
        [[row[name] for name in names] for row in rows if row["share"] != ""],
    )
    put_table(
        "rates",
        [
            f"One core reaches {1 / gauges['vector']:.0f} Gflop/s in a product of "
            f"matrices, {1 / gauges['cache']:.0f} GB/s in copies within the cache and "
            f"{1 / gauges['memory']:.0f} GB/s in memory; a random number takes "
            f"{gauges['serial']:.1f} ns.",
        ],
    )


# Results that each study reads, its function, its tables and its figures
def draw_dynamic():
    """Dynamic networks: average precision of lagged edges, and times."""
    rows = read_results("dynamic")
    methods = list(dict.fromkeys(row["method"] for row in rows))
    # what takes more than a second or so, and any number of series
    slow = ["skbidag", "lasso", "pcmci", "pcmci+"]
    table = []
    for (kind, d, n_rows, n_series), group in groups(
        rows, "kind", "d", "T", "N"
    ).items():

        def mean(what, method, group=group):
            of_method = [row for row in group if row["method"] == method]
            done = [row[what] for row in of_method if row["status"] == "ok"]
            return float(np.mean(done)) if done and len(done) == len(of_method) else ""

        table.append(
            [
                *(kind, d, n_rows, n_series),
                *(mean("average_precision", method) for method in methods),
                *(mean("seconds", method) for method in slow),
            ]
        )
    columns = {"data": "", "d": ".0f", "T": ".0f", "N": ".0f"}
    columns |= dict.fromkeys(methods, ".3f")
    columns |= {f"{method}, s": ".1f" for method in slow}
    write_table("dynamic", "dynamic", columns, table)


def draw_exactness():
    """Errors over their Monte Carlo errors beside the standard normal, by walk."""
    bins = read_results("exactness_bins")
    figure, axes = panels(3)
    for ax, ((walk,), group) in zip(axes, groups(bins, "walk").items(), strict=True):
        left, counts = values(group, "from"), values(group, "edges")
        width = left[1] - left[0]
        ax.bar(
            left + width / 2,
            counts / counts.sum() / width,
            width,
            color=COLORS[0],
            alpha=0.4,
        )
        z = np.linspace(left[0], left[-1] + width, 200)
        ax.plot(z, np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi), color="black", lw=1)
        ax.set(title=f"{walk}, {counts.sum():.0f} edges", xlabel="z")
    axes[0].set_ylabel("density")
    save(figure, "exactness")
    write_table(
        "exactness",
        "exactness",
        {
            "by": "",
            "": "",
            "runs": ".0f",
            "edges": ".0f",
            "mean": "+.3f",
            "deviation": ".3f",
            "beyond 1.96": ".3f",
            "largest": ".2f",
            "p": ".2f",
        },
        [list(row.values()) for row in read_results("exactness")],
    )


def draw_bootstrap():
    """Posterior probabilities and bootstrap shares: reliability, and scores."""
    curves = [
        row
        for row in read_results("bootstrap_reliability")
        if row["edges"] == "directed" and row["n"] == 10
    ]
    methods = list(dict.fromkeys(row["method"] for row in curves))
    settings = groups(curves, "parents", "N")
    figure, axes = panels(len(settings), n_columns=2, height=2.6)
    for ax, ((parents, n_rows), here) in zip(axes, settings.items(), strict=True):
        ax.plot([0, 1], [0, 1], color="0.7", lw=1)
        for method, color, marker in zip(methods, COLORS, MARKERS, strict=False):
            # a share of fewer says little
            bins = [r for r in here if r["method"] == method and r["places"] >= 20]
            ax.plot(
                values(bins, "probability"),
                values(bins, "share"),
                color=color,
                marker=marker,
                ms=4,
                label=method,
            )
        ax.set(
            title=f"{parents:.0f} parent{'s'[: int(parents > 1)]}, {n_rows:.0f} rows",
            xlabel="probability",
            ylabel="share that is there",
        )
    legend_below(figure, axes)
    save(figure, "bootstrap")

    def behind(row, what):
        if row["method"] == "posterior":
            return ""
        return f"{row[what]:+.4f} ± {row[f'{what} error']:.4f}"

    rows = [row for row in read_results("bootstrap") if row["edges"] == "directed"]
    write_table(
        "bootstrap",
        "bootstrap",
        {
            "n": ".0f",
            "parents": ".0f",
            "N": ".0f",
            "probabilities": "",
            "graphs": ".0f",
            "Brier score": "",
            "behind": "",
            "log loss": "",
            "log loss behind": "",
            "seconds": ".1f",
        },
        [
            [
                *(row[what] for what in ("n", "parents", "N", "method", "graphs")),
                f"{row['Brier']:.4f}",
                behind(row, "Brier behind"),
                f"{row['log loss']:.3f}",
                behind(row, "log loss behind"),
                row["seconds"],
            ]
            for row in rows
        ],
    )


def draw_coverage():
    """Shares of effects in the middle of their posterior, and in intervals."""

    def with_z(row, what, z):
        return f"{row[what]:.3f} ({row[z]:+.1f})"

    table = [
        [
            *(row[what] for what in ("kind", "data", "which", "networks", "effects")),
            with_z(row, "inside 50", "z 50"),
            with_z(row, "inside 90", "z 90"),
            with_z(row, "interval", "z interval"),
            row["holds"],
            row["p"],
        ]
        for row in read_results("coverage")
    ]
    columns = {"variables": "", "data": "", "of": "", "networks": ".0f"}
    columns |= {"effects": ".0f", "in 50 % (z)": "", "in 90 % (z)": ""}
    columns |= {"in interval (z)": "", "draws in it": ".3f", "p": ".2f"}
    write_table("coverage", "coverage", columns, table)


def draw_peers():
    """Searches by one score: what they lose, distances, times."""
    rows = read_results("peers")
    names = {"erdos_renyi": "independent edges", "barabasi_albert": "scale-free"}
    table = []
    for key, group in groups(rows, "graph", "degree", "n", "method").items():
        done = [row for row in group if row["status"] == "ok"]
        cells = [values(done, what) for what in ("loss", "SHD", "edges", "seconds")]
        means = [float(cell.mean()) if len(cell) else "" for cell in cells]
        status = "" if done else group[0]["status"]
        table.append([names[key[0]], *key[1:], len(done), *means, status])
    write_table(
        "peers",
        "peers",
        {
            "graphs": "",
            "degree": "g",
            "n": ".0f",
            "search": "",
            "sets": ".0f",
            "nats below the best": ".1f",
            "SHD": ".1f",
            "edges": ".0f",
            "seconds": ".2f",
            " ": "",
        },
        table,
    )


def draw_dibs():
    """DiBS beside our samplers: accuracy against time, and at the end of the runs."""
    rows = [row for row in read_results("dibs") if not row.get("status")]
    sizes = list(dict.fromkeys(row["n"] for row in rows))
    names = {"E-SHD-cpdag": "E-SHD of CPDAGs", "AP": "average precision"}
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, axes = panels(len(names) * len(sizes), len(sizes))
    places = [(what, n) for what in names for n in sizes]
    for ax, (what, n) in zip(axes, places, strict=True):
        mine = [row for row in rows if row["n"] == n]
        for (method, _), found in groups(mine, "method", "of").items():
            color, marker = next(
                (COLORS[k], MARKERS[k]) for k, m in enumerate(methods) if m == method
            )
            points = groups(found, "steps").values()
            x, y = (
                [median(rows, name) for rows in points] for name in ("seconds", what)
            )
            ax.plot(x, y, color=color, marker=marker, ms=4, label=method)
        ax.set(title=f"n = {n:.0f}", xscale="log", xlabel="seconds", ylabel=names[what])
    legend_below(figure, axes)
    save(figure, "dibs")

    ends = [row for row in rows if row["steps"] == row["of"]]
    columns = ("E-SHD-cpdag", "E-SHD-dag", "AUROC", "AP", "acyclic", "seconds")
    table = [
        [*key, len(group), *(float(values(group, name).mean()) for name in columns)]
        for key, group in groups(ends, "n", "method", "of").items()
    ]
    formats = (".1f", ".1f", ".3f", ".3f", ".2f", ".3g")
    write_table(
        "dibs",
        "dibs",
        {"n": ".0f", "sampler": "", "steps": ".0f", "sets": ".0f"}
        | dict(zip(columns, formats, strict=True)),
        sorted(table, key=lambda row: row[0]),
    )


def draw_real():
    """Held-out density of each model less that of the posterior."""
    rows = read_results("real")
    models = dict.fromkeys(row["model"] for row in rows if row["model"] != "posterior")
    table = []
    for (how, name), group in sorted(groups(rows, "how", "table").items()):
        by_model = {row["model"]: row for row in group}
        cells = [by_model["posterior"]["density"]]
        for model in models:
            row = by_model.get(model)
            cells.append(
                f"{row['difference']:+.2f} ± {row['error']:.2f}" if row else ""
            )
        table.append([name, "all" if how == "all" else "few", *cells])
    columns = {"table": "", "training rows": "", "posterior": ".2f"}
    write_table("real", "real", columns | dict.fromkeys(models, ""), table)


def draw_load():
    """How many trials of each kind ended well."""
    rows = read_results("load")
    table = []
    for (what, case), group in groups(rows, "what", "case").items():
        cells = [
            max(values(group, name), default="")
            for name in ("drift", "grown", "seconds")
        ]
        good = sum(row["outcome"] == "ok" for row in group)
        table.append([what, case, len(group), f"{good}", *cells])
    columns = {"what": "", "case": "", "trials": ".0f", "ended well": ""}
    columns |= {"drift": ".1e", "MB grown": ".1f", "seconds": ".0f"}
    write_table("load", "load", columns, table)


def draw_missing():
    """Precision of adjacencies with missing cells; graphs have their own table."""
    others = ["iterative", "drop", "mean"]
    first, second = [], []
    for where, group in groups(
        read_results("missing"), "n", "rows", "holes", "networks"
    ).items():
        of = {row["method"]: row for row in group}
        setting = [*where[:2], f"{where[2]:.0%}", where[3]]
        methods = ["complete", "augment", *others]
        first.append(
            setting
            + [of[method]["adjacencies"] for method in methods]
            + [with_error(of["iterative"], "adjacencies", "ahead", 3)]
            + [with_error(of["iterative"], "adjacencies", "below", 3)]
            + [of["complete"]["seconds"], of["augment"]["seconds"]]
        )
        second.append(setting[:3])
        for key, digits in {"edges": 3, "distance": 1}.items():
            second[-1] += [
                f"{of[method][key]:.{digits}f}" for method in methods[:-1]
            ] + [with_error(of["iterative"], key, "ahead", digits)]
    columns = {"n": ".0f", "N": ".0f", "holes": "", "networks": ".0f"}
    kinds = {"complete": ".3f", "drawn": ".3f", "iterative": ".3f"}
    kinds |= {"dropped": ".3f", "mean": ".3f"}
    leads = {"drawn before iterative": "", "complete before iterative": ""}
    times = {"s, complete": ".1f", "s, drawn": ".1f"}
    write_table("missing", "missing", columns | kinds | leads | times, first)
    columns = {"n": ".0f", "N": ".0f", "holes": ""}
    for short in ("AP", "SHD"):
        names = ["complete", "drawn", "iterative", "dropped", "drawn before iterative"]
        columns |= {f"{short}, {name}": "" for name in names}
    write_table("missing_graphs", "missing", columns, second)


def draw_mixed():
    """Mixed data: codings side by side, and peers beside us on the graphs they did."""
    first, second = [], []
    codings = ["mixed", "nominal", "categories", "numbers"]
    peers = ["hc cg", "pc kci", "pc rcit", "ges cv"]
    for where, group in groups(read_results("mixed"), "kind", "n", "N").items():
        of = {
            method: {row["graph"]: row for row in rows if row["status"] == "ok"}
            for (method,), rows in groups(group, "method").items()
        }
        graphs = of["mixed"]
        first.append(
            [*where, len(graphs)]
            + [
                mean_over(of.get(method, {}), of.get(method, {}), key)
                for key in ("ap", "shd")
                for method in codings
            ]
            + [mean_over(graphs, graphs, "seconds")]
        )
        for peer in peers:
            done = of.get(peer)
            if done:
                second.append(
                    [*where, peer, len(done)]
                    + [
                        mean_over(found, done, key)
                        for key in ("ap", "shd", "seconds")
                        for found in (graphs, done)
                    ]
                )
    columns = {"network": "", "n": ".0f", "N": ".0f"}
    leads = {f"AP, {name}": ".2f" for name in codings}
    leads |= {f"SHD, {name}": ".1f" for name in codings}
    write_table(
        "mixed", "mixed", columns | {"graphs": ".0f"} | leads | {"s": ".1f"}, first
    )
    leads = {"AP, mixed": ".2f", "AP, peer": ".2f", "SHD, mixed": ".1f"}
    leads |= {"SHD, peer": ".1f", "s, mixed": ".1f", "s, peer": ".1f"}
    columns |= {"peer": "", "graphs": ".0f"}
    write_table("mixed_peers", "mixed", columns | leads, second)


def mean_over(found, graphs, key):
    """Mean of a result over some graphs; nothing where there are none."""
    return float(np.mean([found[graph][key] for graph in graphs])) if graphs else ""


def with_error(row, key, name, digits):
    """A mean difference, and its standard error."""
    gap, error = row[f"{key}_{name}"], row[f"{key}_{name}_error"]
    return f"{gap:+.{digits}f} ({error:.{digits}f})"


STUDIES = {
    "paper": (draw_paper, ["paper"], ["paper_rates", "paper_distances", "paper_times"]),
    "paper_times": (draw_paper_times, ["paper_times"], []),
    "paper_paired": (
        draw_paper_paired,
        ["paper_paired", "paper_paired_scores"],
        [],
    ),
    "convergence": (draw_convergence, ["convergence"], ["convergence"]),
    "discrete": (draw_discrete, ["discrete"], ["discrete"]),
    "scaling": (draw_scaling, ["scaling"], ["scaling"]),
    "versus_error": (draw_versus_error, ["versus_error"], ["versus"]),
    "versus_mixing": (draw_versus_mixing, ["versus_mixing"], []),
    "limits": (draw_limits, ["limits", "rates"], []),
    "dynamic": (draw_dynamic, ["dynamic"], []),
    "exactness": (draw_exactness, ["exactness"], ["exactness"]),
    "bootstrap": (draw_bootstrap, ["bootstrap"], ["bootstrap"]),
    "coverage": (draw_coverage, ["coverage"], []),
    "peers": (draw_peers, ["peers"], []),
    "dibs": (draw_dibs, ["dibs"], ["dibs"]),
    "real": (draw_real, ["real"], []),
    "load": (draw_load, ["load"], []),
    "missing": (draw_missing, ["missing", "missing_graphs"], []),
    "mixed": (draw_mixed, ["mixed", "mixed_peers"], []),
}


def put_placeholders(name, tables, images):
    """Something to include where there are no results yet."""
    for table in tables:
        put_table(table, [f"*No results yet:* ``benchmarks/results/{name}.csv``."])
    for image in images:
        figure, ax = plt.subplots(figsize=(4, 1))
        ax.text(0.5, 0.5, "no results yet", ha="center", va="center")
        ax.set_axis_off()
        save(figure, image)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=STUDIES,
        metavar="STUDY",
        default=list(STUDIES),
        help=", ".join(STUDIES),
    )
    for name in parser.parse_args().only:
        draw, tables, images = STUDIES[name]
        if Path(RESULTS / f"{name}.csv").exists():
            draw()
        else:
            put_placeholders(name, tables, images)


if __name__ == "__main__":
    main()
