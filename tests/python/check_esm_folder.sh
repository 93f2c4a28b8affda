#!/bin/sh
# An ESM-2 of transformers, in its folder: the same logits, a training that begins with it, and the
# way back.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, transformers') ||
    skip 'no Python has PyTorch and transformers; CSE_TORCH_PYTHON names one'
"$python" -B -W ignore "$tree/tests/python/esm_folder.py" "$CSENGINE_EXECUTABLE" "$work"
