"""One campaign: what is planned, how each run is measured, and the results file that keeps every run.

The life of one run, from the command line to the results file:

1. `cli/measure.py` turns the options of `heaplab compare` or `heaplab run` into a `Request`: experiments,
   workloads, libraries (the first is the baseline), budget.
2. `begin.py` makes the campaign record from the request and opens its results file, or finds the same
   campaign unfinished in the folder and goes on with it. The record is the first line of the file.
3. `plan.py` computes from the campaign record alone what there is to run: *cells* (a workload with all
   parameters fixed), *comparisons* (cells whose runs are compared), *candidates* (a cell under an allocator),
   and *blocks* (every candidate of a comparison once, the reference twice, in shuffled order).
4. `memory_needs.py` asks each workload, by `--estimate`, how much memory its cells will need; a cell that
   is too large for the machine is refused before anything runs.
5. `runner.py` walks through the rounds: one block of every comparison that is still open. After a block
   number named by `plan.looks` a comparison whose intervals are narrow enough is closed; the budget may
   end the campaign after the second round.
6. `measure_run.py` measures one candidate of a block in a fresh process:
   - `command_line.py` gives the program and its arguments; `machine/execute.py` gives the environment
     that preloads the library.
   - Memory is touched and released (`machine/host.py`), so that the run finds warm host pages.
   - `machine/execute.py` starts the process, samples the memory of its process tree, and enforces limits of
     time and memory. A program of the catalog is driven by `programs/job.py`, which checks its output too.
   - The sample (one JSON line on an inherited descriptor) is read, and `machine/interposition.py` checks that
     the intended library served malloc. A run served by another library is void.
   - A first attempt during which others used too much CPU time is void and repeated once.
7. `store.py` appends the run's record to the results file with one write. A run that failed, timed out or
   was void is a record with a reason, never a figure.
8. Nothing is averaged here: `analysis/` reads the results file afterwards.
"""
