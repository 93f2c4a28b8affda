#!/bin/sh
# A part of the campaign of faults: each role of a run, at each moment of it, with each source of
# its settings. 36 parts, which CSE_TEST_PART chooses, are all of them. Skipped without python3 (its
# sqlite3).
set -u
python=${PYTHON:-python3}
"$python" -c 'import sqlite3' 2>/dev/null || { echo 'there is no python3: skipped'; exit 77; }
PYTHONDONTWRITEBYTECODE=1 "$python" "${top_srcdir:?}/tests/workers/fault_campaign.py" \
    "${CSENGINE_EXECUTABLE:?}" --parts 36
