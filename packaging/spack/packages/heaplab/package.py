"""heaplab for Spack, from the clone that this file lies in: spack repo add CLONE/packaging/spack."""

import re
from pathlib import Path

from spack.package import PythonPackage, conflicts, depends_on, license, version

CLONE = Path(__file__).resolve().parents[4]


class Heaplab(PythonPackage):
    """A laboratory for dynamic memory on Linux: which malloc a program should use, and what it costs."""

    git = CLONE.as_uri()
    license("MIT")

    version(
        re.search(r"project\(heaplab VERSION ([0-9.]+)", (CLONE / "CMakeLists.txt").read_text())[1],
        branch="main",
    )

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.11:", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja@1.11:", type="build")
    depends_on("cli11", type="build")
    depends_on("googletest", type="build")
    depends_on("zstd")
    depends_on("py-click@8.5.1:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-junitparser@4:", type=("build", "run"))
    depends_on("py-matplotlib@3.9:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-platformdirs@4:", type=("build", "run"))
    depends_on("py-pydantic@2.9:", type=("build", "run"))
    depends_on("py-pyelftools@0.31:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))

    conflicts("platform=darwin", msg="heaplab measures on Linux")
    conflicts("%gcc@:11", msg="heaplab needs C++20 of gcc 12")
