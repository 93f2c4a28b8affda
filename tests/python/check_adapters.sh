#!/bin/sh
# LoRA and DoRA beside PEFT: losses of 20 steps, logits adapted and merged, folders in and out.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, transformers, peft') ||
    skip 'no Python has PyTorch, transformers and peft; CSE_TORCH_PYTHON names one'
"$python" -B -W ignore "$tree/tests/python/adapters.py" "$CSENGINE_EXECUTABLE" "$work"
mkdir "$work/in"
"$python" -B -W ignore "$tree/tests/python/adapters_in.py" "$CSENGINE_EXECUTABLE" "$work/in"
mkdir "$work/on"
"$python" -B -W ignore "$tree/tests/python/adapters_on.py" "$CSENGINE_EXECUTABLE" "$work/on"
