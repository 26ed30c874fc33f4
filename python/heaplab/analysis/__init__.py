"""The numbers in a results file: values by block, ratios to the baseline, the A/A control, summaries.

Only runs that ended well give values. Everything here is a pure function of the records; texts, display units
and figures are made elsewhere.
"""

from heaplab.analysis.aspects import AspectSummary, aspect_summaries, metric_of, mixes_aspects
from heaplab.analysis.factorial import Effect, effects
from heaplab.analysis.gate_cells import (
    GateCell,
    GateLimits,
    Kept,
    beside,
    blocks_for_limits,
    gate_cells,
    judged_of,
    values_to_keep,
)
from heaplab.analysis.gate_outcome import Gate, GateOutcome
from heaplab.analysis.leaders import improvements, promising, rankings
from heaplab.analysis.metrics import FAULTS, INSTRUCTIONS, MEMORY, OPERATIONS, PEAK, PERCENTILES, SYSTEM, WALL
from heaplab.analysis.power import Outlook, Power, noise_of, paces_of, power_of, seconds_of_round
from heaplab.analysis.rows import CELL_COLUMNS, RUN_COLUMNS, cell_rows, run_rows
from heaplab.analysis.study import MeasuredCell, Study, studies_of
from heaplab.analysis.whole_analysis import BOTH, MEMORY_ONLY, TIME_ONLY, Analysis, Summary
from heaplab.analysis.worst_cell import worst_cells
from heaplab.stats import Judged
