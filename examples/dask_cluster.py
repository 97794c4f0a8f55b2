"""
Chains on a Dask cluster
========================

Run it as ``python examples/dask_cluster.py``, with ``tcp://scheduler:8786`` as an
argument for a cluster that is there already. Without, two processes on this machine
play the cluster. It takes ``pip install skbidag[dask]``, here and on the workers.
"""

import sys
import time

import joblib
import numpy as np
from dask.distributed import Client, LocalCluster

from skbidag import OrderMCMCStructure
from skbidag.datasets import make_gaussian_network


def main(address=None):
    X = make_gaussian_network(400, 40, random_state=0).data
    model = OrderMCMCStructure(n_chains=8, n_iter=200_000, random_state=0, n_jobs=-1)

    start = time.perf_counter()
    model.fit(X)
    here = model.adjacency_probabilities_
    print(f"in threads: {time.perf_counter() - start:.1f} s")

    cluster = address or LocalCluster(n_workers=2, threads_per_worker=1)
    with Client(cluster) as client:
        print(f"cluster: {sum(client.ncores().values())} cores")
        start = time.perf_counter()
        with joblib.parallel_config(backend="dask"):
            model.fit(X)
        print(f"on the cluster: {time.perf_counter() - start:.1f} s")
    if address is None:
        cluster.close()

    same = np.array_equal(model.adjacency_probabilities_, here)
    print("the same probabilities, bit for bit:", same)


if __name__ == "__main__":  # workers that are processes import this file
    main(*sys.argv[1:])
