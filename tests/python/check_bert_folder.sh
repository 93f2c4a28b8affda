#!/bin/sh
# A BERT of transformers, in its folder, as a classifier of texts: the same tokens and logits, a
# training that begins with it, and the way back.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, transformers') ||
    skip 'no Python has PyTorch and transformers; CSE_TORCH_PYTHON names one'
"$python" -B -W ignore "$tree/tests/python/bert_folder.py" "$CSENGINE_EXECUTABLE" "$work"
