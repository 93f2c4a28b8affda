#!/bin/sh
# PyTorch programs on the engine: operations, training loops and refusals beside PyTorch. They need
# a Python that has it: CSE_TORCH_PYTHON.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=${CSE_TORCH_PYTHON:-${PYTHON:-python3}}
"$python" -c 'import torch, cloudpickle' 2>/dev/null ||
    skip "$python has no PyTorch and cloudpickle; CSE_TORCH_PYTHON names one that has"
make_package "$python"
for test in operations refusals training; do
    "$python" -W ignore "$tree/tests/python/test_$test.py"
done
