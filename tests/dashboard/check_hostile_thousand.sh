#!/bin/sh
# A thousand hostile configurations of a grammar over every setting, of which CSE_TEST_PART chooses
# 250 and CSE_HOSTILE_CASES=0:1000 are all; cases: hostile_test.py.
set -eu
. "${top_srcdir:?}/tests/support/part.sh"
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
PYTHONDONTWRITEBYTECODE=1
if [ -z "${CSE_HOSTILE_CASES:-}" ]; then
    CSE_HOSTILE_CASES=$(part_of 4 'hostile configurations' 0:250 250:250 500:250 750:250)
    [ "${CSE_TEST_PART:-0}" != all ] || CSE_HOSTILE_CASES=0:1000
fi
export PYTHONDONTWRITEBYTECODE CSE_HOSTILE_CASES
exec "$python" "$top_srcdir/tests/dashboard/hostile_test.py"
