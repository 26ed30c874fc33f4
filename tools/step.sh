#!/bin/sh
# Runs one step of a longer task, and shows its name, how long it takes, and the last line of its output, which
# tells how far it is. On a terminal this is one line that changes; elsewhere a line after 5 s and every 30 s.
# A step that fails shows the end of its output, where all of it lies, and what to do.
# Usage: tools/step.sh NAME ADVICE COMMAND [ARGUMENT]...     NAME up to a colon names the log in build/logs
set -eu
name=$1 advice=$2
shift 2
log=build/logs/$(printf %s "${name%%:*}" | tr -cs 'A-Za-z0-9' -).log
mkdir -p build/logs
began=$(date +%s)

elapsed() {
  seconds=$(($(date +%s) - began))
  printf '%d:%02d' $((seconds / 60)) $((seconds % 60))
}

last_line() { tail -n 1 "$log" | tr -cd '[:print:]' | sed 's/^ *//'; }

# The sleep holds no file of the caller's: where this shell is killed, a pipe it wrote to must not stay open.
show() {
  looks=0
  while sleep 1 </dev/null >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    looks=$((looks + 1))
    if [ -t 2 ]; then
      printf '\r%-79.79s' "== $name  $(elapsed)  $(last_line)"
    elif [ $looks = 5 ] || [ $((looks % 30)) = 0 ]; then
      printf '   %s  %.70s\n' "$(elapsed)" "$(last_line)"
    fi
  done >&2
}

: >"$log"
if [ -t 2 ]; then printf '== %s' "$name" >&2; else echo "== $name" >&2; fi
show &
show=$!
trap 'kill $show 2>/dev/null' EXIT
trap 'exit 130' INT TERM HUP
status=0
"$@" >"$log" 2>&1 || status=$?
[ ! -t 2 ] || printf '\r%79s\r== %s\n' '' "$name" >&2
if [ "$status" -eq 0 ]; then
  echo "   $(elapsed)  done" >&2
  grep -E 'tests passed|[0-9]+ passed' "$log" | tail -n 1 # how many, where the step is a run of tests
  exit 0
fi
lines=20
[ -t 2 ] || lines=200 # nobody can open the log of a machine that runs checks by itself
tail -n $lines "$log" >&2
printf '%s\n' "failed after $(elapsed): $name" "all of its output: $log" "what to do: $advice" >&2
exit "$status"
