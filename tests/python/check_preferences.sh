#!/bin/sh
# Preference training of a folder of transformers beside TRL: losses and rewards of 20 steps.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, transformers, peft, trl, datasets') ||
    skip 'no Python has PyTorch, transformers, peft, trl and datasets; CSE_TORCH_PYTHON names one'
"$python" -B -W ignore "$tree/tests/python/preferences.py" "$CSENGINE_EXECUTABLE" "$work"
