"""What `heaplab atlas` does: it reads results and writes the site."""

from collections.abc import Sequence
from pathlib import Path

import click

from heaplab.atlas import atlas_files
from heaplab.atlas.many_campaigns import gathered
from heaplab.screen.step_display import StepDisplay
from heaplab.text import units


def atlas(results: Sequence[Path], output: Path, *, quiet: bool) -> int:
    if quiet:
        click.echo(atlas_files.write(gathered(results), output))
        return 0
    with StepDisplay("atlas") as display:
        display.tell(f"reading {units.counted(len(results), 'results file')}")
        read = gathered(results)
        display.tell("drawing pages")
        page = atlas_files.write(read, output)
    click.echo(page)
    return 0
