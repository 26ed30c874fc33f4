"""What `heaplab trace` does with twins: it fits them, tells how far they are off, and draws from them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from heaplab.errors import UsageError
from heaplab.files.output import write_text
from heaplab.screen.console import console, put
from heaplab.screen.exit_status import DONE
from heaplab.screen.notes import note
from heaplab.text.units import counted, show
from heaplab.traces import TRACE, TWIN, tool
from heaplab.twins import acdc_fit, acdc_parameters, distances, drawing, fitting, twin_file
from heaplab.twins.lives import Lives, lives_of
from heaplab.twins.making import make_trace
from heaplab.twins.twin_file import ALLOWED, WORDS, Errors, Twin

EXPERIMENT = ".toml"
WHOLE, HALVES, BETWEEN = "whole", "second half", "between the halves"
TESTED = {
    WHOLE: "against the recording",
    HALVES: "fitted to its first half, against the second",
    BETWEEN: "for comparison, its first half against the second",
}


def fit(trace: Path, summary: dict[str, Any], process: int, output: Path) -> None:
    """Write the twin of a process, or the experiment of ACDC that resembles it most, and tell the errors."""
    of = summary["processes"][process]["process"]
    lives = lives_of(trace, process, int(of.get("ticks_per_second") or 0))
    if not len(lives):
        raise tool.unusable(trace, "holds no call, so that nothing can be fitted", summary["damage"])
    if output.suffix == TWIN:
        twin = twin_of(lives)
        twin_file.write(twin, output)
        lines = lines_of(twin)
    else:
        lines = write_experiment(lives, output)
    for line in lines:
        note(f"{output}: {line}")


def twin_of(lives: Lives) -> Twin:
    """The twin with its errors."""
    twin = fitting.fit(lives)
    first, second = lives.halves()
    errors = {WHOLE: distances.errors(drawing.draw(twin), lives)}
    if len(first) and len(second):
        errors[HALVES] = distances.errors(drawing.draw(fitting.fit(first)), second)
        errors[BETWEEN] = distances.errors(first, second)
    return replace(twin, errors=errors)


def write_experiment(lives: Lives, output: Path) -> list[str]:
    parameters = acdc_fit.fit(lives)
    errors = distances.errors(acdc_parameters.lives_of(parameters), lives)
    lines = [text_of(errors), verdict(errors, "ACDC-like")]
    write_text(output, acdc_parameters.as_experiment(parameters, lines))
    return lines


def show_or_draw(path: Path, output: Path | None) -> int:
    """Show a twin, or write what can be made of it; return the exit status."""
    twin = twin_file.read(path)
    if output is None:
        out = console()
        peak = show(twin.peak_bytes, "B")
        what = f"{counted(twin.blocks, 'block')}, {show(twin.bytes, 'B')}, at most {peak}"
        put(out, f"A twin of {what}; {counted(len(twin.phases), 'phase')}.")
        for line in lines_of(twin):
            put(out, line)
        return DONE
    if output.suffix == TRACE:
        make_trace(drawing.draw(twin), output)
    elif output.suffix == EXPERIMENT:
        for line in write_experiment(drawing.draw(twin), output):
            note(f"{output}: {line}")
    else:
        raise UsageError(f"{output}: of a twin, -o writes {TRACE} or {EXPERIMENT}")
    click.echo(output)
    return DONE


def lines_of(twin: Twin) -> list[str]:
    lines = [f"{TESTED.get(name, name)}: {text_of(errors)}" for name, errors in twin.errors.items()]
    return [*lines, verdict(twin.errors[WHOLE], "like the program")] if WHOLE in twin.errors else lines


def text_of(errors: Errors) -> str:
    return (
        f"sizes KS {errors.size_ks:.3f}, {errors.size_octaves:.2f} octaves; "
        f"lifetimes KS {errors.life_ks:.3f}, {errors.life_octaves:.2f} octaves; "
        f"live bytes {errors.live_curve:.1%}, peak {errors.peak:+.1%}; "
        f"freed by another thread {errors.remote:+.1%}, in masses {errors.gathered:+.1%}"
    )


def verdict(errors: Errors, like: str) -> str:
    name, times = errors.worst()
    if times <= 1:
        return f"{like}: all errors are within what is allowed; the worst is that of {WORDS[name]}"
    by = f"{getattr(errors, name):.2f}; allowed is {ALLOWED[name]}"
    return f"not {like}: what deviates most is {WORDS[name]}, by {by}"
