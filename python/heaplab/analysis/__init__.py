"""What a results file says, as numbers: values by block, ratios to the baseline, the A/A control, summaries.

Only runs that ended well give values. Everything here is a pure function of the records; words, units for
display and figures are made elsewhere.
"""

from heaplab.lazy import door

__getattr__ = door(
    __name__,
    {
        "heaplab.analysis.metrics": [
            "FAULTS",
            "INSTRUCTIONS",
            "LATENCY_METRICS",
            "MEMORY",
            "OPERATIONS",
            "PEAK",
            "PERCENTILES",
            "SYSTEM",
        ],
        "heaplab.analysis.standing": ["BOTH", "MEMORY_ONLY", "TIME_ONLY", "Analysis", "Standing"],
        "heaplab.analysis.study": ["MeasuredCell", "Study", "studies_of"],
        "heaplab.analysis.worst": ["Worst", "worst_cells"],
        "heaplab.stats": ["Judged"],
    },
)
