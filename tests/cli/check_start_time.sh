#!/bin/sh
# A start with a cached step: the processor time of the coordinator until it starts its workers,
# for 48 layers, and that it touches no moments, which begin as zeros. Processor time, the least of
# three rounds, and four times what a quiet machine needs: other work makes caches slower, not this
# fail.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
[ "${CSE_SANITIZE:-no}" = no ] || { echo 'sanitizers multiply the time'; exit 77; }
PYTHONDONTWRITEBYTECODE=1 python3 "${top_srcdir:-.}/bench/start_time.py" \
    --csengine "$csengine" --rounds 3 --least 240 || exit 1
# 2 million weights: 8 MB, and twice as much of moments.
PYTHONDONTWRITEBYTECODE=1 python3 "${top_srcdir:-.}/bench/start_time.py" \
    --csengine "$csengine" --rounds 1 --most_shared_mb 12 -- \
    "${top_srcdir:-.}/configs/gpt2_tiny.yaml" --set model.num_layers=10 --num_csx 1
