#!/bin/sh
# PyTorch programs on the engine: operations, training loops and refusals beside PyTorch, and what
# the client library does in such a process. They need a Python that has it: CSE_TORCH_PYTHON.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, cffi, cloudpickle') ||
    skip 'no Python has PyTorch, cffi and cloudpickle; CSE_TORCH_PYTHON names one that has'
make_package "$python"
failed=
for test in "$tree"/tests/python/test_*.py; do
    case $test in
    */test_runs.py | */test_transformers.py | */test_wheel.py) ;; # have checks of their own
    *) "$python" -W ignore "$test" || failed="$failed $(basename "$test")" ;;
    esac
done
[ -z "$failed" ] || { echo "failed:$failed" && exit 1; }
