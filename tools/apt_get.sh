#!/bin/sh
# Installs Debian packages. Waits up to two minutes for another process that holds a lock of apt's or dpkg's, as
# is usual in the first minutes of a new virtual machine. DPkg::Lock::Timeout would not cover the package lists.
# Starts no service of a package: whoever wants the checks of servers did not ask for a server on port 80. A
# policy-rc.d that exits 101 forbids starting (Debian's policy of invoke-rc.d); one that is there already stays.
# Usage: tools/apt_get.sh PACKAGE...     SBIN=FOLDER: where policy-rc.d lies, /usr/sbin
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
policy=${SBIN:-/usr/sbin}/policy-rc.d
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
trap 'exit 130' INT TERM HUP
waits=60 # of two seconds

patiently() {
  until apt-get -q "$@" 2>"$errors"; do
    grep -qE 'Could not get lock|was locked by another process' "$errors" && [ $waits -gt 0 ] || {
      cat "$errors"
      exit 1
    }
    waits=$((waits - 1))
    echo "waiting up to two minutes for apt's lock, $(grep -o -m 1 'held by.*' "$errors")"
    sleep 2
  done
  cat "$errors"
}

if [ ! -e "$policy" ]; then
  trap 'rm -f "$errors" "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
fi
patiently update
patiently install -y --no-install-recommends "$@"
