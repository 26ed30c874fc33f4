"""`heaplab merge`: put together what came back of a plan."""

import json
from pathlib import Path

import click

from heaplab.cli.options.option_types import OUTPUT_FOLDER, PLACE
from heaplab.cli.screen import exit_status

JSON_NAME = "merged.json"


@click.command()
@click.argument("plan", type=PLACE)
@click.option(
    "-o", "--output", type=OUTPUT_FOLDER, help="Folder for report and JSON.  [default: PLAN/merged]"
)
@click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
def merge(plan: Path, output: Path | None, as_json: bool) -> int:
    """Put together what came back of PLAN: ratios on each host, then over hosts.

    Results are verified, and a shard that ran twice counts once. What is missing, differs between hosts of
    one kind or was disturbed is named. Status 1: a shard is missing or not complete, and the rest is merged.

    \b
    Example:
      heaplab merge plan/ -o out/merged
    """
    exit_status.refuse_small_address_space()
    import os

    from heaplab.cluster import merged_page, merged_sentences, merging, read_plan
    from heaplab.cluster.merged_tables import over_hosts_tables
    from heaplab.console import console, put
    from heaplab.report.tables.table_parts import print_table

    found = merging.merged(read_plan(plan), workers=len(os.sched_getaffinity(0)))
    folder = output or plan / "merged"
    page = folder / merged_page.FILE_NAME
    merged_page.write(found, page)
    plain = merged_page.as_plain(found)
    (folder / JSON_NAME).write_text(json.dumps(plain) + "\n", encoding="utf-8")
    if as_json:
        click.echo(json.dumps(plain))
    else:
        screen = console()
        for table in over_hosts_tables(found):
            print_table(table, screen)
            put(screen, "")
        for sentence in (*merged_sentences.agreements(found), *merged_sentences.warnings(found)):
            click.echo(sentence)
        click.echo(f"report: {page}")
    return 1 if found.missing or found.begun else 0
