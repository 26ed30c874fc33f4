#!/bin/sh
# Every check that CI runs, in the order that fails soonest.
# Usage: tools/check.sh all|quick       quick leaves out sanitizers, real programs and the browser
set -eu
cd "$(dirname "$0")/.."
bin=$PWD/.venv/bin
PATH=$bin:$PATH
what=${1:-all}

step() { echo "== $*"; }

step layers, formatting, lint
tools/check_layers.py
tools/check_atomics.py
ruff check -q .
ruff format -q --check .
git ls-files '*.h' '*.cpp' '*.c' | xargs -r clang-format --dry-run --Werror

build_and_test() { # preset
  step "C++ tests: $1"
  cmake --preset "$1" >"build/configure-$1.log" || { cat "build/configure-$1.log"; exit 1; }
  cmake --build --preset "$1" | tail -n 1
  ctest --preset "$1" -j "$(nproc)" --no-tests=ignore
}

mkdir -p build
[ "$what" = quick ] || tools/install_packages.sh tools/packages-test.txt tools/packages-compare.txt
build_and_test release
if [ "$what" = all ]; then
  for preset in asan tsan; do build_and_test "$preset"; done
fi

step Python tests
if [ "$what" = all ]; then pytest; else pytest -m "not slow"; fi
