"""What the command does, step by step."""

import os
import sys

from skbidag._cli._arguments import make_parser
from skbidag._cli._errors import InputError


def main(argv=None):
    """Run the command ``skbidag``.

    Parameters
    ----------
    argv : list of str, default=None
        The arguments, by default those of the process.

    Returns
    -------
    code : int
        The exit code: 0, 1 if memory does not suffice, 2 if an option or the data
        cannot be used, 130 if interrupted.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    arguments = make_parser().parse_args(argv)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # names may hold anything
    try:
        return learn(arguments, argv)
    except InputError as error:
        return fail(2, error)
    except MemoryError as error:
        return fail(1, error)
    except KeyboardInterrupt:
        return fail(130, "interrupted; nothing was written.")
    except BrokenPipeError:
        # whoever read stdout has seen enough; the folder is written by then
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def fail(code, message):
    """Print a message and return the exit code."""
    print(f"skbidag: error: {message}", file=sys.stderr)
    return code


def learn(arguments, argv):
    """Read, fit, write, and say what was found."""
    # here, so that --help needs none of it
    from skbidag._cli._export import check_formats
    from skbidag._cli._fit import fit, kind_for, make_estimator, missing_for
    from skbidag._cli._interventions import labels_of, take_interventions
    from skbidag._cli._ordinal import read_orders
    from skbidag._cli._prepare import prepare
    from skbidag._cli._read import read_table
    from skbidag._cli._series import take_series
    from skbidag._cli._summary import edge_table, print_summary, summarize
    from skbidag._cli._write import choose_folder, write_folder

    def say(label, messages):
        for message in () if arguments.quiet else messages:
            print(f"skbidag: {label}{message}", file=sys.stderr)

    os.environ.setdefault("MPLBACKEND", "agg")  # pictures without windows
    folder = choose_folder(arguments)
    kind = kind_for(arguments)
    table = read_table(
        arguments.file,
        delimiter=arguments.delimiter,
        decimal=arguments.decimal,
        encoding=arguments.encoding,
        header=not arguments.no_header,
        missing=arguments.na,
        sheet=arguments.sheet,
    )
    table, labels = take_interventions(table, arguments)
    table, series = take_series(table, arguments)
    variables = prepare(
        table,
        kind=kind,
        categorical=arguments.categorical,
        orders=read_orders(table, arguments.ordinal, series),
        drop=arguments.drop,
        keep=arguments.keep,
        # of series, rows are left out with what follows them
        missing="drop" if series is not None else missing_for(arguments),
    )
    check_formats(arguments, variables, series)
    given = labels_of(variables, labels)
    estimator = make_estimator(arguments, variables, series)
    size = f"{variables.n_rows} rows, {len(variables.names)} variables"
    say("", [f"{table.source}: {size}, {variables.kind}.", *variables.notes])
    progress = progress_for(arguments)
    result = fit(estimator, variables, series, given, progress=progress)
    say("warning: ", result.warnings)
    summary = summarize(argv, table, variables, result)
    edges = edge_table(result.estimator)
    of_first = None if result.initial is None else edge_table(result.initial)
    folder = write_folder(folder, arguments, summary, edges, of_first, result)
    if arguments.json or not arguments.quiet:
        print_summary(summary, folder, edges, as_json=arguments.json)
        sys.stdout.flush()
    return 0


def progress_for(arguments):
    """What tells of the progress: a bar on a terminal, lines if they were asked for."""
    from skbidag._cli._progress import LineProgress, TerminalProgress

    if arguments.quiet:
        return None
    if sys.stderr.isatty():
        return TerminalProgress(sys.stderr)
    return LineProgress(sys.stderr) if arguments.progress else None
