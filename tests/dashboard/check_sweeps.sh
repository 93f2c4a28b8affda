#!/bin/sh
# The sweeps that a server shows, against their files, and who may start them; cases:
# sweeps_test.py. Those that are killed: check_sweeps_killed.sh.
set -eu
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
exec "$python" "$top_srcdir/tests/dashboard/sweeps_test.py" a_sweep_in_the_queue \
    damaged_and_hostile a_server_of_one_run_has_none a_named_token_starts_none
