#!/bin/sh
# The Python package without PyTorch: runs, live metrics, checkpoints as numpy arrays, jobs of a
# server.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
make_package "${PYTHON:-python3}"
"${PYTHON:-python3}" "$tree/tests/python/test_runs.py"
