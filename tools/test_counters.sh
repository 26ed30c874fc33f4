#!/bin/sh
# Instruction counters, with a real kernel: boots Debian's kernel for AArch64 in a machine that qemu emulates, whose
# processor counts instructions, runs the tests that need a counter there, and records a program with what
# heaplab record --count-instructions uses (tests/counters/run.py). Takes three minutes on two cores, most of them to
# build. Leaves build/counters/PROCESSOR.log and build/counters/PROCESSOR.trace.
# Usage: tools/test_counters.sh [PROCESSOR]...     for qemu-system-aarch64 -cpu; unless given, neoverse-n1, whose
#                                                  counters have 32 bits, and max, whose have 64; needs make build,
#                                                  the packages of tools/packages-long.txt, and what
#                                                  tools/debian_root.sh needs
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
[ $# -gt 0 ] || set -- neoverse-n1 max
for program in cpio qemu-system-aarch64 aarch64-linux-gnu-g++; do
  command -v $program >/dev/null || {
    echo "tools/test_counters.sh: no $program, install the packages of tools/packages-long.txt" >&2
    exit 2
  }
done
out=build/counters
rm -rf $out
mkdir -p $out/root

tools/step.sh "kernel and C library for AArch64" "look whether apt-get update works, then run it again" sh -euc "
  tools/debian_root.sh $out/root.tar --architectures=arm64 --variant=extract \
    --include=linux-image-arm64,busybox-static,libstdc++6,perl-base,libzstd-dev \
    --extract-hook='rm -r \"\$1\"/lib/modules \"\$1\"/usr/share'
  tar -C $out/root --no-same-owner -xf $out/root.tar"
tools/step.sh "C++ build, aarch64 with zstd" "read the first error in the log" sh -euc "
  cmake --preset aarch64 -B $out/tree -Dzstd_DIR=\$(dirname \$(find $PWD/$out/root -name zstdConfig.cmake))
  cmake --build $out/tree --target base_test trace_tool heaplab_recorder"
for processor; do
  tools/step.sh "instruction counters, $processor" "read what the machine said" \
    tests/counters/run.py $out "$processor"
done
