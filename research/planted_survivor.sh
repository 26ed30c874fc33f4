#!/bin/sh
# Plants a survivor in Redis, and compares what `heaplab advise` promises of it apart with what separating it
# gives: a burst of 60,000 values, all removed, then two seconds of quiet. Needs redis-server, redis-benchmark
# and cc. Example, some two minutes, in a folder of its own: sh research/planted_survivor.sh
set -eu
port=7790
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
planted=$work/planted.so
cc -O1 -g -fno-omit-frame-pointer -shared -fPIC -o "$planted" "$(dirname "$0")/planted_survivor.c" -ldl
c_library=$(ldd /bin/sh | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')
options="--port $port --save '' --appendonly no"

# Waits for the server, loads it, prints its anonymous memory, and ends it.
drive() {
  until redis-cli -p $port ping > "$work/ping" 2>&1 && grep -q PONG "$work/ping"; do sleep 0.1; done
  redis-benchmark -p $port -t set -n 60000 -r 60000 -d 400 -c 4 -q > "$work/load"
  redis-cli -p $port flushall > "$work/flushed"
  sleep 2
  pid=$(redis-cli -p $port info server | sed -n 's/process_id:\([0-9]*\).*/\1/p')
  sed -n "s/RssAnon:/$1/p" "/proc/$pid/status"
  redis-cli -p $port shutdown nosave > "$work/ended" 2>&1 || true
}

for run in 1 2 3; do
  for trim in "" 1; do
    for place in malloc apart; do
      PLANTED=$place PLANTED_TRIM=$trim LD_PRELOAD="$planted $c_library" \
        sh -c "exec redis-server $options" > "$work/server" 2>&1 &
      drive "run $run, survivors in ${place}${trim:+, with malloc_trim}:"
      wait $! || true
    done
  done
done
heaplab record --stacks -o "$work/redis.trace" -- \
  sh -c "LD_PRELOAD=\"\$LD_PRELOAD $planted\" exec redis-server $options" > "$work/server" 2>&1 &
drive "recorded:"
wait $! || true
heaplab advise "$work/redis.trace" --allocators "${1:-glibc,jemalloc,scalloc}"
