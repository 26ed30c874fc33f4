#!/bin/sh
# Runs a command with a folder as its root, in a mount namespace that the caller has made: after chroot, the kernel
# lets nobody make another namespace, as tests do that run programs in a container.
# Usage: unshare --mount tools/enter_root.sh FOLDER COMMAND [ARGUMENT]...
set -eu
root=$1
shift
mount --rbind "$root" "$root"
mount -t proc proc "$root/proc" # may be read-only, and then nobody can make a user namespace
cd "$root"
mkdir .outside
pivot_root . .outside
umount -l .outside
rmdir .outside
exec "$@"
