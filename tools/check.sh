#!/bin/sh
# Every check that CI runs, in the order that fails soonest.
# Usage: tools/check.sh quick|all|long       quick compiles once and leaves out what takes more than seconds:
#                                            sanitizers, stress, interleavings, real programs, the browser;
#                                            long adds more compilers, the thread sanitizer for all tests, the
#                                            rebuilds of programs, and what takes minutes and a network
set -eu
cd "$(dirname "$0")/.."
bin=$PWD/.venv/bin
PATH=$bin:$PATH
what=${1:-all}

unset PYTHONDONTWRITEBYTECODE # tests start Python hundreds of times, and pytest rewrites each of their files

step() { tools/step.sh "$1" "mend what the log names, then run the same command again" sh -euc "$2"; }

step "layers, formatting, lint" "
  mypy --no-error-summary & types=\$!
  tools/check_layers.py
  PYTHONPATH=python lint-imports --no-cache
  tools/check_atomics.py
  tools/check_subjects.py
  ruff check -q .
  ruff format -q --check .
  git ls-files '*.h' '*.cpp' '*.c' | xargs -r clang-format --dry-run --Werror
  wait \$types"

# More than there are processors: many tests wait for what they started, most where the program is not emulated.
at_once=$(($(nproc) + 2)) native=$(($(nproc) * 3))

build_and_test() { # preset, options of ctest, options of the build, environment of the tests, folders to leave out
  step "C++ build, $1" "cmake --preset $1 -DHEAPLAB_TESTS_COMPLETE=${complete:-ON} '-DHEAPLAB_TESTS_LEFT_OUT=${5-}' &&
    cmake --build --preset $1 ${3-}"
  step "C++ tests, $1" "${4-} ctest --preset $1 -j $native --no-tests=ignore ${2-}"
}

python_tests() { # options of pytest
  step "Python tests" "pytest -n $at_once --dist loadfile --no-loadscope-reorder ${1-}"
}

# The clang compilers among the packages of lists.
clang_in() { sed -n 's/^clang-/clang++-/p' "$@" | tr '\n' ' '; }

case $what in
  quick) ;;
  all) step "public headers alone: clang" "tests/compilers/run.py $(clang_in tools/packages-test.txt)" ;;
  long) step "public headers alone: every compiler" "
    tests/compilers/run.py --each g++ $(clang_in tools/packages-test.txt tools/packages-long.txt)" ;;
esac

if [ "$what" = quick ]; then
  # What explores interleavings or starts a program for each case takes more than half the time: label slow.
  complete=OFF build_and_test release "-LE '^slow\$'"
  rm -rf build/installed
  cmake --install build/release --prefix "$PWD/build/installed" > /dev/null
  HEAPLAB_NATIVE=$PWD/build/installed PYTHONPATH=$PWD/python python_tests "-m 'not long and not slow and not starts_programs'"
  exit
fi

# What all leaves to long, beside tests with that label (cmake/heaplab_tests.cmake, tests/python):
# headers      under GCC, which compiles them with the tests, and under other versions of clang.
# folders      release has no tests of local allocators, traces, recorded programs and the harness, because asan has
#              them; and none of the cost of local allocators and of the simulated caches.
# stress       nine of ten rounds.
# clang-tidy   sources that the last 20 commits did not touch.
# asan         has no benchmarks, which run in release under heaps with planted faults, and no allocators, whose
#              memory it does not know: tsan has them with the sanitizer of undefined behaviour.
# tsan         has no programs of one thread.
if [ "$what" = long ]; then
  release_tests='' stress='' left_out='' asan_tests='' asan_targets=tests tsan_tests='' tsan_targets=all
  python_options='' last=''
else
  python_options="-m 'not long'" last='--last 20'
  left_out='coherence;harness;local;local_cost;recorded;trace'
  release_tests="-LE '^long\$'"
  stress=HEAPLAB_STRESS=short
  asan='base harness local probes properties recorded recorder stress trace'
  asan_tests="-L '^($(echo $asan | tr ' ' '|'))\$'"
  asan_targets=$(printf 'tests.%s ' $asan)
  tsan_tests="-L '^(concurrent|harness|llheap|probes|scalloc|stress)\$'" # of these, what is built
  tsan_targets='tests.stress tests.threads'
fi

build_and_test release "$release_tests" "" "$stress" "$left_out"
step "clang-tidy" "cmake --preset dev && tools/tidy.py $last"
build_and_test asan "$asan_tests" "--target $asan_targets"
build_and_test tsan "$tsan_tests" "--target $tsan_targets"
python_tests "$python_options"
if [ "$what" = long ]; then
  step "C++ build, paranoid" "cmake --preset paranoid && cmake --build --preset paranoid"
  step "C++ tests, paranoid" "ctest --preset paranoid -L 'conformance|llheap|properties|scalloc|stress' -j $at_once"
  # Not in all: the build alone takes minutes.
  step "C++ build, aarch64" "cmake --preset aarch64 && cmake --build --preset aarch64"
  for page in 4096 16384 65536; do
    step "C++ tests, aarch64, pages of $page bytes" "QEMU_PAGESIZE=$page ctest --preset aarch64 -j $at_once"
  done
  step "recipes of packaging" packaging/test_shelves.py
  tools/test_emulated.sh
  tools/test_bare_root.sh
fi
