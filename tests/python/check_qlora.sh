#!/bin/sh
# QLoRA over weights of GGUF that stay packed, beside PEFT over the unpacked ones: losses of 20
# steps.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, transformers, peft, gguf') ||
    skip 'no Python has PyTorch, transformers, peft and gguf; CSE_TORCH_PYTHON names one'
"$python" -B -W ignore "$tree/tests/python/qlora.py" "$CSENGINE_EXECUTABLE" "$work"
