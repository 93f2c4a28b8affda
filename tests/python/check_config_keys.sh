#!/bin/sh
# Each key of each family's config.json, changed: the values of transformers, or refused by name.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, transformers') ||
    skip 'no Python has PyTorch and transformers; CSE_TORCH_PYTHON names one'
"$python" -B -W ignore "$tree/tests/python/config_keys.py" "$CSENGINE_EXECUTABLE" "$work" \
    "$tree/tests/reference/config_keys.txt"
