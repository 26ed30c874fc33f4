"""The output for people: an HTML page, a summary on the terminal, and the same results as plain data.

write_html(analyses, path)        the page, self-contained
print_summary(analysis, console)  answer, how sure, what next, and a table
as_plain(analysis)                for --json
"""

import logging
from typing import TYPE_CHECKING

from heaplab.lazy import door

# matplotlib warns if it cannot write its cache, for example under a read-only home; the page is the same.
logging.getLogger("matplotlib").setLevel(logging.ERROR)

if TYPE_CHECKING:
    from heaplab.report.machine_readable.export import (
        as_arrow as as_arrow,
        as_csv as as_csv,
        as_markdown_table as as_markdown_table,
        rows_of as rows_of,
        write_parquet as write_parquet,
    )
    from heaplab.report.machine_readable.gate_junit import write_junit as write_junit
    from heaplab.report.machine_readable.json_summary import as_plain as as_plain
    from heaplab.report.page.hosts import warning as warning
    from heaplab.report.page.report_page import render as render, write_html as write_html
    from heaplab.report.tables.power_table import plain_power as plain_power, print_power as print_power
    from heaplab.report.terminal.gate_output import (
        as_bencher as as_bencher,
        as_markdown as as_markdown,
        plain_gate as plain_gate,
        print_gate as print_gate,
    )
    from heaplab.report.terminal.summary_text import (
        print_claims as print_claims,
        print_summary as print_summary,
    )
    from heaplab.report.terminal.tuned import (
        Tuned as Tuned,
        plain_tuned as plain_tuned,
        print_tuned as print_tuned,
    )
else:
    __getattr__ = door(__name__)
