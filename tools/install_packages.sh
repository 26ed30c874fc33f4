#!/bin/sh
# Installs the Debian packages named in the given lists that are not here yet.
# Without root: says in one line what to install, and fails.
# Usage: tools/install_packages.sh LIST...
set -eu
tools=$(dirname "$0")
missing=
for package in $(cat "$@"); do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
  echo "packages are missing; install them with: sudo apt-get install$missing" >&2
  exit 1
fi
exec "$tools/step.sh" "Debian packages:$missing" \
  "look whether apt-get update works (network, sources), or install them by hand, then run make again" \
  "$tools/apt_get.sh" $missing
