#!/bin/sh
# A callback in a shared object of its own acts in a run that names its library: its value is
# recorded, and it ends the training, which has succeeded.
set -eu
: "${top_builddir:?}" "${CSENGINE_EXECUTABLE:?}" "${top_srcdir:?}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
library=$top_builddir/examples/outside/.libs/custom_callback.so
[ -f "$library" ] || { echo "FAIL: $library was not built"; exit 1; }

fail() {
    echo "FAIL: $*"
    exit 1
}
run() { # TARGET
    "$CSENGINE_EXECUTABLE" start "$top_srcdir/configs/synthetic.yaml" --json --no_dashboard \
        --model_dir "$folder/run" --compile_dir "$folder/compiled" --set 'loggers=[CSVLogger]' \
        --set loop.num_steps=null --max_steps 400000 \
        --set "callbacks=[{library: $library, name: TargetLoss, target: $1}]" >"$folder/out" \
        2>"$folder/errors"
}
run 0.25 || fail "$(cat "$folder/errors")"
tail -n 1 "$folder/out" | grep -q '"state":"SUCCEEDED"' || fail "$(tail -n 1 "$folder/out")"
steps=$(tail -n 1 "$folder/out" | sed 's/.*"steps":\([0-9]*\).*/\1/')
[ "$steps" -lt 400000 ] || fail "it was not ended"
[ -f "$folder/run/checkpoint_$steps.mdl" ] || fail "no checkpoint of step $steps"
reached=$(awk -F, '$3 == "loss" && $4 <= 0.25 { print $1; exit }' "$folder/run/metrics.csv")
[ "$reached" -le "$steps" ] || fail "ended at $steps, reached at $reached"
awk -F, '$3 == "gradient_to_weight" && $4 > 0 { found++ } END { exit found < 2 }' \
    "$folder/run/metrics.csv" || fail "no series: $(cat "$folder/run/metrics.csv")"
rm -rf "$folder/run"
run -1 && fail "a target below 0 is accepted"
grep -q 'target: "-1" is out of range' "$folder/errors" || fail "$(cat "$folder/errors")"
echo "ended at step $steps"
