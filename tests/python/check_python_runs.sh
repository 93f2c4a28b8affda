#!/bin/sh
# The Python package without PyTorch: runs, live metrics, checkpoints as numpy arrays, jobs of a
# server.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'cffi, numpy') || skip 'no Python has cffi and numpy'
make_package "$python"
"$python" "$tree/tests/python/test_runs.py"
"$python" "$tree/tests/python/test_notebook.py"
"$python" "$tree/tests/python/test_random_runs.py"
