#!/bin/sh
# Installs a wheel in a bare Debian root as a user without root and compiler would, then asks for a first answer without
# a network: inside.sh says what must hold. Prints how long both took.
# Usage: packaging/wheel/test_in_root.sh bullseye|bookworm|trixie WHEEL      needs what tools/debian_root.sh needs
set -eu
cd "$(dirname "$0")/../.."
suite=$1
wheel=$2
certificates=/etc/ssl/certs/ca-certificates.crt

work=$(mktemp -d)
chmod a+rx "$work"
trap 'rm -rf "$work"' EXIT
mkdir "$work/wheel-test"
cp "$wheel" packaging/wheel/inside.sh "$work/wheel-test"
set -- --customize-hook="upload $certificates $certificates"
[ ! -f /etc/pip.conf ] || set -- "$@" --customize-hook="upload /etc/pip.conf /etc/pip.conf"
pip_settings=$(env | grep -E '^(PIP_(INDEX_URL|EXTRA_INDEX_URL|CERT|DEFAULT_TIMEOUT)|https?_proxy|no_proxy)=[^ ]*$' | tr '\n' ' ' || true)
user="chroot --userspec=1000:1000 \"\$1\" env -i PATH=/usr/bin:/bin HOME=/home/user LANG=C.UTF-8 $pip_settings"
inside="sh /wheel-test/inside.sh"

HEAPLAB_DEBIAN_RELEASE=$suite tools/debian_root.sh /dev/null --variant=apt \
  --include=ca-certificates,python3,python3-venv \
  --customize-hook="copy-in $work/wheel-test /" "$@" \
  --customize-hook='mkdir -p "$1/home/user" && chown 1000:1000 "$1/home/user"' \
  --customize-hook="$user $inside install" \
  --customize-hook="unshare --net $user $inside use" \
  --customize-hook="unshare --net --mount sh -c 'umount -l \"\$1/proc\" && $user $inside without_proc' sh \"\$1\""
