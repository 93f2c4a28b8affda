#!/bin/sh
# Thousands of random pictures of all kinds and of damaged ones, whole and turned, decoded here and
# by Pillow. Skipped where no Python has Pillow.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'PIL, numpy') ||
    skip 'no Python has Pillow and numpy; CSE_TORCH_PYTHON names one'
mkdir "$work/pictures"
"$python" -B "$tree/tests/reference/pictures.py" "$work/pictures" 1 40
CSE_PICTURES=$work/pictures "$build/tests/dataloader/check_pictures"
