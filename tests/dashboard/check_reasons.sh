#!/bin/sh
# Why jobs are FAILED: each reason is reached by a job that has it, with its exit code, and is tried
# again only where that can help; cases: reasons_test.py.
set -eu
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
[ "${CSE_SANITIZE:-no}" = no ] || { echo "a sanitizer makes jobs slow: skipped"; exit 77; }
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
exec "$python" "$top_srcdir/tests/dashboard/reasons_test.py"
