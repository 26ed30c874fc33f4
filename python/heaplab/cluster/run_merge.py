"""What `heaplab cluster merge` does: it puts together what came back of a plan."""

import json
import os
from pathlib import Path

import click

from heaplab.cluster import merged_page, merged_sentences, merging, read_plan
from heaplab.cluster.merged_tables import over_hosts_tables
from heaplab.report.tables.table_parts import print_table
from heaplab.screen.console import console, put

JSON_NAME = "merged.json"


def merge(folder: Path, output: Path | None, *, as_json: bool) -> int:
    """Write page and JSON, print the result; return 1 if a shard is missing or not complete."""
    merged = merging.merged(read_plan(folder), workers=len(os.sched_getaffinity(0)))
    target = output or folder / "merged"
    page = target / merged_page.FILE_NAME
    merged_page.write(merged, page)
    plain = merged_page.as_plain(merged)
    (target / JSON_NAME).write_text(json.dumps(plain) + "\n", encoding="utf-8")
    if as_json:
        click.echo(json.dumps(plain))
    else:
        screen = console()
        for table in over_hosts_tables(merged):
            print_table(table, screen)
            put(screen, "")
        for sentence in (*merged_sentences.agreements(merged), *merged_sentences.warnings(merged)):
            click.echo(sentence)
        click.echo(f"report: {page}")
    return 1 if merged.missing or merged.begun else 0
