#!/bin/sh
# Sweeps that run, that a server trains, and that are cancelled or killed, with and without their
# server; cases: sweeps_test.py.
set -eu
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
exec "$python" "$top_srcdir/tests/dashboard/sweeps_test.py" \
    while_it_runs_and_after_its_kill started_by_the_server cancelled_and_killed
