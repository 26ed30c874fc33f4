"""One campaign: what is planned, how each run is measured, and the results file that keeps every run.

The life of one run, from the command line to the results file:

1. `comparison/run_compare.py` turns the options of `heaplab compare` into a `Request`:
   experiments, workloads, libraries (the first is the baseline), budget.
2. `begin_or_resume.py` makes the campaign record from the request and opens its results file, or continues
   the same campaign if it lies unfinished in the folder. The record is the first line of the file. A new
   campaign of a user's program begins with pilot runs: `pilot.py` executes the program under the baseline,
   refuses a program that does not end or does not fit in the budget, and records how often a run executes a
   short program. If a suite is to have a number of blocks in its budget, pilot runs decide how long its
   cells are: `fit_lengths.py`.
3. `plan.py` computes the runs from the campaign record alone: *cells* (a workload with all parameters fixed),
   *comparisons* (cells whose runs are compared), *candidates* (a cell under an allocator), and *blocks*
   (every candidate of a comparison once, the reference twice, in shuffled order).
4. `memory_needs.py` asks each workload, by `--estimate`, how much memory its cells need. A cell that is too
   large for the machine is refused before anything runs.
5. `runner.py` goes through the rounds: one block of every open comparison. After the first round, `timing.py`
   decides for each experiment whether its arms run at the same time, in turns (`machine/slices.py`), and
   which clock decides, by what the first runs did (`machine/behaviour.py`). After the block numbers of
   `plan.looks`, a comparison whose intervals are narrow enough is closed. The budget may end the campaign
   after the second round. Before each run, a listener learns how much time is left.
6. `measure_run.py` measures one candidate of a block in a fresh process:
   - `command_line.py` provides the program and its arguments; `machine/execute.py` provides the environment
     that preloads the library.
   - As much memory as the run will need is touched and released (`warming.py`), so that the run finds it
     warm. Where the host does not take memory back, only first runs are warmed.
   - `machine/execute.py` starts the process; `machine/watch.py` samples the memory of its process tree, and
     enforces limits of time and memory. `programs/prepared_input.py` runs a program of the catalog and
     checks its output. `user_program.py` runs a user's program with its file from `standard_input.py`,
     several times if the program is short.
   - The sample (one JSON line on an inherited descriptor) is read, and `machine/interposition.py` checks that
     the intended library served malloc. A run served by another library is void.
   - A first attempt during which other processes used too much CPU time is void and repeated once. If the
     budget has no room for a repetition, the first attempt counts.
7. `results/store.py` appends the run's record to the results file with one write. A run that failed, timed
   out or was void is a record with a reason, never a figure.
8. Nothing is averaged here: `analysis/` reads the results file afterwards.
"""
