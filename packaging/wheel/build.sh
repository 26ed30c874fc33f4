#!/bin/sh
# Builds the wheel for one kind of machine: out/wheel/heaplab-VERSION-py3-none-manylinux_2_28_MACHINE.whl, which
# auditwheel then looks at. The same tree gives the same bytes, whatever its folder.
# Usage: packaging/wheel/build.sh x86_64|aarch64 [OUTPUT]      needs the virtual environment of make wheel
set -eu
cd "$(dirname "$0")/../.."
machine=$1
output=${2:-out/wheel}
build=$PWD/build/wheel/$machine
libraries=$build/old-libraries
PATH=$PWD/.venv/bin:$PATH
export CCACHE_BASEDIR= # else ccache would write paths into assertions that depend on the folder

[ -e "$libraries/libc.so.6" ] && [ "$libraries" -nt packaging/wheel/old_libraries.py ] ||
  packaging/wheel/old_libraries.py "$machine" "$libraries"
# -O2 without lines for a debugger: what RelWithDebInfo compiles, in a tenth of the space.
set -- -C build-dir="$build/tree" -C cmake.build-type=Release \
  -C cmake.define.CMAKE_C_FLAGS_RELEASE="-O2 -DNDEBUG" -C cmake.define.CMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
  -C cmake.define.CMAKE_TOOLCHAIN_FILE="$PWD/packaging/wheel/toolchain.cmake" \
  -C cmake.define.HEAPLAB_WHEEL_MACHINE="$machine" -C cmake.define.HEAPLAB_OLD_LIBRARIES="$libraries"
if [ "$machine" != "$(uname -m)" ]; then
  zstd=$build/zstd
  [ -e "$zstd" ] || {
    tools/debian_root.sh "$build/zstd.tar" --architectures="$(echo "$machine" | sed s/aarch64/arm64/)" \
      --variant=extract --include=libzstd-dev
    mkdir "$zstd.new"
    tar -C "$zstd.new" --no-same-owner -xf "$build/zstd.tar" ./usr/include ./usr/lib
    mv "$zstd.new" "$zstd"
  }
  set -- "$@" -C cmake.define.zstd_DIR="$(dirname "$(find "$zstd" -name zstdConfig.cmake)")"
fi
mkdir -p "$output"
new=$(mktemp -d -p "$output")
trap 'rm -rf "$new"' EXIT
# The tag is a promise that auditwheel verifies.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) _PYTHON_HOST_PLATFORM=manylinux_2_28_$machine \
  pip wheel -v --no-build-isolation --no-deps --wheel-dir "$new" "$@" .
wheel=$(echo "$new"/*.whl)
auditwheel show "$wheel" >"$new/audit"
cat "$new/audit"
tr '\n' ' ' <"$new/audit" | grep -q "consistent with the following platform tag: *\"manylinux_2_[12][0-9]*_$machine\"" || {
  echo "packaging/wheel/build.sh: $wheel needs a newer C or C++ library than its name promises" >&2
  exit 1
}
mv "$wheel" "$output"
