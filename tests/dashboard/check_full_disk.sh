#!/bin/sh
# A full disk for a job, and for the server itself; the cases are in full_disk_test.py. A small disk
# needs root or a user namespace; where neither is allowed, a file size limit replaces it.
set -eu
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
test=$top_srcdir/tests/dashboard/full_disk_test.py
try='mount -t tmpfs -o size=1m none "$0" && umount "$0"'
place=$(mktemp -d)
trap 'rmdir "$place"' EXIT
if sh -c "$try" "$place" 2>/dev/null; then
    CSE_SMALL_DISK=yes "$python" "$test"
elif unshare -rm sh -c "$try" "$place" 2>/dev/null; then
    CSE_SMALL_DISK=yes unshare -rm "$python" "$test"
else
    CSE_SMALL_DISK=no "$python" "$test"
fi
