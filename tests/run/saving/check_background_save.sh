#!/bin/sh
# Checkpoints are written by a process of their own while training goes on: steps pass a checkpoint
# that is not written yet, up to the next one; a writer that is killed at any instant, or stands
# still, is replaced, and one that cannot do it costs its checkpoint alone; a coordinator that dies
# takes its writer with it; no half file is ever there under the final name, and the bits of
# training are those of a run without checkpoints. Skipped without python3.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
python=${PYTHON:-python3}
"$python" -c 'import sqlite3' 2>/dev/null || { echo 'there is no python3: skipped'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" "${top_srcdir:?}/tests/run/saving/background_save.py" "$csengine" \
    "$top_srcdir/configs/synthetic.yaml" "$work"
