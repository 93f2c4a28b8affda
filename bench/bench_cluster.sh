#!/bin/sh
# Throughput of whole runs as ratios: 2 replicas against 1, and 3 input workers against 1. The runs are
# interleaved, since a shared machine's speed drifts; medians of the rounds' ratios are printed.
set -eu
csengine=${CSENGINE_EXECUTABLE:-./csengine}
here=$(cd "$(dirname "$0")" && pwd)
rounds=${ROUNDS:-5}
steps=${STEPS:-600}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

rate() { # num_csx num_workers_per_csx
    "$csengine" start "$here/fc_mnist_scaling.yaml" --json --num_csx "$1" --num_workers_per_csx "$2" \
        --num_steps "$steps" --model_dir "$work/run" --compile_dir "$work/compiled" 2>"$work/errors" |
        sed -n 's/.*"event": *"end".*"samples_per_second": *\([0-9.e+]*\).*/\1/p'
    rm -rf "$work/run"
}

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

rate 1 1 >/dev/null # compiles, and warms up
[ ! -s "$work/errors" ] || cat "$work/errors" >&2
i=0
while [ "$i" -lt "$rounds" ]; do
    one=$(rate 1 1)
    two=$(rate 2 1)
    three_workers=$(rate 1 3)
    if [ -z "$one" ] || [ -z "$two" ] || [ -z "$three_workers" ]; then
        echo "bench_cluster: a run failed:" >&2
        cat "$work/errors" >&2
        exit 1
    fi
    echo "$one" >>"$work/one"
    echo "$two $one" | awk '{ print $1 / $2 }' >>"$work/scaling"
    echo "$three_workers $one" | awk '{ print 1 - $1 / $2 }' >>"$work/loss"
    i=$((i + 1))
done
printf '1 replica, 1 input worker:           %.0f samples/s (median of %d)\n' "$(median <"$work/one")" "$rounds"
printf '2 replicas against 1:                %.3f times\n' "$(median <"$work/scaling")"
printf 'loss from 1 to 3 input workers:      %.1f %%\n' "$(median <"$work/loss" | awk '{ print 100 * $1 }')"
