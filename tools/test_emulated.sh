#!/bin/sh
# What needs a real kernel for AArch64: boots Debian's in a machine that qemu emulates. Where the processor counts
# instructions, runs the tests that need a counter, and records a program with what heaplab record
# --count-instructions uses (tests/emulated/counting.py); and asks and stops processes (tests/emulated/asking.py).
# Takes six minutes on two cores. Leaves build/emulated/PROCESSOR.log, PROCESSOR.trace.
# Usage: tools/test_emulated.sh [PROCESSOR]...     for qemu-system-aarch64 -cpu; unless given, neoverse-n1, whose
#                                                  counters have 32 bits, and max, whose have 64; needs make build,
#                                                  the packages of tools/packages-long.txt, and what
#                                                  tools/debian_root.sh needs
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
[ $# -gt 0 ] || set -- neoverse-n1 max
for program in cpio qemu-system-aarch64 aarch64-linux-gnu-g++; do
  command -v $program >/dev/null || {
    echo "tools/test_emulated.sh: no $program, install the packages of tools/packages-long.txt" >&2
    exit 2
  }
done
out=build/emulated
rm -rf $out
mkdir -p $out/root

tools/step.sh "kernel and libraries for AArch64" "look whether apt-get update works, then run it again" sh -euc "
  tools/debian_root.sh $out/root.tar --architectures=arm64 --variant=extract \
    --include=linux-image-arm64,busybox-static,libstdc++6,perl-base,libzstd-dev,libunwind-dev,python3 \
    --extract-hook='rm -r \"\$1\"/lib/modules \"\$1\"/usr/share'
  tar -C $out/root --no-same-owner -xf $out/root.tar
  version=\$(ls $out/root/usr/bin | sed -n 's/^python\(3\..*\)/\1/p')
  pip install -q --target $out/packages --only-binary=:all: --python-version \$version \
    --platform manylinux2014_aarch64 click numpy pydantic pyelftools"
libraries=$PWD/$out/root/usr/lib/aarch64-linux-gnu
tools/step.sh "C++ build, aarch64 with zstd and libunwind" "read the first error in the log" sh -euc "
  cmake --preset aarch64 -B $out/tree -Dzstd_DIR=\$(dirname \$(find $PWD/$out/root -name zstdConfig.cmake)) \
    -DCMAKE_CXX_FLAGS='-idirafter $PWD/$out/root/usr/include/aarch64-linux-gnu' \
    -DCMAKE_EXE_LINKER_FLAGS=-L$libraries
  cmake --build $out/tree --target base_test trace_tool heaplab_recorder ask_process change_code move_entries"
for processor; do
  tools/step.sh "instruction counters, $processor" "read what the machine said" \
    tests/emulated/counting.py $out "$processor"
done
tools/step.sh "asked processes in a machine for AArch64" "read what the machine said" tests/emulated/asking.py $out
