#!/bin/sh
# What happened to a run, and at which step; cases: marks_test.py.
set -eu
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
exec "$python" "$top_srcdir/tests/dashboard/marks_test.py"
