#!/bin/sh
# Installs the Debian packages named in the given lists that are not here yet.
# Without root: says in one line what to install, and fails.
# Usage: tools/install_packages.sh LIST...
set -eu
missing=
for package in $(cat "$@"); do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
  echo "packages are missing; install them with: sudo apt-get install$missing" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
{ apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } >build/packages.log 2>&1 || {
  tail -n 20 build/packages.log >&2
  echo "apt-get could not install:$missing (build/packages.log)" >&2
  exit 1
}
