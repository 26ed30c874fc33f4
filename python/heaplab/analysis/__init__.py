"""What a results file says, as numbers: values by block, ratios to the baseline, the A/A control, summaries.

Only runs that ended well give values. Everything here is a pure function of the records; words, units for
display and figures are made elsewhere.
"""

from heaplab.analysis.metrics import FAULTS, LATENCY_METRICS, MEMORY, OPERATIONS, PEAK, PERCENTILES
from heaplab.analysis.standing import BOTH, MEMORY_ONLY, TIME_ONLY, Analysis, Standing
from heaplab.analysis.study import MeasuredCell, Study, studies_of
from heaplab.analysis.worst import Worst, worst_cells
from heaplab.stats import Judged

__all__ = [
    "BOTH",
    "FAULTS",
    "LATENCY_METRICS",
    "MEMORY",
    "MEMORY_ONLY",
    "OPERATIONS",
    "PEAK",
    "PERCENTILES",
    "TIME_ONLY",
    "Analysis",
    "Judged",
    "MeasuredCell",
    "Standing",
    "Study",
    "Worst",
    "studies_of",
    "worst_cells",
]
