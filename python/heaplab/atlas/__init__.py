"""A static site over many results files: allocators, workloads and machines, over time and version.

Ratios are to the baseline of the same campaign. Nothing is averaged over campaigns or machines.
"""
