#!/bin/sh
# Callbacks in whole runs: the same bits with and without them, EarlyStopping at the step of its
# formula (also for a run that was stopped and resumed), what they log and write, their messages.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
config=${top_srcdir:-.}/configs/synthetic.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# start NAME ARGUMENTS...: JSON lines in $work/NAME.
start() {
    name=$1
    shift
    timeout 100 "$csengine" start "$config" --json --no_dashboard --model_dir "$work/$name.d" \
        --compile_dir "$work/compiled" "$@" >"$work/$name" 2>"$work/$name.errors"
}
end_of() { sed -n 's/.*"event":"end".*"'"$2"'":"\{0,1\}\([^",]*\).*/\1/p' "$work/$1"; }
series() { # NAME SERIES: its values by step
    awk -F, -v name="$2" '$3 == name { print $1, $4 }' "$work/$1.d/metrics.csv"
}

# The same bits with many callbacks and with none, for any number of processes.
many='callbacks=[ComputeNorm, NaNChecker, CheckLoss, CountParams, RateProfiler, DurationProfiler,
SavePerformanceData, {LogOptimizerParamGroup: {keys: [lr, momentum]}}, ModelCheckpoint]'
start none || fail "none: $(cat "$work/none.errors")"
for processes in 1 2 3; do
    start "many$processes" --num_csx $processes --set "$many" --set 'loggers=[CSVLogger]' ||
        fail "many: $(cat "$work/many$processes.errors")"
    [ "$(end_of "many$processes" weights_digest)" = "$(end_of none weights_digest)" ] ||
        fail "$processes processes with callbacks: other bits"
    series "many$processes" model_wise_grad_norm >"$work/norms$processes"
    cmp -s "$work/norms1" "$work/norms$processes" || fail "norms of $processes processes"
done
[ "$(wc -l <"$work/norms1")" = 6 ] || fail "not six norms: $(cat "$work/norms1")"
[ "$(series many1 momentum/0 | head -n 1)" = "10 0.90000000000000002" ] ||
    fail "momentum: $(series many1 momentum/0)"
[ "$(series many1 num_params)" = "0 676" ] || fail "parameters: $(series many1 num_params)"
for name in local_samples_per_sec avg_samples_per_sec avg_steps_per_sec time_remaining; do
    [ "$(series many1 $name | wc -l)" = 6 ] || fail "$name: $(series many1 $name)"
done
series many1 time_remaining | tail -n 1 | grep -qx '60 0' || fail "time is left at the end"
grep -q '"total_samples": 3840, .*"samples_per_sec": ' "$work/many1.d/performance.json" ||
    fail "performance.json: $(cat "$work/many1.d/performance.json")"

# EarlyStopping: a run without it gives the losses; the formula says where it ends.
often='--set checkpoint.steps=1000 --set loop.eval_frequency=5 --set loop.num_steps=null
    --max_steps 60 --set optimizer.SGD.lr=0.4'
stop='callbacks=[{EarlyStopping: {patience: 3, min_delta: 0.002}}]'
start whole $often --set 'loggers=[CSVLogger]' || fail "whole: $(cat "$work/whole.errors")"
expected=$(series whole val_loss | awk 'NR == 1 || $2 + 0.002 < best { best = $2; waited = 0; next }
    ++waited == 3 && !found { print $1; found = 1 }')
[ -n "$expected" ] && [ "$expected" -gt 15 ] && [ "$expected" -lt 60 ] ||
    fail "the whole run does not show a stop: $expected, $(series whole val_loss)"
start stops $often --set "$stop" || fail "stops: $(cat "$work/stops.errors")"
[ "$(end_of stops steps)" = "$expected" ] && [ "$(end_of stops state)" = SUCCEEDED ] ||
    fail "ends at $(end_of stops steps), not at $expected: $(tail -n 1 "$work/stops")"
grep -q "training ends: val_loss has not improved" "$work/stops.errors" || fail "no reason is told"
[ -f "$work/stops.d/checkpoint_$expected.mdl" ] || fail "no checkpoint of the last step"
# Started again it knows that it has ended.
start stops $often --set "$stop" || fail "again: $(cat "$work/stops.errors")"
[ "$(end_of stops steps)" = "$expected" ] && [ "$(end_of stops state)" = SUCCEEDED ] ||
    fail "started again it trains on to $(end_of stops steps)"

# In two parts, the cut in the middle of the patience: the same end, with the same weights.
cut=$((expected - 5))
start parts $often --set "$stop" --max_steps $cut || fail "first part: $(cat "$work/parts.errors")"
[ "$(end_of parts steps)" = $cut ] || fail "the first part ends at $(end_of parts steps)"
start parts $often --set "$stop" || fail "second part: $(cat "$work/parts.errors")"
[ "$(end_of parts steps)" = "$expected" ] || fail "two parts end at $(end_of parts steps)"

# A validation that the run did not come to is made up: its point is taken out of the store.
start owes $often --set "$stop" --max_steps $cut || fail "owes: $(cat "$work/owes.errors")"
python3 - "$work/owes.d/run.db" $cut <<'PYTHON'
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1])
db.execute(
    "delete from points where step = ? and series in "
    "(select id from series where name like 'val_%')",
    [int(sys.argv[2])],
)
db.commit()
PYTHON
start owes $often --set "$stop" || fail "owes: $(cat "$work/owes.errors")"
[ "$(end_of owes steps)" = "$expected" ] || fail "after a lost validation: $(end_of owes steps)"

# A coordinator that is killed in the midst of it has a successor, which knows what was validated.
long='--set checkpoint.steps=3000 --set loop.eval_frequency=3000 --set loop.num_steps=null
    --max_steps 90000 --log_steps 1000'
patient='callbacks=[{EarlyStopping: {patience: 5, min_delta: 0.01}}]'
start calm $long --set "$patient" || fail "calm: $(cat "$work/calm.errors")"
start killed $long --set "$patient" &
tries=0
until grep -q '"step":9000,' "$work/killed" 2>/dev/null || [ $tries = 3000 ]; do
    tries=$((tries + 1))
    sleep 0.01
done
# The processes with this run's arguments are timeout, the first process, and its child, the
# coordinator.
parent_of() { sed -n 's/^PPid:[^0-9]*//p' "/proc/$1/status"; }
family=$(grep -lsF "$work/killed.d" /proc/[0-9]*/cmdline | sed 's/[^0-9]//g' | tr '\n' ' ')
for pid in $family; do
    parent=$(parent_of "$pid")
    case " $family " in *" $parent "*) ;; *) continue ;; esac
    case " $family " in *" $(parent_of "$parent") "*) kill -KILL "$pid" ;; esac
done
wait
[ "$(end_of calm steps)" -ge 12000 ] && [ "$(end_of calm steps)" -lt 90000 ] ||
    fail "calm ends at $(end_of calm steps)"
[ "$(end_of killed steps)" = "$(end_of calm steps)" ] &&
    [ "$(end_of killed weights_digest)" = "$(end_of calm weights_digest)" ] ||
    fail "killed ends at $(end_of killed steps): $(cat "$work/killed.errors")"
grep -q 'the run goes on after step' "$work/killed.errors" ||
    fail "nothing was killed: $(cat "$work/killed.errors")"

# Messages.
start wrong --set 'callbacks=[{EarlyStoping: {}}]' && fail "a wrong name is accepted"
grep -q 'did you mean .EarlyStopping' "$work/wrong.errors" || fail "$(cat "$work/wrong.errors")"
start wrong --set 'callbacks=[{EarlyStopping: {patience: 0}}]' && fail "patience 0 is accepted"
grep -q 'patience: "0" is out of range' "$work/wrong.errors" || fail "$(cat "$work/wrong.errors")"
start wrong --set 'callbacks=[{EarlyStopping: {monitor: val_lost}}]' && fail "no such metric"
grep -q 'monitor: no validation has a metric "val_lost"; accepted: val_loss, val_accuracy' \
    "$work/wrong.errors" || fail "$(cat "$work/wrong.errors")"

[ "$failures" = 0 ] || exit 1
echo "all as expected"
