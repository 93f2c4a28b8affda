#!/bin/sh
# A part of the campaign of faults on three and four hosts, on one machine: each process of each
# host, and pairs and triples of them within five seconds. CSE_HOST_FAULTS says how many runs; 500
# are the whole. Skipped without python3 (its sqlite3).
set -u
python=${PYTHON:-python3}
"$python" -c 'import sqlite3' 2>/dev/null || { echo 'there is no python3: skipped'; exit 77; }
"$python" "${top_srcdir:?}/tests/workers/host_fault_campaign.py" "${CSENGINE_EXECUTABLE:?}" \
    --faults "${CSE_HOST_FAULTS:-10}"
