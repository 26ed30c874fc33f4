"""heaplab::local for Conan 2: `conan create packaging/conan` in a clone."""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy

ROOT = Path(__file__).parents[2]  # where the recipe is read; a cached copy has its sources beside it


class HeaplabLocal(ConanFile):
    name = "heaplab-local"
    description = "Local memory allocators: monotonic, multipool and both, as std::pmr resources or typed"
    license = "MIT"
    topics = ("memory", "allocator", "pmr", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True

    def set_version(self):
        text = (ROOT / "CMakeLists.txt").read_text()
        self.version = re.search(r"project\(heaplab VERSION ([0-9.]+)", text)[1]

    def export_sources(self):
        copy(self, "LICENSE", ROOT, self.export_sources_folder)
        copy(self, "include/heaplab/local/*.h", ROOT, self.export_sources_folder)

    def layout(self):
        pass

    def validate(self):
        check_min_cppstd(self, 20)

    def package(self):
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")
        copy(self, "include/*", self.source_folder, self.package_folder)

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_file_name", "heaplab")
        self.cpp_info.set_property("cmake_target_name", "heaplab::local")
        self.cpp_info.set_property("pkg_config_name", "heaplab-local")
