"""Every text says the level of the intervals and the error of families that the statistics have."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import synthetic

from heaplab import stats

PACKAGE = Path(stats.__file__).parents[1]
SUPPORT = Path(synthetic.__file__).parent
SAID = """
import io, json, sys
from pathlib import Path
import synthetic
from rich.console import Console
from heaplab.atlas import atlas_pages
from heaplab.campaign import pilot
from heaplab.cluster import merged_tables
from heaplab import stats
from heaplab.report.page import report_page
from heaplab.report.terminal import gate_output, summary_text

analysis = synthetic.analysis_of(synthetic.campaign(["glibc", "mimalloc"], blocks=7), Path(sys.argv[1]))
console = Console(file=io.StringIO(), width=100)
summary_text.print_summary(analysis, console)
said = {
    "page": report_page.render([analysis], Path(sys.argv[1]) / "report.html"),
    "terminal": console.file.getvalue(),
    "gate": " ".join(gate_output.HEADS),
    "atlas": atlas_pages.READING,
    "cluster": merged_tables.PREDICTION,
}
budget = pilot.spent_by_pilots(analysis.campaign.model_copy(update={"budget": 1.0}), 1, 2.0, 1.0)
print(json.dumps({"fewest": stats.FEWEST_PAIRS, "said": said, "budget": budget}))
"""


def with_other_constants(folder: Path) -> None:
    """A copy of the package whose intervals have a level of 90 %, and whose families an error of 4 %."""
    shutil.copytree(PACKAGE, folder / "heaplab", ignore=shutil.ignore_patterns("__pycache__"))
    for module, old, new in (
        ("interval", "CONFIDENCE = 0.95", "CONFIDENCE = 0.9"),
        ("verdict", "FAMILY_ERROR = 0.05", "FAMILY_ERROR = 0.04"),
    ):
        source = folder / "heaplab" / "stats" / f"{module}.py"
        assert old in source.read_text()
        source.write_text(source.read_text().replace(old, new))


def test_texts_follow_the_constants(tmp_path: Path) -> None:
    with_other_constants(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", SAID, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{SUPPORT}"},
        stdout=subprocess.PIPE,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["fewest"] == 4
    assert "the 4 blocks that a verdict takes" in found["budget"]
    for where, said in found["said"].items():
        assert "90 %" in said, where
        assert "95 %" not in said, where
    assert "held to 4 % error together" in found["said"]["page"]


def test_no_text_of_the_package_has_the_level_by_hand() -> None:
    """Of what tests see only in rare results, too."""
    sources = [path for kind in ("py", "j2") for path in PACKAGE.rglob(f"*.{kind}")]
    by_hand = [path for path in sources if "95 %" in path.read_text() and path.name != "interval.py"]
    assert by_hand == []


def test_the_fewest_pairs_are_those_whose_range_is_nearest_to_the_level() -> None:
    assert (stats.CONFIDENCE, stats.FEWEST_PAIRS, stats.LEVEL) == (0.95, 5, "95 %")
