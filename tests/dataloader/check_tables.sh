#!/bin/sh
# Tables, arrays and lines of JSON as people have them, written by pandas, NumPy, pyarrow and json:
# each value that is read is the one that these libraries read. Skipped where no Python has them;
# what needs none is held by check_csv_table, check_npy and check_json_line.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'pandas, pyarrow, numpy') ||
    skip 'no Python has pandas and pyarrow; CSE_TORCH_PYTHON names one'
make -s -C "$build" bench/bench_inputs
export CSENGINE_PYTHON="$python" XDG_CACHE_HOME="$work/cache"
"$python" -W ignore "$tree/tests/dataloader/tables.py" "$build/bench/bench_inputs" "$work"
