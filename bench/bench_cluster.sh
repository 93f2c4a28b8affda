#!/bin/sh
# Throughput of whole runs as ratios: 2 replicas on 2 cores against 1 replica on 1 core (with its
# input worker and coordinator on that core, too), and 3 input workers against 1. The runs are
# interleaved, since a shared machine's speed drifts, and medians of the rounds' ratios are printed.
# The machine's own limit is measured, too: two independent one-core runs at the same time. All runs
# must have ended with the same weights before their times are compared.
set -eu
csengine=${CSENGINE_EXECUTABLE:-./csengine}
here=$(cd "$(dirname "$0")" && pwd)
rounds=${ROUNDS:-5}
steps=${STEPS:-600}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# The run's samples/s; its digest goes to a file. A command before `csengine` may follow.
rate() { # num_csx num_workers_per_csx name [command...]
    csx=$1 workers=$2 name=$3
    shift 3
    "$@" "$csengine" start "$here/fc_mnist_scaling.yaml" --json --num_csx "$csx" \
        --num_workers_per_csx "$workers" --num_steps "$steps" --model_dir "$work/$name" \
        --compile_dir "$work/compiled" 2>"$work/errors" | grep '"end"' >"$work/$name.end" || true
    rm -rf "${work:?}/$name"
    sed -n 's/.*"weights_digest": *"\([0-9a-f]*\)".*/\1/p' "$work/$name.end" >>"$work/digests"
    sed -n 's/.*"samples_per_second": *\([0-9.e+]*\).*/\1/p' "$work/$name.end"
}

# Both at once, each on its own core: their rates together.
side_by_side() {
    rate 1 1 left taskset -c 0 >"$work/left.rate" &
    rate 1 1 right taskset -c 1 >"$work/right.rate"
    wait
    cat "$work/left.rate" "$work/right.rate" | awk '{ sum += $1 } END { print sum }'
}

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

if [ ! -d /usr/share/datasets/fashion-mnist ]; then
    echo 'bench_cluster: skipped: no /usr/share/datasets/fashion-mnist (dataset-fashion-mnist)'
    exit 0
fi
rate 1 1 run env >/dev/null # compiles, and warms up
i=0
while [ "$i" -lt "$rounds" ]; do
    core=$(rate 1 1 run taskset -c 0)
    two=$(rate 2 1 run taskset -c 0,1)
    both=$(side_by_side)
    one=$(rate 1 1 run env)
    three_workers=$(rate 1 3 run env)
    if [ -z "$core" ] || [ -z "$one" ] || [ -z "$two" ] || [ -z "$three_workers" ]; then
        echo 'bench_cluster: a run failed:' >&2
        cat "$work/errors" >&2
        exit 1
    fi
    echo "$core" >>"$work/core"
    echo "$two $core" | awk '{ print $1 / $2 }' >>"$work/scaling"
    echo "$both $core" | awk '{ print $1 / $2 }' >>"$work/limit"
    echo "$three_workers $one" | awk '{ print 100 * (1 - $1 / $2) }' >>"$work/loss"
    i=$((i + 1))
done
if [ "$(sort -u "$work/digests" | wc -l)" -ne 1 ]; then
    echo 'bench_cluster: the runs ended with different weights' >&2
    exit 1
fi
printf '%-46s %.0f samples/s (median of %d)\n' 'whole run on one core' \
    "$(median <"$work/core")" "$rounds"
printf '%-46s %.3f times\n' '2 replicas on 2 cores against 1 on 1' "$(median <"$work/scaling")"
printf '%-46s %.3f times\n' 'the machine: two such runs against one' "$(median <"$work/limit")"
printf '%-46s %.1f %%\n' 'loss from 1 to 3 input workers' "$(median <"$work/loss")"
