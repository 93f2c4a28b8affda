#!/bin/sh
# A few faults of the campaign on several hosts (host_fault_campaign.py): the leading host and then
# its successor die, its coordinator alone does, a replica stands still for seconds, two others die
# at once. Skipped without python3 (its sqlite3).
set -u
python=${PYTHON:-python3}
"$python" -c 'import sqlite3' 2>/dev/null || { echo 'there is no python3: skipped'; exit 77; }
"$python" "${top_srcdir:?}/tests/workers/host_fault_campaign.py" "${CSENGINE_EXECUTABLE:?}" --slim
