#!/bin/sh
# A part, by CSE_TEST_PART, of each text in each setting, none of which becomes code; cases:
# texts_in_code.py.
set -eu
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
PYTHONDONTWRITEBYTECODE=1
CSE_TEXTS=${CSE_TEXTS:-parts}
export PYTHONDONTWRITEBYTECODE CSE_TEXTS
exec "$python" "$top_srcdir/tests/cli/texts_in_code.py"
