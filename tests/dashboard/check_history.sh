#!/bin/sh
# Forks and steps that were done again, as one history, against the stores: history_test.py.
set -eu
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
exec "$python" "$top_srcdir/tests/dashboard/history_test.py"
