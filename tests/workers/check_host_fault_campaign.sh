#!/bin/sh
# A part of the campaign of faults on three and four hosts, on one machine: each process of each
# host, and pairs and triples of them within five seconds. 100 parts, which CSE_TEST_PART chooses,
# are the whole of 500 runs; CSE_HOST_FAULTS=N has the first N of them. Skipped without python3 (its
# sqlite3).
set -u
python=${PYTHON:-python3}
"$python" -c 'import sqlite3' 2>/dev/null || { echo 'there is no python3: skipped'; exit 77; }
parts=100
[ -z "${CSE_HOST_FAULTS:-}" ] || parts=1
PYTHONDONTWRITEBYTECODE=1 "$python" "${top_srcdir:?}/tests/workers/host_fault_campaign.py" \
    "${CSENGINE_EXECUTABLE:?}" --faults "${CSE_HOST_FAULTS:-500}" --parts "$parts"
