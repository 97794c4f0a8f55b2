"""Options of the command line."""

import argparse

EXIT_CODES = """\
exit codes:
  0    done: the results are in the folder
  1    something unexpected went wrong, or memory does not suffice
  2    an option, a file or the data cannot be used; the message names what
  130  interrupted (Ctrl-C); nothing was written
"""

LEARN_NOTES = """\
Tables of text need a line of column names. Missing cells are drawn together with the
network (--missing). Columns that are constant or look like identifiers are left out;
what was done is said on stderr and in the report. Without FILE the asia data are
used, 500 patients of a fictitious chest clinic.

files in the folder:
  report.html    graph, edge probabilities, traces and settings, in one page
  edges.csv      probability, its error, R-hat and effect of every edge that was seen,
                 and which posterior the probabilities are of
  map.csv        the best DAG: 1 in row i, column j is the edge i -> j
  samples.npz    the sampled DAGs (packed bits), their log scores, the names
  graph.graphml  the best DAG with what is known of edges; also as graph.dot
  summary.json   the result in brief and every setting to repeat it
  initial_edges.csv, initial_map.csv
                 of several series, the same for the network of their first rows

"""


class _Version(argparse.Action):
    """Look the version up when it is asked for."""

    def __call__(self, parser, namespace, values, option_string=None):
        from skbidag import __version__

        print(f"skbidag {__version__}")
        parser.exit(0)


def make_parser():
    """Make the parser of the command ``skbidag``.

    Returns
    -------
    parser : argparse.ArgumentParser
        Its result has ``command``, and for ``learn`` one attribute per option. What
        the estimator decides is left out unless it was given.
    """
    parser = argparse.ArgumentParser(
        prog="skbidag",
        description="Learn Bayesian networks from data, and how sure one can be.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, title="commands"
    )
    learn = commands.add_parser(
        "learn",
        help="sample DAGs for a data file and write a folder with a report",
        description="Sample DAGs for a data file and write a folder with a report.",
        epilog=LEARN_NOTES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_data(learn)
    _add_output(learn)
    _add_model(learn)
    _add_chains(learn)
    return parser


def _add_data(parser):
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="CSV or TSV (also .gz), Excel (.xlsx) or Parquet; - reads stdin; default: "
        "the asia data",
    )
    group = parser.add_argument_group("data")
    _add_columns(group)
    _add_format(group)
    group.add_argument(
        "--constraints",
        metavar="FILE",
        help="CSV with lines: from,to,forbidden or from,to,required",
    )
    group.add_argument(
        "--tiers",
        metavar="FILE",
        help="CSV with lines: variable,tier; no edge leads from a tier to a lower one",
    )
    group.add_argument(
        "--background",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a variable that is given and has no parents, such as age or treatment; "
        "may be given several times. Of series, one that does not change in time",
    )
    group.add_argument(
        "--interventions",
        metavar="COLUMN",
        help="what was set by the experimenter in each row: the name of a variable, "
        "several with ; between them, or nothing",
    )
    _add_series(parser.add_argument_group("series in time"))


def _add_series(group):
    group.add_argument(
        "--time",
        metavar="COLUMN",
        help="when a row was observed; without it, rows are in the order of time",
    )
    group.add_argument(
        "--series", metavar="COLUMN", help="which series a row is of; default: one"
    )
    group.add_argument(
        "--lags",
        type=int,
        metavar="N",
        help="learn how variables depend on those up to N steps before, which are "
        "called x[t-1] and so on, and on each other; default 1 with --time or --series",
    )


def _add_columns(group):
    group.add_argument(
        "--kind",
        choices=["auto", "continuous", "discrete", "mixed"],
        default="auto",
        help="what the columns hold; guessed by default. mixed: each column by itself, "
        "whole numbers with few values being discrete",
    )
    group.add_argument(
        "--categorical",
        type=lambda names: [name.strip() for name in names.split(",") if name.strip()],
        metavar="A,B,C",
        help="the discrete columns; all others are continuous",
    )
    group.add_argument(
        "--ordinal",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column whose values are classes with an order: numbers, or text with "
        "its levels as in 'dose=low<mid<high'; may be given several times",
    )
    group.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="COLUMN",
        help="leave a column out; may be given several times",
    )
    group.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="COLUMN",
        help="keep a column though it is constant or looks like an identifier",
    )


def _add_format(group):
    group.add_argument(
        "--na",
        action="append",
        default=[],
        metavar="TEXT",
        help="cells with this text are missing, beside empty ones, NA, N/A, NaN, null "
        "and, among numbers, ? . - none",
    )
    group.add_argument(
        "--missing",
        choices=["augment", "drop", "error"],
        default=argparse.SUPPRESS,
        help="draw missing cells together with the network, if they are missing at "
        "random (the default), leave out their rows, or refuse them",
    )
    group.add_argument(
        "--delimiter",
        metavar="CHAR",
        help="between columns ('\\t' or tab is a tab); default: from the first line",
    )
    group.add_argument(
        "--decimal", choices=[".", ","], help="decimal mark; default: from the numbers"
    )
    group.add_argument(
        "--sheet", metavar="NAME", help="of an Excel file; default: the first"
    )
    group.add_argument("--encoding", default="utf-8", help="of text; default utf-8")
    group.add_argument(
        "--no-header",
        action="store_true",
        help="the first line holds data; columns are called x1, x2, ...",
    )


def _add_output(parser):
    group = parser.add_argument_group("output")
    group.add_argument(
        "--out",
        metavar="DIR",
        help="folder for the results, which must not exist yet; default: "
        "skbidag-NAME here, with a number if that exists",
    )
    group.add_argument(
        "--force", action="store_true", help="replace DIR if it holds earlier results"
    )
    group.add_argument(
        "--export",
        action="append",
        default=[],
        choices=["bif", "dagitty", "modelstring"],
        help="also write the best DAG for other programs; may be given several times. "
        "bif: with probabilities, of discrete data; modelstring: that of bnlearn",
    )
    group.add_argument(
        "--json", action="store_true", help="print summary.json instead of a table"
    )
    group.add_argument(
        "--quiet", action="store_true", help="print errors only, and no progress"
    )
    group.add_argument(
        "--progress",
        action="store_true",
        help="progress in lines where stderr is no terminal",
    )


def _add_model(parser):
    group = parser.add_argument_group("model")
    group.add_argument(
        "--method",
        choices=["order", "partition", "iterative"],
        default="partition",
        help="partition: every DAG counts once; order: somewhat faster, but a DAG "
        "counts once for each order it fits, which favors sparse DAGs and some "
        "directions; iterative: the best DAG above all, then order; default partition",
    )
    option = _parameters(group)
    option("--score", choices=["auto", "bge", "bde", "bic"], help="default by kind")
    option(
        "--alpha-mu", type=float, help="numbers: observations the prior mean is worth"
    )
    option("--alpha-w", type=float, help="bge: degrees of freedom of the prior")
    option(
        "--equivalent-sample-size", type=float, help="categories: weight of the prior"
    )
    option("--edge-penalty", type=float, help="each edge divides the score by this")
    option(
        "--search-space",
        choices=["iterative", "pc", "ges", "glasso", "exact", "full"],
        help="which parents are considered, see the user guide",
    )
    option("--alpha", type=float, help="significance level of PC's tests")
    option("--max-parents", type=int, help="the most candidate parents of a variable")
    group.add_argument(
        "--no-extra-parent",
        dest="extra_parent",
        action="store_false",
        default=argparse.SUPPRESS,
        help="no parents from outside the search space",
    )


def _add_chains(parser):
    group = parser.add_argument_group("chains")
    option = _parameters(group)
    option("--n-iter", type=int, help="steps per chain; until they agree by default")
    option("--max-iter", type=int, help="most steps per chain until they agree")
    option("--n-draws", type=int, help="DAGs kept per chain, default 500")
    option("--burn-in", type=float, help="share of the steps dropped, default 0.2")
    option("--n-chains", type=int, help="number of chains, default 4")
    option("--n-jobs", type=int, help="chains at the same time; -1: as processors")
    option(
        "--max-time", type=float, help="seconds after which to end with the draws made"
    )
    option("--memory-limit", type=float, help="bytes the score tables may take")
    group.add_argument(
        "--seed", type=int, default=0, help="of the random numbers, default 0"
    )


def _parameters(group):
    """Add options that are absent from the result unless given."""

    def add(name, **settings):
        if "choices" not in settings:
            settings["metavar"] = "N" if settings["type"] is int else "X"
        group.add_argument(name, default=argparse.SUPPRESS, **settings)

    return add
