"""What `heaplab atlas` makes: a site over many results files, by allocator, workload and machine, over time.

Ratios are to the baseline of the same campaign. Nothing is averaged over campaigns or machines.
"""
