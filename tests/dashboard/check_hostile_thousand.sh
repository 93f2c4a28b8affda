#!/bin/sh
# A thousand hostile configurations of a grammar over every setting; cases: hostile_test.py.
set -eu
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
PYTHONDONTWRITEBYTECODE=1
CSE_HOSTILE_CASES=${CSE_HOSTILE_CASES:-0:1000}
export PYTHONDONTWRITEBYTECODE CSE_HOSTILE_CASES
exec "$python" "$top_srcdir/tests/dashboard/hostile_test.py"
