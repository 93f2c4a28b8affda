#!/bin/sh
# A few faults of the campaign (fault_campaign.py) in which a target could be read twice: each run
# ends at its step, with the weights and rows of an undisturbed one, and leaves nothing behind.
# Skipped without python3 (its sqlite3).
set -u
python=${PYTHON:-python3}
"$python" -c 'import sqlite3' 2>/dev/null || { echo 'there is no python3: skipped'; exit 77; }
"$python" "${top_srcdir:?}/tests/workers/fault_campaign.py" "${CSENGINE_EXECUTABLE:?}" --slim
