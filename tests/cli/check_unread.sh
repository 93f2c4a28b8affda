#!/bin/sh
# Settings that nothing reads are told by name, place and reason; no shipped configuration has any.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
source=${top_srcdir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
CSE_DASHBOARD=0
export CSE_DASHBOARD

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# silent COMMAND...: it succeeds without a warning.
silent() {
    timeout 300 "$csengine" "$@" >"$work/out" 2>"$work/errors" || {
        fail "$*: $(cat "$work/out" "$work/errors")"
        return
    }
    grep -i 'warning' "$work/out" "$work/errors" && fail "$*: a warning"
}

count=0
for config in "$source"/configs/*.yaml; do
    name=$(basename "$config" .yaml)
    count=$((count + 1))
    if grep -q 'data_dir: \(.*\)' "$config" &&
        [ ! -d "$(sed -n 's/^ *data_dir: //p' "$config" | head -n 1)" ]; then
        sed 's/data_processor: idx_images/data_processor: synthetic/; s/data_dir: .*/samples: 512/
            s/split: .*/classes: 10/; s/flatten: false/features: [1, 28, 28]/' "$config" \
            >"$work/$name.yaml"
        grep -q 'features:' "$work/$name.yaml" ||
            sed -i 's/classes: 10/classes: 10\n      features: [784]/' "$work/$name.yaml"
        config=$work/$name.yaml
    fi
    folder="--model_dir $work/$name --compile_dir $work/compiled"
    silent start "$config" $folder --validate_only
    [ "$name" = fc_mnist ] || [ "$name" = synthetic ] || continue
    silent start "$config" $folder --num_steps 2 --set loop.eval_steps=1
    silent eval "$config" $folder --set loop.eval_steps=1
    silent compile "$config" $folder
done
[ "$count" -ge 5 ] || fail "only $count shipped configurations"

# Loggers, which nothing reads where nothing runs.
config=$source/configs/synthetic.yaml
silent start "$config" --model_dir "$work/loggers" --set 'loggers=[{CSVLogger: {}}]' --validate_only
silent start "$config" --model_dir "$work/loggers" --set 'loggers=[{CSVLogger: {}}]'

# A sweep over a value that changes nothing: each run says so, and where the value stands.
sed 's/SGD: {lr: 0.1, momentum: 0.9}/SGD: {learning_rate: 0.1, momentum: 0.9}\
    schedulers: {ConstantLR: {learning_rate: 0.05}}/' "$config" >"$work/sweep.yaml"
for rate in 0.1 0.2 0.3 0.4 0.5 0.6; do
    timeout 100 "$csengine" start "$work/sweep.yaml" --json --model_dir "$work/sweep$rate" \
        --compile_dir "$work/compiled" --set optimizer.SGD.learning_rate=$rate \
        >"$work/out" 2>"$work/errors" || fail "sweep $rate: $(cat "$work/errors")"
    said='optimizer.SGD.learning_rate is not used: schedulers sets it'
    [ "$(grep -c "warning: --set optimizer.SGD.learning_rate: $said" "$work/errors")" = 1 ] ||
        fail "sweep $rate: $(cat "$work/errors")"
    [ "$(grep -c "$said" "$work/sweep$rate/logs/attempt_1.log")" = 1 ] ||
        fail "sweep $rate: its log: $(cat "$work/sweep$rate/logs/attempt_1.log")"
    [ "$(grep -c "^{\"event\":\"warning\",.*\"message\":\".*$said\"" "$work/out")" = 1 ] ||
        fail "sweep $rate: no event: $(cat "$work/out")"
    sed -n 's/.*"weights_digest":"\([^"]*\)".*/\1/p' "$work/out" >>"$work/digests"
done
[ "$(sort -u "$work/digests" | wc -l)" = 1 ] ||
    fail "the rates have an effect: $(cat "$work/digests")"
silent start "$work/sweep.yaml" --model_dir "$work/first" --set optimizer.SGD.learning_rate=0.05
"$csengine" start "$work/sweep.yaml" --model_dir "$work/plain" >"$work/out" 2>&1
grep -q "warning: $work/sweep.yaml:10:28: optimizer.SGD.learning_rate is not used" "$work/out" ||
    fail "its place in the file: $(cat "$work/out")"

# Any other value that nothing reads, with a reason where one is known.
"$csengine" start "$config" --validate_only --model_dir "$work/x" --no_dashboard \
    --set precision.steps_per_increase=10 --set val_dataloader=null --set loop.eval_steps=2 \
    >"$work/out" 2>&1 || fail "idle settings: $(cat "$work/out")"
grep -q 'steps_per_increase is not used: loss_scaling_factor is not dynamic' "$work/out" ||
    fail "no reason: $(cat "$work/out")"
grep -q 'loop.eval_steps is not used: there is no val_dataloader' "$work/out" ||
    fail "no reason: $(cat "$work/out")"
[ "$(grep -c 'is not used' "$work/out")" = 2 ] || fail "not two: $(cat "$work/out")"

[ "$failures" = 0 ] || exit 1
echo "all as expected"
