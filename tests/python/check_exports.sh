#!/bin/sh
# Weights that leave for other programs keep what they came with: token ids, how texts are
# generated, the tokenizer's files, scaled positions and biases. Read by transformers and by the
# package gguf.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, transformers, gguf') ||
    skip 'no Python has PyTorch, transformers and gguf; CSE_TORCH_PYTHON names one'
"$python" -B -W ignore "$tree/tests/python/exports.py" "$CSENGINE_EXECUTABLE" "$work"
