#!/bin/sh
# Carries out one shard of the plan in this folder on this node: run I/N
#
# With wheels in the bundle, heaplab is installed from them once for each kind of node, without network and
# without root, below $HEAPLAB_CACHE or ~/.cache/heaplab. Otherwise the Python that made the plan is used where
# it is here, else the heaplab of PATH.
set -eu
plan=$(cd "$(dirname "$0")" && pwd)
python=@PYTHON@

fail() {
  echo "heaplab: $1" >&2
  exit 2
}

[ $# -eq 1 ] || fail "name one shard: $0 I/N"

if [ -d "$plan/bundle/wheels" ]; then
  command -v python3 >/dev/null || fail "no python3 on this node"
  version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  wheels=$plan/bundle/wheels
  found=
  for wheel in "$wheels"/heaplab-*"$(uname -m)".whl "$wheels"/heaplab-*-any.whl; do
    [ ! -e "$wheel" ] || found=$wheel
  done
  [ -n "$found" ] || fail "the bundle has no heaplab for $(uname -m)"
  room=${HEAPLAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/heaplab}/nodes
  here=$room/@BUNDLE@-$(uname -m)-$version
  if [ ! -x "$here/bin/python" ]; then
    mkdir -p "$room"
    new=$(mktemp -d "$room/new.XXXXXX")
    trap 'rm -rf "$new"' EXIT
    python3 - "$plan/bundle" @BUNDLE@ <<'END' || fail "the wheels of the bundle are not those that were bundled"
import hashlib, json, pathlib, sys
folder, planned = pathlib.Path(sys.argv[1]), sys.argv[2]
listed = (folder / "files.json").read_bytes()
right = hashlib.sha256(listed).hexdigest() == planned and all(
    hashlib.sha256((folder / wheel["path"]).read_bytes()).hexdigest() == wheel["sha256"]
    for wheel in json.loads(listed)["wheels"]
)
sys.exit(not right)
END
    python3 -m venv "$new" >"$new/log" 2>&1 &&
      "$new/bin/python" -m pip install --quiet --no-index --find-links "$wheels" heaplab >>"$new/log" 2>&1 ||
      fail "the wheels do not fit this node, $(uname -m) with Python $version: $(tail -n 1 "$new/log")"
    # Another job of this node may have been faster.
    mv -T "$new" "$here" 2>/dev/null || [ -x "$here/bin/python" ] || fail "$here: cannot be written"
    trap - EXIT
  fi
  exec "$here/bin/python" -m heaplab cluster run "$plan" --shard "$1"
fi
if [ -x "$python" ]; then
  exec "$python" -m heaplab cluster run "$plan" --shard "$1"
fi
command -v heaplab >/dev/null || fail "no heaplab on this node, and no wheels in the plan: heaplab cluster plan --wheels"
exec heaplab cluster run "$plan" --shard "$1"
