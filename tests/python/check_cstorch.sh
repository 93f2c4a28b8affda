#!/bin/sh
# PyTorch programs on the engine: operations, training loops and refusals beside PyTorch, and what
# the client library does in such a process. They need a Python that has it: CSE_TORCH_PYTHON.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, cffi, cloudpickle') ||
    skip 'no Python has PyTorch, cffi and cloudpickle; CSE_TORCH_PYTHON names one that has'
make_package "$python"
for test in operations losses refusals traps silent client owner reference stubs same_step \
    training schedules workers notebook optimizer_arguments conversions arguments saves \
    between_loops random_calls; do
    "$python" -W ignore "$tree/tests/python/test_$test.py"
done
