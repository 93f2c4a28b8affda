#!/bin/sh
# Signals to every process of a run, folders and files that go away under it, damaged files: the
# cases are in odd_endings_test.py. Skipped without python3 (its sqlite3).
set -u
csengine=$(realpath "${CSENGINE_EXECUTABLE:?}")
top=$(cd "${top_srcdir:-.}" && pwd)
python=${PYTHON:-python3}
"$python" -c 'import sqlite3' 2>/dev/null || { echo 'there is no python3: skipped'; exit 77; }
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" "$top/tests/run/job/odd_endings_test.py" "$csengine" "$top/configs/synthetic.yaml" "$work"
