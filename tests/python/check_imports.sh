#!/bin/sh
# The Python packages import downward, and no modules import each other in a circle.
set -eu
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo 'there is no python3: skipped'; exit 77; }
"$python" -B "${top_srcdir:-.}/tests/python/imports.py" "${top_srcdir:-.}/python"
