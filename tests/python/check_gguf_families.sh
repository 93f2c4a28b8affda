#!/bin/sh
# GGUF files of the families with random weights: logits beside llama.cpp and transformers, and the
# way back.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, transformers, llama_cpp') ||
    skip 'no Python has PyTorch, transformers and llama-cpp-python; CSE_TORCH_PYTHON names one'
for file in gguf_files gguf_encoders; do
    "$python" -B -W ignore "$tree/tests/python/families/$file.py" "$CSENGINE_EXECUTABLE" "$work"
done
