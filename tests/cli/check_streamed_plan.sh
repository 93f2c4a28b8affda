#!/bin/sh
# `csengine plan --streaming`: the bytes that a run with states in a file then reads and writes are
# within 5 % of the plan's; with the least memory that it says the run works, with less it is
# refused; a slow disk bounds the step, a fast one does not; what would have no effect is refused.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
config=$top_srcdir/configs/gpt2_tiny.yaml
export CSE_DASHBOARD=0
failures=0
fail() { echo "FAIL: $*"; failures=$((failures + 1)); }
in_file="--set states.keep_in=file --set states.directory=$work --set checkpoint.steps=null"
in_file="$in_file --compile_dir $work/compiled --set model.num_layers=2"
in_file="$in_file --set backend.cluster_config.num_csx=1"

plan() { # options: the JSON object in the file `json`
    # shellcheck disable=SC2086 # options
    "$CSENGINE_EXECUTABLE" plan "$config" --model_dir "$work/plan" --streaming --json $in_file \
        "$@" >"$work/json" 2>"$work/err" || { fail "no plan: $(cat "$work/err")"; exit 1; }
}
field() { # name: its value in the streamed part of the plan
    sed 's/.*"streaming"//' "$work/json" | grep -o "\"$1\":[^,}]*" | sed -n '1s/[^:]*://p'
}

run() { # steps, options: "read written" of all steps
    steps=$1
    shift
    # shellcheck disable=SC2086
    "$CSENGINE_EXECUTABLE" start "$config" --model_dir "$(mktemp -d "$work/run_XXXXXX")" --json \
        --num_steps "$steps" $in_file "$@" >"$work/lines" 2>"$work/err" ||
        { cat "$work/err" >&2; exit 1; }
    sed -n 's/.*"disk":{"read_bytes":\([0-9]*\),"written_bytes":\([0-9]*\).*/\1 \2/p' "$work/lines"
}

compare() { # what, options
    what=$1
    shift
    plan "$@" --disk_rate 1GiB
    short=$(run 2 "$@") long=$(run 6 "$@")
    echo "$what: planned $(field read_bytes) $(field written_bytes), $short after 2 steps," \
        "$long after 6"
    echo "$(field read_bytes) $(field written_bytes) $short $long" | awk '
        function near(a, b) { return a > 0 && (a / b - 1) ^ 2 <= 0.05 ^ 2 }
        { exit !(NF == 6 && near($1, ($5 - $3) / 4) && near($2, ($6 - $4) / 4)) }' ||
        fail "$what: the bytes of a step are more than 5 % from the plan's"
}
compare 'microbatches' --set states.memory=5MiB --set states.schedule=microbatches
compare 'layers' --set states.memory=5MiB
compare 'more memory' --set states.memory=6MiB
compare 'rounded sums' --set states.memory=5MiB --set precision.weight_grad_reduce=bf16

plan --set states.memory=5MiB --steps 0
[ -n "$(field read_bytes)" ] && [ -z "$(field step_s)" ] || fail "--steps 0: $(cat "$work/json")"
# By layers where memory_limit has room, and only there.
[ "$(field schedule)" = '"layers"' ] || fail "without a limit: $(cat "$work/json")"
many='--set states.memory=6MiB --steps 0 --set fit.train_dataloader.batch_size=48'
# shellcheck disable=SC2086
plan $many --set states.schedule=microbatches
whole=$(grep -o '"peak_bytes":[0-9]*' "$work/json" | sed 's/.*://')
# shellcheck disable=SC2086
plan $many --set init.memory_limit="$whole"
[ "$(field schedule)" = '"microbatches"' ] || fail "without room: $(cat "$work/json")"
# shellcheck disable=SC2086
plan $many --set init.memory_limit=$((2 * whole))
[ "$(field schedule)" = '"layers"' ] || fail "with room: $(cat "$work/json")"
plan --set states.memory=64MiB --disk_rate 100GiB
least=$(field least_bytes)
[ "$(field bound)" = '"arithmetic"' ] || fail "a fast disk bounds the step: $(cat "$work/json")"
run 1 --set states.memory="$least" >/dev/null
plan --set states.memory="$least" --disk_rate 1MiB,1MiB
[ "$(field bound)" = '"disk"' ] || fail "a slow disk does not bound it: $(cat "$work/json")"

refused() { # words, options
    words=$1
    shift
    # shellcheck disable=SC2086
    if "$CSENGINE_EXECUTABLE" plan "$config" --model_dir "$work/plan" "$@" >"$work/out" 2>&1; then
        fail "accepted: $*"
    fi
    grep -q -e "$words" "$work/out" || fail "$*: $(cat "$work/out")"
}
# shellcheck disable=SC2086
refused 'needs at least' --streaming $in_file --set states.memory=$((least - 1))
refused 'the states of this job are in memory' --streaming
refused '--hosts has no effect with --streaming' --streaming --hosts 1
refused '--disk_rate has no effect with --memory' --memory --disk_rate 1GiB
refused '--disk_rate has no effect without --streaming' --disk_rate 1GiB
refused '--disk_rate is "fast"; accepted' --streaming --disk_rate fast --set states.keep_in=file \
    --set states.directory="$work" --set states.memory=64MiB
[ "$failures" = 0 ] || exit 1
echo 'all as expected'
