#!/bin/sh
# Makes a Debian root of this machine's release by mmdebstrap, with packages from this machine's apt sources, fetched
# as its apt is configured to.
# Usage: tools/debian_root.sh OUTPUT [OPTION]...     of mmdebstrap; needs root or unprivileged user namespaces
set -eu
output=$1
shift
command -v mmdebstrap >/dev/null || {
  echo "tools/debian_root.sh: no mmdebstrap, install it with: sudo apt-get install mmdebstrap" >&2
  exit 2
}
configuration=$(mktemp)
chmod a+r "$configuration" # in a user namespace it is of another user
trap 'rm -f "$configuration"' EXIT
trap 'exit 130' INT TERM HUP
apt-config dump | sed -n '/^Acquire/p' >"$configuration"
mmdebstrap --aptopt="$configuration" "$@" "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$output" \
  $(find /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | grep -E '(debian\.sources|\.list)$')
