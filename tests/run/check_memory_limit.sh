#!/bin/sh
# `memory_limit`: what fits runs as without it; what does not is recomputed, as little as needed;
# the rest is refused with a setting that is accepted then.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
config=$top_srcdir/configs/gpt2_tiny.yaml
failures=0
set -- --set model.num_layers=2 --set checkpoint.steps=null --set checkpoint.minutes=0 \
    --set loop.num_steps=3 --compile_dir "$folder/compiled"

fail() {
    echo "FAIL: $*"
    failures=1
}

plan() { # options: the plan in `json`
    "$CSENGINE_EXECUTABLE" plan "$config" --memory --json --model_dir "$folder/plan" "$@" \
        >"$folder/json" 2>"$folder/err"
}

# Bytes that count against the limit: all parts but pages of files.
peak() { # options
    plan "$@" || fail "no plan: $(cat "$folder/err")"
    sed 's/"phase":"validation".*//; s/{"part"/\n&/g' "$folder/json" |
        sed -n '/"part":"program"/d; s/^{"part":.*"bytes":\([0-9]*\).*/\1/p' |
        awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

digest() { # options
    model_dir=$(mktemp -d "$folder/run_XXXXXX")
    CSE_DASHBOARD=0 "$CSENGINE_EXECUTABLE" start "$config" "$@" --model_dir "$model_dir" \
        >"$folder/output" 2>&1 || { cat "$folder/output"; exit 1; }
    sed -n 's/^Weights digest: //p' "$folder/output"
}

unlimited=$(peak "$@")
without=$(digest "$@")
[ -n "$without" ] || fail 'no digest'

# A limit that the run keeps anyway changes nothing.
[ "$(peak "$@" --set init.memory_limit=1GiB)" = "$unlimited" ] ||
    fail 'another plan below the limit'
[ "$(digest "$@" --set init.memory_limit=1GiB)" = "$without" ] ||
    fail 'another digest below the limit'
grep -q 'computed again' "$folder/output" && fail 'recomputed without need'

# 500 kB less: some of the two layers are recomputed. This model sums nothing in a loop that
# recomputation changes: the same bits.
limit=$((unlimited - 500000))
[ "$(peak "$@" --set "init.memory_limit=$limit")" -le "$limit" ] ||
    fail 'the plan is above the limit'
grep -q 'computed again in the backward pass' "$folder/err" || fail "not told: $(cat "$folder/err")"
[ "$(digest "$@" --set "init.memory_limit=$limit")" = "$without" ] ||
    fail 'another digest with less'
grep -q 'computed again in the backward pass' "$folder/output" || fail 'not told by the run'

refused() { # words options...
    words=$1
    shift
    code=0
    plan "$@" || code=$?
    [ "$code" = 78 ] && grep -q -- "$words" "$folder/err" ||
        fail "$*: exit code $code: $(cat "$folder/err")"
}

# What a refusal names is accepted. Where the configuration says what is recomputed, it is left.
layers='init.recompute.scopes=[model.transformer_decoder.layers.*]'
accepted() { # setting options...: the refusal of these options names the setting
    setting=$1
    shift
    refused "the nearest that fits: ${setting##*.}: [0-9]" "$@"
    value=$(sed -n 's/.*nearest that fits: [a-z_]*: \([0-9]*\).*/\1/p' "$folder/err")
    plan "$@" --set "$setting=$value" || fail "refused, too: $(cat "$folder/err")"
}
chosen=$(peak "$@" --set "$layers")
accepted backend.cluster_config.num_csx "$@" --set "$layers" \
    --set "init.memory_limit=$((chosen - 100000))"
set -- "$@" --set backend.cluster_config.num_csx=1 --set fit.train_dataloader.batch_size=96 \
    --set fit.train_dataloader.micro_batch_size=96 --set "$layers"
large=$(peak "$@")
accepted fit.train_dataloader.micro_batch_size "$@" --set "init.memory_limit=$((large - 100000))"
refused 'the nearest that fits: checkpoint: {steps: null, minutes: 0}' "$@" \
    --set fit.train_dataloader.micro_batch_size=1 --set checkpoint.minutes=10 \
    --set "init.memory_limit=$(peak "$@" --set fit.train_dataloader.micro_batch_size=1)"

refused 'memory_limit: [0-9]*MiB is the least that was found' "$@" --set init.memory_limit=1MiB
least=$(sed -n 's/.*memory_limit: \([0-9]*MiB\) is the least.*/\1/p' "$folder/err")
code=0
plan "$@" --set "init.memory_limit=$least" || code=$?
grep -q 'nearest that fits' "$folder/err" || [ "$code" = 0 ] ||
    fail "$least was said to suffice: $(cat "$folder/err")"
CSE_DASHBOARD=0 "$CSENGINE_EXECUTABLE" start "$config" "$@" --set init.memory_limit=1MiB \
    --model_dir "$folder/refused" >"$folder/output" 2>&1 && fail 'a run above its limit began'
grep -q 'memory_limit: the run takes' "$folder/output" || fail "no reason: $(cat "$folder/output")"

for size in 2GX -1 1.5GiB GiB 0 99999999999GiB; do
    refused 'init.memory_limit: memory_limit: .*accepted: a whole number and' "$@" \
        --set "init.memory_limit=$size"
done

[ "$failures" = 0 ] || exit 1
echo "$unlimited bytes without a limit, $chosen with its layers recomputed"
