#!/bin/busybox sh
# The first process of the machine that machine.py starts, whose console it writes to.
trap 'busybox poweroff -f' EXIT
set -e
mkdir -p /proc /sys
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mount -t devtmpfs dev /dev
cd /emulated
. ./run.sh
echo "end"
