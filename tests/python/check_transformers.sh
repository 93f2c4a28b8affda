#!/bin/sh
# Models of the transformers package on the engine beside PyTorch.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, cffi, cloudpickle, transformers') ||
    skip 'no Python has PyTorch, cffi, cloudpickle and transformers; CSE_TORCH_PYTHON names one'
make_package "$python"
"$python" -W ignore "$tree/tests/python/test_transformers.py"
