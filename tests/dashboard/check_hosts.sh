#!/bin/sh
# What the API and the log say of a run on several hosts: see hosts_test.py.
set -eu
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
exec "$python" "$top_srcdir/tests/dashboard/hosts_test.py"
