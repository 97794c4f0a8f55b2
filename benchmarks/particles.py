"""Posteriors over DAGs by gradients, DiBS, beside chains over DAGs and orders.

    python benchmarks/particles.py           # a quarter of an hour on one core
    python benchmarks/particles.py --full    # ten minutes more
    python benchmarks/particles.py --quick   # a minute, to see that it works

Linear Gaussian networks by the generator of dibs-lib, with its defaults: Erdős–Rényi
graphs with two expected parents, N = 100, normal weights that are moved away from 0 by
a half, noise of one variance throughout, nothing standardized. DiBS comes in the two
kinds of its paper (Lorch et al., NeurIPS 2021), with the settings that its authors'
repository has for their study: `marginal` with BGe, and `joint` of graph and weights,
which is told the variance of the noise. That all noise has one variance gives
directions away, which BGe, and so our samplers, cannot know. `+` weights particles by
their posterior probabilities instead of equally.

That study has 3000 steps of 30 particles, with 128 and 32 draws for the gradients of
likelihood and acyclicity. Here it is 10 particles with 16 and 8 draws, whose steps are
some thirty times as fast. Of the 3000 steps as many are taken as fit into --limit
seconds, found by a few of them on another graph; the slopes of the schedules, which
grow with the step, are multiplied by as much as there are fewer, so that they end where
they would. Particles are read out four times along the run. --full also takes what the
study has, on the first graph with 20 variables.

`seconds` are of the processor, for DiBS without its compiler's (`set-up`), for ours all
from the data on. `E-SHD` is the expected distance from the true graph, of CPDAGs and of
DAGs; `AUROC` and `AP` are of the marginal probabilities of directed edges. Particles
with cycles (`acyclic` is the share of the others) are dropped, as the package does.

DiBS is left out where it is not installed: ``pip install dibs-lib``.
"""

import argparse
import os
import time

import numpy as np
from common import Table, earlier_results, in_process, write_results

from skbidag import OrderMCMCStructure, PartitionMCMCStructure
from skbidag.graphs import is_dag
from skbidag.metrics import compare_each, edge_average_precision, edge_roc

OURS = {"over DAGs": PartitionMCMCStructure, "over orders": OrderMCMCStructure}
STEPS = 3000
# Particles, and draws for the gradients of likelihood and acyclicity
QUICK, FULL = (10, 16, 8), (30, 128, 32)
# Bandwidths of the kernel, and the slope of the schedule of alpha over 3000 steps
SETTINGS = {
    ("marginal", 20): ({"h": 2.0}, 2.0),
    ("marginal", 50): ({"h": 50.0}, 2.0),
    ("joint", 20): ({"h_latent": 5.0, "h_theta": 500.0}, 0.2),
    ("joint", 50): ({"h_latent": 15.0, "h_theta": 1000.0}, 0.02),
}
# How often particles are read out
READS = 4
# A graph of this seed, which is not reported on, tells how long a step takes
PILOT = 1000


def make_data(kind, n, seed):
    """Data of dibs-lib, its model of graphs and its model of the data."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    import jax
    from dibs.target import make_linear_gaussian_equivalent_model as with_bge
    from dibs.target import make_linear_gaussian_model as with_weights

    make = with_bge if kind == "marginal" else with_weights
    return make(key=jax.random.PRNGKey(seed), n_vars=n, graph_prior_str="er")


def data_only(n, seed):
    """Rows and the true graph; both kinds have the same ones."""
    data, _, _ = make_data("marginal", n, seed)
    return np.asarray(data.x, dtype=float), np.asarray(data.g, dtype=bool)


def run_dibs(kind, n, seed, steps, reads, effort=QUICK):
    """Particles of DiBS after equal parts of its steps, with the times they took.

    Returns
    -------
    states : list of tuple
        The step, the processor's seconds since the start, the compiler's included, the
        particles' graphs, and the logs of their posterior weights.
    """
    data, graph_model, model = make_data(kind, n, seed)
    import jax
    from dibs.inference import JointDiBS, MarginalDiBS

    kernel, alpha = SETTINGS[kind, n]
    n_particles, n_gradient, n_acyclicity = effort
    sampler = (MarginalDiBS if kind == "marginal" else JointDiBS)(
        x=data.x,
        graph_model=graph_model,
        likelihood_model=model,
        kernel_param=kernel,
        alpha_linear=alpha * STEPS / steps,
        beta_linear=STEPS / steps,
        n_grad_mc_samples=n_gradient,
        n_acyclicity_mc_samples=n_acyclicity,
    )
    states, reading = [], 0.0

    def read(dibs, t, zs, thetas=None):
        nonlocal reading
        jax.block_until_ready(zs)
        now = time.process_time()
        graphs = dibs.particle_to_g_lim(zs)
        mixture = dibs.get_mixture(graphs, *(() if thetas is None else (thetas,)))
        state = np.asarray(graphs, dtype=bool), np.asarray(mixture.logp, dtype=float)
        states.append((t, now - began - reading, *state))
        reading += time.process_time() - now

    began = time.process_time()
    sampler.sample(
        key=jax.random.PRNGKey(seed),
        n_particles=n_particles,
        steps=steps,
        callback=read,
        callback_every=steps // reads,
    )
    return states


def run_ours(method, X, seed):
    """Drawn DAGs, and the processor's seconds from the data on."""
    began = time.process_time()
    model = OURS[method](random_state=seed).fit(X)
    return np.array(list(model.dag_samples_)), time.process_time() - began


def judge(graphs, weights, true):
    """How near weighted DAGs are to the true one; without any, all pairs are wrong."""
    if len(graphs) == 0:
        n = len(true)
        wrong = dict.fromkeys(("E-SHD-cpdag", "E-SHD-dag"), n * (n - 1) / 2)
        return wrong | {"AUROC": 0.5, "AP": float(true.sum()) / (n * (n - 1))}
    weights = weights / weights.sum()
    probabilities = np.tensordot(weights, graphs, axes=1)
    fpr, tpr, _ = edge_roc(true, probabilities)
    return {
        **{
            f"E-SHD-{kind}": float(
                weights @ compare_each(true, graphs, kind=kind)["SHD"]
            )
            for kind in ("cpdag", "dag")
        },
        "AUROC": float(np.trapezoid(tpr, fpr)),
        "AP": edge_average_precision(true, probabilities),
        "edges": float(probabilities.sum()),
    }


def set_up_and_step(states):
    """Seconds of the compiler, and of a step."""
    (first, began, *_), *_, (last, ended, *_) = states
    step = (ended - began) / (last - first)
    return began - first * step, step


def rows_of_dibs(kind, states, true):
    """A row for each reading and weighting."""
    set_up, _ = set_up_and_step(states)
    for t, seconds, graphs, log_weights in states:
        acyclic = np.array([is_dag(graph) for graph in graphs])
        about = {"steps": t, "seconds": seconds - set_up, "set-up": set_up}
        about |= {"of": states[-1][0], "acyclic": float(acyclic.mean())}
        kept = log_weights[acyclic]
        posterior = np.exp(kept - kept.max(initial=-np.inf))
        for plus, weights in (("", np.ones(len(kept))), ("+", posterior)):
            judged = judge(graphs[acyclic], weights, true)
            yield {"method": f"DiBS {kind}{plus}"} | about | judged


def fitting_steps(kind, n, limit):
    """How many steps take about so many seconds, a multiple of the readings."""
    outcome = in_process(run_dibs, kind, n, PILOT, 20, 2)
    if outcome["status"] != "ok":
        return READS
    _, step = set_up_and_step(outcome["result"])
    return READS * max(1, round(min(STEPS, limit / step) / READS))


def rows_of_graph(n, seed, runs):
    """Rows of one graph: ours, and DiBS's by kind, number of steps and effort."""
    drawn = in_process(data_only, n, seed)
    if drawn["status"] != "ok":
        yield {"method": "DiBS", "status": drawn["status"]}
        return
    X, true = drawn["result"]
    for method in OURS:
        graphs, seconds = run_ours(method, X, seed)
        judged = judge(graphs, np.ones(len(graphs)), true)
        yield {"method": method, "seconds": seconds, "acyclic": 1.0} | judged
    for kind, steps, effort in runs:
        outcome = in_process(run_dibs, kind, n, seed, steps, READS, effort)
        name = f"full {kind}" if effort == FULL else kind
        if outcome["status"] == "ok":
            yield from rows_of_dibs(name, outcome["result"], true)
        else:
            yield {"method": f"DiBS {name}", "status": outcome["status"]}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--variables", type=int, nargs="+", default=[20, 50])
    parser.add_argument("--graphs", type=int, default=10, help="of each size")
    parser.add_argument(
        "--kinds", nargs="+", choices=["marginal", "joint"], default=["joint"]
    )
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for DiBS")
    parser.add_argument("--full", action="store_true", help="also what its study has")
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    note = f"at most {arguments.limit:g} seconds for DiBS"
    if arguments.quick:
        note = "quick run, to be replaced"
        arguments.variables, arguments.graphs, arguments.limit = [20], 1, 0.0
    table = Table(
        "n:d seed:d method:>16 of:d steps:d seconds:.2f E-SHD-cpdag:.1f "
        "E-SHD-dag:.1f AUROC:.3f AP:.3f edges:.0f acyclic:.2f status:"
    )
    rows, earlier = [], ""
    if not arguments.quick:
        rows, earlier = earlier_results(
            "dibs",
            lambda row: (
                row["n"] not in arguments.variables or row["seed"] >= arguments.graphs
            ),
            note,
        )
    for n in arguments.variables:
        runs = [
            (kind, fitting_steps(kind, n, arguments.limit), QUICK)
            for kind in arguments.kinds
        ]
        full = [(kind, STEPS, FULL) for kind in arguments.kinds]
        for seed in range(arguments.graphs):
            longer = full if arguments.full and (n, seed) == (20, 0) else []
            for row in rows_of_graph(n, seed, runs + longer):
                rows.append({"n": n, "seed": seed} | row)
                table.add(rows[-1])
                write_results(
                    "dibs", rows, packages=("dibs-lib", "jax"), note=earlier or note
                )


if __name__ == "__main__":
    main()
