#!/bin/sh
# What must hold in a bare root; run there by test_in_root.sh, as a user, one step at a time.
# Usage: inside.sh install|use|without_proc
set -eu
cd "$HOME"
tools=$HOME/tools
wheel=$(echo /wheel-test/*.whl)
native=$HOME/unpacked/heaplab/native

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# No clock is tested; the times are for a reader.
timed() {
  began=$(date +%s)
  "$@" || fail "$*"
  echo "took $(($(date +%s) - began)) s: $*"
}

python_is_new_enough() { python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; }

install() {
  if command -v cc c++ gcc make; then fail "this root is not bare"; fi
  python3 -m venv "$tools"
  if python_is_new_enough; then
    timed "$tools/bin/pip" install -q --disable-pip-version-check "$wheel"
    return
  fi
  # pip of that age looks at the dependencies first, a newer one names the Python: either way nothing is installed.
  "$tools/bin/pip" install -q --disable-pip-version-check "$wheel" 2>errors && fail "installed under an old Python"
  grep '^ERROR' errors
  ! "$tools/bin/pip" list 2>/dev/null | grep -q heaplab || fail "half installed"
}

# Each program starts, and each library serves one, with the C and C++ libraries of this root.
natives_work() {
  for program in "$1"/bin/*; do
    "$program" --help >/dev/null || fail "$program does not start"
  done
  for library in "$1"/lib/*.so; do
    LD_PRELOAD=$library ls / >listed 2>errors || fail "$library: $(cat errors)"
    [ ! -s errors ] || fail "$library: $(cat errors)"
  done
  LD_PRELOAD=$1/lib/libheaplab_scalloc.so "$1/bin/threadtest" --threads 2 --rounds 10 --json - ||
    fail "threadtest under scalloc"
  for library in scalloc llheap; do
    LD_PRELOAD=$1/lib/libheaplab_$library.so "$1/libexec/check_contract" --gtest_brief=1 ||
      fail "the contract of malloc under $library"
  done
}

use() {
  ldd --version | sed -n 1p
  seq 300000 >numbers
  if ! python_is_new_enough; then
    python3 -m zipfile -e "$wheel" unpacked
    chmod a+x "$native"/bin/* "$native"/libexec/*
    natives_work "$native"
    return
  fi
  heaplab=$tools/bin/heaplab
  natives_work "$(echo "$tools"/lib/python3*/site-packages/heaplab/native)"
  timed "$heaplab" compare --budget 15s -o first -- sort -r numbers
  [ -s first/report.html ] || fail "no report"
  "$heaplab" check scalloc --part contract --part exports || fail "check"

  # What can only be built says in one line what it needs.
  "$heaplab" get snmalloc 2>&1 | tee errors || true
  [ "$(grep -c 'needs cargo' errors)" = 1 ] || fail "get does not say what a build needs"

  # A virtual environment that moved to a path with a space, and a home that cannot be written.
  mkdir "my files"
  mv "$tools" "my files/tools"
  python="my files/tools/bin/python3"
  LD_PRELOAD=$("$python" -m heaplab path scalloc) ls / >listed 2>errors || fail "moved"
  [ ! -s errors ] || fail "moved: $(cat errors)"
  HOME=/ "$python" -m heaplab compare --budget 15s -o second -- ls / || fail "under a home that cannot be written"
  mv "my files/tools" "$tools"
}

without_proc() {
  [ ! -e /proc/self ] || fail "there is a /proc"
  python_is_new_enough || return 0
  "$tools/bin/heaplab" with scalloc -- ls / >listed || fail "with"
  "$tools/bin/heaplab" doctor | grep -q '/proc cannot be read' || fail "doctor"
  "$tools/bin/heaplab" compare -o third -- ls / 2>errors && fail "measured without /proc"
  grep -q '^heaplab: nothing can be measured here' errors || fail "compare: $(cat errors)"
}

"$1"
echo "passed: $1"
