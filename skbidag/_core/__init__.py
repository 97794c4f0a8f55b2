"""Compiled kernels: plain arrays in, plain arrays out, no Python inside a loop."""
