"""An advice on the terminal: the verdict first."""

from rich.console import Console
from rich.markup import escape

from heaplab.console import put
from heaplab.holders import holding_tables
from heaplab.holders.answer import Evidence, HolderAnswer
from heaplab.holders.sentences import sentence
from heaplab.report.tables.table_text import print_table


def print_advice(evidence: Evidence, verdict: HolderAnswer, console: Console) -> None:
    put(console, f"[bold]{escape(sentence(evidence, verdict))}[/]")
    for table in holding_tables.tables_of(evidence):
        put(console, "")
        print_table(table, console)
