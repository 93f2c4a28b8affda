#!/bin/sh
# Another user of this machine gets nothing; the cases are in second_user_test.py.
set -eu
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "only root can become a second user: skipped"; exit 77; }
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
exec "$python" "$top_srcdir/tests/dashboard/second_user_test.py"
