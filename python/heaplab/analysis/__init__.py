"""The numbers in a results file: values by block, ratios to the baseline, the A/A control, summaries.

Only runs that ended well give values. Everything here is a pure function of the records; texts, display units
and figures are made elsewhere.
"""

from heaplab.analysis.aspects import (
    AspectSummary as AspectSummary,
    aspect_summaries as aspect_summaries,
    metric_of as metric_of,
    mixes_aspects as mixes_aspects,
)
from heaplab.analysis.factorial import Effect as Effect, effects as effects
from heaplab.analysis.gate_cells import (
    GateCell as GateCell,
    GateLimits as GateLimits,
    Kept as Kept,
    beside as beside,
    blocks_for_limits as blocks_for_limits,
    gate_cells as gate_cells,
    judged_of as judged_of,
    values_to_keep as values_to_keep,
)
from heaplab.analysis.gate_outcome import Gate as Gate, GateOutcome as GateOutcome
from heaplab.analysis.leaders import (
    improvements as improvements,
    promising as promising,
    rankings as rankings,
)
from heaplab.analysis.metrics import (
    FAULTS as FAULTS,
    INSTRUCTIONS as INSTRUCTIONS,
    MEMORY as MEMORY,
    OPERATIONS as OPERATIONS,
    PEAK as PEAK,
    PERCENTILES as PERCENTILES,
    SYSTEM as SYSTEM,
    WALL as WALL,
)
from heaplab.analysis.power import (
    Outlook as Outlook,
    Power as Power,
    noise_of as noise_of,
    paces_of as paces_of,
    power_of as power_of,
    seconds_of_round as seconds_of_round,
)
from heaplab.analysis.rows import (
    CELL_COLUMNS as CELL_COLUMNS,
    RUN_COLUMNS as RUN_COLUMNS,
    cell_rows as cell_rows,
    run_rows as run_rows,
)
from heaplab.analysis.study import MeasuredCell as MeasuredCell, Study as Study, studies_of as studies_of
from heaplab.analysis.whole_analysis import (
    BOTH as BOTH,
    MEMORY_ONLY as MEMORY_ONLY,
    TIME_ONLY as TIME_ONLY,
    Analysis as Analysis,
    Summary as Summary,
)
from heaplab.analysis.worst_cell import worst_cells as worst_cells
from heaplab.stats import Judged as Judged
