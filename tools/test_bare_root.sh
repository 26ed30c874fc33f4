#!/bin/sh
# The README's two commands on a fresh machine: makes a bare Debian root of this machine's release, which holds
# apt, make, mount and certificates, and runs a short `make compare` and `make test` on a clone of the last commit there,
# which install what else they need from tools/packages-*.txt. Fails if a run of compare gave no figure, or a check
# failed. Takes forty minutes on two cores.
# Packages come from this machine's apt sources and pip configuration. Leaves build/bare-root/report.html.
# Usage: tools/test_bare_root.sh [BUDGET]      of measuring, 5m unless given; needs what tools/debian_root.sh needs
set -eu
cd "$(dirname "$0")/.."
budget=${1:-5m}
out=$PWD/build/bare-root
certificates=/etc/ssl/certs/ca-certificates.crt

rm -rf "$out"
git clone -q . "$out/tree"
cat >"$out/inside.sh" <<EOF
began=\$(date +%s)
cd /tree
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
  $(env | grep -E '^(PIP_[A-Z_]+|https?_proxy|no_proxy)=[^ ]*$' | tr '\n' ' ') \
  sh -c 'make compare OPTIONS="--budget $budget" && make test' || exit
echo "make compare and make test took \$((\$(date +%s) - began)) s"
EOF
set -- --customize-hook="upload $certificates $certificates"
[ ! -f /etc/pip.conf ] || set -- "$@" --customize-hook="upload /etc/pip.conf /etc/pip.conf"

tools/step.sh "make compare and make test in a bare Debian root: forty minutes" "read where they stopped" \
  tools/debian_root.sh /dev/null --variant=apt --include=ca-certificates,make,mount \
  --customize-hook="copy-in $out/tree $out/inside.sh /" "$@" \
  --customize-hook='unshare --mount tools/enter_root.sh "$1" sh /inside.sh' \
  --customize-hook="download /tree/out/compare/report.html $out/report.html"
