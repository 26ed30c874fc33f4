#!/bin/sh
# Builds Debian packages of what is committed: out/debian/*.deb and the source package, which lintian then looks at.
# Usage: packaging/debian/build.sh [OPTION]...     of dpkg-buildpackage: -A for the headers alone, which takes seconds
# Needs debhelper, cmake and lintian.
set -eu
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^project(heaplab VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
out=$PWD/out/debian
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tree=$scratch/heaplab-$version
git archive --prefix="heaplab-$version/" HEAD | tar -C "$scratch" -x
tar -C "$scratch" --sort=name --owner=0 --group=0 -czf "$scratch/heaplab_$version.orig.tar.gz" "heaplab-$version"
mv "$tree/packaging/debian/debian" "$tree/debian"
rm -r "$tree/packaging/debian"
cat >"$tree/debian/changelog" <<EOF
heaplab ($version-1) UNRELEASED; urgency=medium

  * Of a clone; what is new is in CHANGELOG.md.

 -- $(sed -n 's/^Maintainer: //p' "$tree/debian/control")  $(git log -1 --format=%cD)
EOF
(cd "$tree" && dpkg-buildpackage -us -uc -d "$@")
# Left to the person who uploads: an address, and the bug that asks for the package.
lintian --fail-on error,warning --allow-root "$scratch"/*.changes \
  --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs
rm -rf "$out"
mkdir -p "$out"
find "$scratch" -maxdepth 1 -type f -exec mv -t "$out" {} +
