#!/bin/sh
# A thousand runs as a table, and some of them beside each other: see check_experiments.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
python=${PYTHON:-python3}
command -v "$python" >/dev/null || skip 'there is no python3'
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
PYTHON=$python timeout 600 "$node" "$top_srcdir/tests/web/check_experiments.mjs" \
    "$CSENGINE_EXECUTABLE" "$dist" "$shots" "$directory" \
    "$top_srcdir/tests/support/many_runs.py"
