#!/bin/sh
# `csengine plan --memory`: the parts add up, what a run's processes take is within 3 % of them, and
# what has no effect beside it is refused.
#
# Shared pages count once: the sum of the processes' PSS, of pages that belong to no file. Those of
# files, which the kernel takes back as it likes, are left out on both sides.
set -eu
source_directory=${top_srcdir:-.}
csengine=${CSENGINE_EXECUTABLE:-${top_builddir:-.}/csengine}
work=$(mktemp -d)
run=
trap '[ -z "$run" ] || kill "$run" 2>/dev/null || true; rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=1
}

# Its workspace is most of it, so that the C library's share is small: two layers, 256 wide.
config="$source_directory/configs/gpt2_bytes.yaml"
set -- --set model.num_layers=2 --set model.num_heads=4 --set model.hidden_size=256 \
    --set fit.train_dataloader.batch_size=16 --set checkpoint.minutes=0 \
    --set checkpoint.steps=null --set loop.num_steps=1000 --compile_dir "$work/compiled"

plan() { # arguments...: the JSON object in the file `json`
    "$csengine" plan "$config" --model_dir "$work/model" --memory --json "$@" >"$work/json" \
        2>"$work/err" || fail "no plan: $(cat "$work/err")"
}

field() { # name: its first value in the plan
    grep -o "\"$1\":[0-9]*" "$work/json" | sed -n '1s/[^:]*://p'
}

# Of the phase of training: its parts without pages of files.
planned_bytes() {
    sed 's/"phase":"validation".*//; s/{"part"/\n&/g' "$work/json" |
        sed -n '/"part":"program"/d; s/^{"part":.*"bytes":\([0-9]*\).*/\1/p' |
        awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

below() { # process: it and all that it started
    echo "$1"
    for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
        below "$child"
    done
}

# Bytes of the processes of a run in its third step.
measured_bytes() { # arguments...
    "$csengine" start "$config" --model_dir "$work/run" --no_dashboard --json --log_steps 1 "$@" \
        >"$work/lines" 2>"$work/err" &
    run=$!
    for _ in $(seq 600); do
        grep -q '"step":3' "$work/lines" && break
        kill -0 "$run" 2>/dev/null || break
        sleep 0.1
    done
    for process in $(below "$run"); do
        cat "/proc/$process/smaps_rollup" 2>/dev/null || true
    done | awk '/^Pss_(Anon|Shmem):/ { sum += $2 * 1024 } END { printf "%.0f\n", sum }'
    kill -INT "$run" 2>/dev/null || true
    wait "$run" || true
    run=
    rm -rf "$work/run"
}

compare() { # what arguments...
    what=$1
    shift
    plan "$@"
    planned=$(planned_bytes)
    measured=$(measured_bytes "$@")
    echo "$what: planned $planned bytes, measured $measured"
    awk -v planned="$planned" -v measured="$measured" \
        'BEGIN { exit !(measured > 0 && (planned / measured - 1) ^ 2 <= 0.03 ^ 2) }' ||
        fail "$what: planned $planned bytes, measured $measured: more than 3 % apart"
}

plan "$@"
for part in coordinator replica input_worker arena program; do
    grep -q "\"part\":\"$part\"" "$work/json" || fail "no $part: $(cat "$work/json")"
done
sum=$(grep -o '"bytes":[0-9]*' "$work/json" | sed 's/.*://' |
    awk 'NR == 1 { whole = $1 } { sum += $1 } END { printf "%.0f %.0f", whole, sum - whole }')
[ "${sum% *}" = "${sum#* }" ] || fail "the parts add up to ${sum#* }, the phase says ${sum% *}"
[ "$(field peak_bytes)" = "${sum% *}" ] || fail "the peak is $(field peak_bytes), not ${sum% *}"

# A checkpoint while steps run takes a copy of the states; the last one does not.
plan "$@" --set checkpoint.steps=100
[ "$(field checkpoint_bytes)" = "$(field state_bytes)" ] || fail "no copy: $(cat "$work/json")"
plan "$@" --set checkpoint.steps=1000
[ "$(field checkpoint_bytes)" = 0 ] || fail "a copy for the last step: $(cat "$work/json")"

if [ "${CSE_SANITIZE:-no}" = no ]; then # which has an allocator of its own
    compare 'one replica' "$@"
    compare 'two replicas, microbatches, a weight server' "$@" \
        --set fit.train_dataloader.micro_batch_size=4 --set backend.cluster_config.num_csx=2 \
        --set backend.cluster_config.max_wgt_servers=1
else
    echo 'a sanitizer has an allocator of its own: nothing is measured'
fi

refused() { # words arguments...
    words=$1
    shift
    if "$csengine" plan "$config" --model_dir "$work/model" --memory "$@" >"$work/out" \
        2>"$work/err"; then
        fail "accepted: $*"
    fi
    grep -q -- "$words" "$work/err" || fail "$*: $(cat "$work/err")"
}
for option in hosts=1 link=10G replicas=1 mtbf=1 lease=1 steps=1 profile=a save_profile=a; do
    refused "--${option%=*} has no effect with --memory" "--$option"
done
refused 'accepted' --set model.hidden_sizes=1

[ "$failures" = 0 ] || exit 1
echo 'all as expected'
