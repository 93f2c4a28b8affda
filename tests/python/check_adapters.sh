#!/bin/sh
# LoRA of a folder of transformers beside PEFT: losses of 20 steps, logits adapted and merged.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, transformers, peft') ||
    skip 'no Python has PyTorch, transformers and peft; CSE_TORCH_PYTHON names one'
"$python" -B -W ignore "$tree/tests/python/adapters.py" "$CSENGINE_EXECUTABLE" "$work"
mkdir "$work/in"
"$python" -B -W ignore "$tree/tests/python/adapters_in.py" "$CSENGINE_EXECUTABLE" "$work/in"
