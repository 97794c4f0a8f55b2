"""Simulated data, and the networks that structure learning is measured on."""

from skbidag.datasets._networks import DiscreteNetwork, load_asia, load_network
from skbidag.datasets._synthetic import make_discrete_network, make_gaussian_network

__all__ = [
    "DiscreteNetwork",
    "load_asia",
    "load_network",
    "make_discrete_network",
    "make_gaussian_network",
]
