#!/bin/sh
# Folders that `datasets` of Hugging Face saved, read by the input arrow: each value of each row.
# Skipped where no Python has datasets.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'datasets, numpy') ||
    skip 'no Python has datasets; CSE_TORCH_PYTHON names one'
make -s -C "$build" bench/bench_inputs
"$python" -W ignore "$tree/tests/dataloader/arrow_datasets.py" "$build/bench/bench_inputs" "$work"
