#!/bin/sh
# Each planted fault of tests/mutants still fits the source; `make mutants` plants them.
set -eu
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
"$python" -B "$top_srcdir/tests/mutants/mutants.py" check "$top_srcdir/tests/mutants/list.txt" \
    "$top_srcdir"
