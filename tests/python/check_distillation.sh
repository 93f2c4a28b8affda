#!/bin/sh
# Distillation from folders of transformers beside PyTorch: losses of 20 steps.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, transformers') ||
    skip 'no Python has PyTorch and transformers; CSE_TORCH_PYTHON names one'
"$python" -B -W ignore "$tree/tests/python/distillation.py" "$CSENGINE_EXECUTABLE" "$work"
