#!/bin/sh
# One row a step in the run store, and one line in each log file, whatever was killed; one file at
# the end, whoever has it open: the cases are in one_row_test.py. Skipped without python3 (its
# sqlite3).
set -u
csengine=$(realpath "${CSENGINE_EXECUTABLE:?}")
top=$(cd "${top_srcdir:-.}" && pwd)
python=${PYTHON:-python3}
"$python" -c 'import sqlite3' 2>/dev/null || { echo 'there is no python3: skipped'; exit 77; }
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" "$top/tests/store/one_row_test.py" "$csengine" "$top/configs/synthetic.yaml" "$work"
