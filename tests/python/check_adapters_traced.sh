#!/bin/sh
# Models that peft wraps, in a loop of cstorch beside PyTorch's own.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, cffi, cloudpickle, transformers, peft') ||
    skip 'no Python has PyTorch, cffi, cloudpickle, transformers and peft; CSE_TORCH_PYTHON' \
        'names one'
make_package "$python"
"$python" -W ignore "$tree/tests/python/test_adapters.py"
