#!/bin/sh
# Folders of transformers' families with random weights: logits, losses of a training, and the way
# back, beside PyTorch.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, transformers') ||
    skip 'no Python has PyTorch and transformers; CSE_TORCH_PYTHON names one'
for file in "$tree"/tests/python/families/*.py; do
    case $file in */trial.py | */page.py | */gguf_*.py) continue ;; esac
    "$python" -B -W ignore "$file" "$CSENGINE_EXECUTABLE" "$work"
done
