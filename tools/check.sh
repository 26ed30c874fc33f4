#!/bin/sh
# Every check that CI runs, in the order that fails soonest.
# Usage: tools/check.sh quick|all|long       quick leaves out sanitizers, real programs and the browser;
#                                            long adds more compilers, and what takes minutes and a network
set -eu
cd "$(dirname "$0")/.."
bin=$PWD/.venv/bin
PATH=$bin:$PATH
what=${1:-all}

step() { tools/step.sh "$1" "mend what the log names, then run the same command again" sh -euc "$2"; }

step "layers, formatting, lint" "
  tools/check_layers.py
  tools/check_atomics.py
  ruff check -q .
  ruff format -q --check .
  mypy --no-error-summary
  git ls-files '*.h' '*.cpp' '*.c' | xargs -r clang-format --dry-run --Werror"

build_and_test() { # preset
  step "C++ build, $1" "cmake --preset $1 && cmake --build --preset $1"
  step "C++ tests, $1" "ctest --preset $1 -j $(nproc) --no-tests=ignore"
}

# The clang compilers among the packages of lists.
clang_in() { sed -n 's/^clang-/clang++-/p' "$@" | tr '\n' ' '; }

case $what in
  quick) ;;
  all) step "public headers alone: two compilers" "tests/compilers/run.py g++ $(clang_in tools/packages-test.txt)" ;;
  long) step "public headers alone: every compiler" "
    tests/compilers/run.py --each g++ $(clang_in tools/packages-test.txt tools/packages-long.txt)" ;;
esac

build_and_test release
if [ "$what" != quick ]; then
  step "clang-tidy" tools/tidy.py
  for preset in asan tsan; do build_and_test "$preset"; done
fi

if [ "$what" = quick ]; then step "Python tests" "pytest -m 'not slow'"; else step "Python tests" pytest; fi
if [ "$what" = long ]; then
  step "C++ build, paranoid" "cmake --preset paranoid && cmake --build --preset paranoid"
  step "C++ tests, paranoid" "ctest --preset paranoid -L 'conformance|llheap|properties|scalloc|stress' -j $(nproc)"
  tools/test_bare_root.sh
fi
