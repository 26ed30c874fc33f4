"""One campaign: what is planned, how each run is measured, and the results file that keeps every run.

The life of one run, from the command line to the results file:

1. `cli/measure.py` turns the options of `heaplab compare` or `heaplab run` into a `Request`: experiments,
   workloads, libraries (the first is the baseline), budget.
2. `begin_or_resume.py` makes the campaign record from the request and opens its results file, or finds the
   same campaign unfinished in the folder and goes on with it. The record is the first line of the file. A new
   campaign of a program of the user's begins with pilot runs: `pilot.py` executes the program under the
   baseline, refuses what does not end or does not fit in the budget, and notes how often a short program is
   executed in a run.
3. `plan.py` computes from the campaign record alone what there is to run: *cells* (a workload with all
   parameters fixed), *comparisons* (cells whose runs are compared), *candidates* (a cell under an allocator),
   and *blocks* (every candidate of a comparison once, the reference twice, in shuffled order).
4. `memory_needs.py` asks each workload, by `--estimate`, how much memory its cells will need; a cell that
   is too large for the machine is refused before anything runs.
5. `runner.py` walks through the rounds: one block of every comparison that is still open. After a block
   number named by `plan.looks` a comparison whose intervals are narrow enough is closed; the budget may
   end the campaign after the second round. Before each run a listener is told how long is left.
6. `measure_run.py` measures one candidate of a block in a fresh process:
   - `command_line.py` gives the program and its arguments; `machine/execute.py` gives the environment
     that preloads the library.
   - Memory is touched and released (`machine/host.py`), so that the run finds warm host pages.
   - `machine/execute.py` starts the process; `machine/watch.py` samples the memory of its process tree, and
     enforces limits of time and memory. A program of the catalog is driven by
     `programs/prepared_program.py`, which checks its output too. One of the user's is executed by
     `user_program.py` with its file from `standard_input.py`, several times by `machine/repeat.py` if it is
     short.
   - The sample (one JSON line on an inherited descriptor) is read, and `machine/interposition.py` checks that
     the intended library served malloc. A run served by another library is void.
   - A first attempt during which others used too much CPU time is void and repeated once; where the budget
     has no room for that, the first attempt counts as a second.
7. `store.py` appends the run's record to the results file with one write. A run that failed, timed out or
   was void is a record with a reason, never a figure.
8. Nothing is averaged here: `analysis/` reads the results file afterwards.
"""
