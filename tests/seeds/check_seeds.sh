#!/bin/sh
# What the five documents of docs/seeds.md state about Python programs, a test a statement. They
# need a Python that has PyTorch: CSE_TORCH_PYTHON. Those about configurations: check_seeds_yaml.sh.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, cffi, cloudpickle') ||
    skip 'no Python has PyTorch, cffi and cloudpickle; CSE_TORCH_PYTHON names one that has'
make_package "$python"
"$python" -W ignore "$tree/tests/seeds/run.py" torch
