#!/bin/sh
# The output of `csengine start` and `eval` as JSON lines and as text, the same bits for any number
# of processes, stopping and resuming.
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

# start NAME ARGUMENTS...: a run of its own directory; JSON lines in $work/NAME.
start() {
    name=$1
    shift
    timeout 100 "$csengine" start "$config" --json --model_dir "$work/$name.d" \
        --compile_dir "$work/compiled" "$@" >"$work/$name" 2>"$work/$name.errors"
}

# Text of a member of the end event.
end_of() { sed -n 's/.*"event":"end".*"'"$2"'":"\([^"]*\)".*/\1/p' "$work/$1"; }
bits_of() { sed -n 's/.*"event":"step".*"loss_bits":"\([0-9a-f]*\)".*/\1/p' "$work/$1"; }

start one --num_csx 1 || fail "start: exit code $?: $(cat "$work/one.errors")"
# An epoch has 1024 / 64 = 16 steps, so the first line, of step 10, stands at 0.625.
[ "$(grep -c '^{"event":"step","step":[0-9]*,"loss":[0-9.e+-]*,"loss_bits":"[0-9a-f]\{8\}",'\
'"epoch":[0-9.]*,"learning_rate":0.[0-9]*,"samples_per_second":[0-9.]*,"time_ms":[0-9]\{13\}}$' \
    "$work/one")" = 6 ] || fail "not six lines of steps: $(cat "$work/one")"
[ "$(end_of one state)" = SUCCEEDED ] || fail "the end: $(tail -n 1 "$work/one")"
tail -n 1 "$work/one" | grep -q '"steps":60,"train_seconds":.*"metrics":{.*"accuracy":' ||
    fail "members of the end event are missing: $(tail -n 1 "$work/one")"
checkpoint=$(end_of one checkpoint)
digest=$("$csengine" checkpoint digest "$checkpoint")
[ -n "$digest" ] && [ "$digest" = "$(end_of one weights_digest)" ] ||
    fail "checkpoint digest: $digest, end event: $(end_of one weights_digest)"
"$csengine" checkpoint verify "$checkpoint" >/dev/null || fail "the checkpoint is not whole"
"$csengine" checkpoint info "$checkpoint" | grep -q 'model.fc_layers.0.weight .*\[32, 16\]' ||
    fail "checkpoint info: $("$csengine" checkpoint info "$checkpoint")"

for processes in 2 3 4; do
    start "csx$processes" --num_csx $processes --num_workers_per_csx $((processes - 1)) ||
        fail "num_csx $processes: $(cat "$work/csx$processes.errors")"
    [ "$(end_of "csx$processes" weights_digest)" = "$digest" ] ||
        fail "num_csx $processes gives another digest"
    [ "$(bits_of "csx$processes")" = "$(bits_of one)" ] ||
        fail "num_csx $processes gives other losses"
done
start other --seed 2
[ "$(end_of other weights_digest)" != "$digest" ] || fail "another seed gives the same digest"

# In two parts: 30 steps, then the rest from the checkpoint.
start parts --max_steps 30 || fail "first part: $(cat "$work/parts.errors")"
start parts --max_steps 60 --set loop.num_steps=null ||
    fail "second part: $(cat "$work/parts.errors")"
[ "$(end_of parts weights_digest)" = "$digest" ] || fail "two parts give another digest"

# For people.
timeout 100 "$csengine" start "$config" --model_dir "$work/plain.d" --compile_dir "$work/compiled" \
    >"$work/plain" 2>&1 || fail "plain: $(cat "$work/plain")"
number='[0-9]+\.[0-9]+'
left='0:0[0-9]:[0-9]{2}'
rates="Rate=$number samples/sec, GlobalRate=$number samples/sec"
words="Loss=$number, $rates, LoopTimeRemaining=$left, TimeRemaining>$left"
grep -Eq "^\| Train Device=CPU, Step=50, $words\$" "$work/plain" ||
    fail "no line of the Trainer's form in: $(cat "$work/plain")"
grep -q '^Training completed successfully!$' "$work/plain" || fail "no end in $(cat "$work/plain")"
grep -Eq '^Processed 3840 training sample\(s\) in [0-9.]+ seconds\.$' "$work/plain" ||
    fail "not 60 * 64 samples: $(cat "$work/plain")"

timeout 100 "$csengine" eval "$config" --json --checkpoint_path "$checkpoint" \
    --model_dir "$work/eval.d" --compile_dir "$work/compiled" >"$work/eval" 2>&1 ||
    fail "eval: $(cat "$work/eval")"
metrics() { sed -n 's/.*"event":"end".*"metrics":\({[^}]*}\).*/\1/p' "$work/$1"; }
[ -n "$(metrics eval)" ] && [ "$(metrics eval)" = "$(metrics one)" ] ||
    fail "eval: $(metrics eval), after training: $(metrics one)"

start checked --validate_only || fail "validate_only: $(cat "$work/checked.errors")"
[ -z "$(end_of checked checkpoint)" ] || fail "validate_only writes a checkpoint"
sed 's/hidden_sizes: \[32\]/hidden_sizes: [0]/' "$config" >"$work/wrong.yaml"
"$csengine" start "$work/wrong.yaml" --model_dir "$work/wrong.d" >"$work/wrong" 2>&1
[ $? = 78 ] && grep -q "$work/wrong.yaml:8:60: hidden_sizes: \"0\" is out of range" "$work/wrong" ||
    fail "a member's setting: $(cat "$work/wrong")"

# Ctrl-C once: a checkpoint, CANCELLED, 130; starting again goes on to the same bits.
start long --max_steps 4000 --set loop.num_steps=null --log_steps 1000
"$csengine" start "$config" --json --model_dir "$work/stopped.d" --log_steps 1000 \
    --compile_dir "$work/compiled" --max_steps 4000 --set loop.num_steps=null \
    >"$work/stopped" 2>"$work/stopped.errors" &
process=$!
while kill -0 $process 2>/dev/null && ! grep -q '"step":1000' "$work/stopped"; do sleep 0.02; done
kill -INT $process 2>/dev/null
wait $process
code=$?
echo "stopped: $(end_of stopped state), exit code $code"
if [ "$(end_of stopped state)" = CANCELLED ]; then
    [ $code = 130 ] || fail "stopped by Ctrl-C: exit code $code"
    start stopped --max_steps 4000 --set loop.num_steps=null --log_steps 1000 ||
        fail "going on: $(cat "$work/stopped.errors")"
else
    [ "$(end_of stopped state)" = SUCCEEDED ] || fail "Ctrl-C: $(tail -n 1 "$work/stopped")"
fi
[ "$(end_of stopped weights_digest)" = "$(end_of long weights_digest)" ] ||
    fail "stopped and started again: another digest"

[ "$failures" = 0 ] || exit 1
echo "all as expected"
