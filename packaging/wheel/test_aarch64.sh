#!/bin/sh
# The wheel for aarch64 under qemu-user, with the C and C++ libraries of Debian's cross compiler: every program starts,
# every library serves one, and the contract of malloc holds under two.
# Usage: packaging/wheel/test_aarch64.sh WHEEL        needs the packages of tools/packages-wheel.txt
set -eu
wheel=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m zipfile -e "$wheel" .
native=$work/heaplab/native
chmod a+x "$native"/bin/* "$native"/libexec/*
# qemu notes every page reserved.
export HEAPLAB_SCALLOC_ARENA=256MiB
on_aarch64() { # a library or nothing, a program, its arguments
  library=$1
  shift
  qemu-aarch64-static -L /usr/aarch64-linux-gnu ${library:+-E LD_PRELOAD="$library"} "$@"
}
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

for program in "$native"/bin/*; do
  on_aarch64 '' "$program" --help >/dev/null || fail "$program does not start"
done
for library in "$native"/lib/*.so; do
  on_aarch64 "$library" "$native/bin/threadtest" --rounds 2 --threads 2 --json - >said 2>errors ||
    fail "$library: $(cat errors)"
  case $library in
    *_recorder.so | *_no_deep_binding.so | *_trim.so) ;; # have no malloc of their own
    *) grep -q "\"malloc\":{\"path\":\"$library\"" said || fail "$library did not serve: $(cat said)" ;;
  esac
done
for name in scalloc llheap; do
  on_aarch64 "$native/lib/libheaplab_$name.so" "$native/libexec/check_contract" --gtest_brief=1 ||
    fail "the contract of malloc under $name"
done
echo "passed: $(basename "$wheel")"
