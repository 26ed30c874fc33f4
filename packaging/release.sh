#!/bin/sh
# What `make release` does after the wheels are built: leaves in out/release the wheels, the source archive, the site
# and SHA256SUMS of them. Builds each wheel again in another folder and compares, and runs the
# wheels' tests in bare roots of three Debian releases and in a container's steps: an hour on two cores.
# Usage: packaging/release.sh        what a person does then: RELEASING.md
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
version=$(sed -n 's/^project(heaplab VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ -z "$(git status --porcelain)" ] || {
  echo "packaging/release.sh: commit first: a release is what a commit says" >&2
  exit 1
}
grep -q "^## .*$version" CHANGELOG.md || {
  echo "packaging/release.sh: CHANGELOG.md has no section for $version" >&2
  exit 1
}
out=$PWD/out/release
rm -rf "$out"
mkdir -p "$out"
step() { tools/step.sh "$1" "mend what the log names, then run make release again" sh -euc "$2"; }

another=$(mktemp -d)
trap 'rm -rf "$another"' EXIT
git clone -q . "$another/folder-of-another-length"
ln -s "$PWD/.venv" "$another/folder-of-another-length/.venv"
for wheel in out/wheel/heaplab-"$version"-*.whl; do
  machine=$(expr "$wheel" : '.*manylinux_[0-9]*_[0-9]*_\(.*\)[.]whl')
  step "wheel for $machine again: in another folder" "
    cd '$another/folder-of-another-length'
    CCACHE_DISABLE=1 packaging/wheel/build.sh $machine '$another/wheel'
    cmp '$another/wheel/$(basename "$wheel")' '$PWD/$wheel'"
  cp "$wheel" "$out"
done
step "source archive" "
  python -c 'import sys, scikit_build_core.build as b; print(b.build_sdist(sys.argv[1]))' '$out'"
step "site" "make site && tar -C out/site --sort=name --owner=0 --group=0 --numeric-owner \
  --mtime=@$(git log -1 --format=%ct) -cf - . | gzip -n >'$out/heaplab-site-$version.tar.gz'"
step "wheels elsewhere: what pip refuses" "packaging/wheel/test_refusals.py $out/*.whl"
for suite in bullseye bookworm trixie; do
  step "wheel in a bare root of $suite" "packaging/wheel/test_in_root.sh $suite $out/*_$(uname -m).whl"
done
step "wheel for aarch64 under qemu" "packaging/wheel/test_aarch64.sh $out/*_aarch64.whl"
step "steps of the Containerfile" packaging/container/test.py
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out"
