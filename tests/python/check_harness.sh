#!/bin/sh
# Tasks of data sets beside the lm-evaluation-harness, where a Python has it; some minutes.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, transformers, lm_eval, datasets') ||
    skip 'no Python has PyTorch, transformers, datasets and the lm-evaluation-harness;' \
        'CSE_TORCH_PYTHON names one'
"$python" -B -W ignore "$tree/tests/python/harness.py" "$CSENGINE_EXECUTABLE" "$work"
