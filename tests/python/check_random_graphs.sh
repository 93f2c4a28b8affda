#!/bin/sh
# Random graphs of PyTorch's functions, forward and backward, beside PyTorch in float64
# (random_graphs.py). CSE_RANDOM_GRAPHS: how many; a second number is the first one's seed.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, cffi, cloudpickle') ||
    skip 'no Python has PyTorch, cffi and cloudpickle; CSE_TORCH_PYTHON names one that has'
make_package "$python"
# shellcheck disable=SC2086 # two numbers
"$python" -W ignore "$tree/tests/python/random_graphs.py" ${CSE_RANDOM_GRAPHS:-10000}
