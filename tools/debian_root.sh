#!/bin/sh
# Makes a Debian root of this machine's release by mmdebstrap, with packages from this machine's apt sources, fetched
# as its apt is configured to. HEAPLAB_DEBIAN_RELEASE: of another release, from the same mirror.
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
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
if [ "${HEAPLAB_DEBIAN_RELEASE:-$release}" = "$release" ]; then
  sources=$(find /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | grep -E '(debian\.sources|\.list)$')
else
  release=$HEAPLAB_DEBIAN_RELEASE
  sources=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1)
fi
mmdebstrap --aptopt="$configuration" "$@" "$release" "$output" $sources
