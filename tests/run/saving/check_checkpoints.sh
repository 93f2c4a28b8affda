#!/bin/sh
# When checkpoints are written and which stay: by steps and by time, the newest and the best, over
# several starts of a run; with the same bits as without any.
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

start() { # NAME ARGUMENTS...
    folder=$1
    shift
    "$csengine" start "$config" --json --no_dashboard --model_dir "$work/$folder" \
        --compile_dir "$work/compiled" "$@" >"$work/$folder.out" 2>"$work/$folder.err" ||
        fail "$folder: exit code $?: $(cat "$work/$folder.err")"
}
digest() { sed -n 's/.*"event":"end".*"weights_digest":"\([^"]*\)".*/\1/p' "$work/$1.out"; }
steps() { # the steps of the checkpoints of a folder, in order
    (cd "$work/$1" && ls checkpoint_*.mdl) | tr -cd '0-9\n' | sort -n | tr '\n' ' '
}
expect() { # NAME STEPS...
    name=$1
    shift
    [ "$(steps "$name")" = "$* " ] || fail "$name: checkpoints $(steps "$name"), not $*"
}

no_validation='fit.val_dataloader=null'

# By time: as many as fit in, and the same bits. So many steps take longer than several checkpoints
# on any machine.
start plain --max_steps 20000 --set loop.num_steps=null --set $no_validation
expect plain 20000
start timed --max_steps 20000 --set loop.num_steps=null --set $no_validation \
    --set checkpoint.minutes=0.0002
[ "$(steps timed | wc -w)" -ge 3 ] || fail "timed: few checkpoints: $(steps timed)"
[ "$(digest timed)" = "$(digest plain)" ] || fail "timed: another digest"
# A checkpoint by time is one that a run may go on from.
first=$(steps timed | cut -d ' ' -f 1)
start resumed --max_steps 20000 --set loop.num_steps=null --set $no_validation \
    --checkpoint_path "$work/timed/checkpoint_$first.mdl"
[ "$(digest resumed)" = "$(digest plain)" ] || fail "resumed: another digest"
start never --num_steps 200 --set $no_validation --set checkpoint.minutes=0
expect never 200

# The newest; those of an earlier start are the run's, too. Others' files stay.
start newest --num_steps 50 --set checkpoint.steps=10 --set checkpoint.keep=2 --set $no_validation
expect newest 40 50
cp "$work/newest/checkpoint_40.mdl" "$work/newest/checkpoint_7.mdl"
cp "$work/newest/checkpoint_40.mdl" "$work/newest/mine.mdl"
start newest --num_steps 30 --set checkpoint.steps=10 --set checkpoint.keep=3 --set $no_validation
expect newest 7 60 70 80
[ -f "$work/newest/mine.mdl" ] || fail "newest: a file of somebody else is gone"
start newest --num_steps 10 --set checkpoint.steps=10 --set $no_validation
expect newest 7 60 70 80 90
# The one that was named stays, and so does the one that the next start would load.
start newest --num_steps 20 --set checkpoint.steps=10 --set checkpoint.keep=1 --set $no_validation \
    --checkpoint_path "$work/newest/checkpoint_60.mdl"
expect newest 7 60 80 90

# A ladder of older ones, over two starts; as many of the newest as asked for; a budget that no step
# fits in keeps all, and says that those are too far from each other.
spaced="--num_steps 160 --set checkpoint.steps=10 --set $no_validation"
start ladder $spaced --set checkpoint.replay_budget=1000000 --set checkpoint.keep=4
expect ladder 80 120 130 140 150 160
grep -q 'removed checkpoint .*(checkpoint.replay_budget)' "$work/ladder/logs/"* ||
    fail "ladder: $(ls "$work/ladder/logs")"
start ladder $spaced --set checkpoint.replay_budget=1000000
expect ladder 150 210 240 270 290 300 310 320
start narrow $spaced --set checkpoint.replay_budget=1e-9
expect narrow 10 20 30 40 50 60 70 80 90 100 110 120 130 140 150 160
grep -q 'checkpoints are 10 steps apart, which take .* more than checkpoint.replay_budget' \
    "$work/narrow.err" || fail "narrow: $(cat "$work/narrow.err")"

# The best: the loss of this run falls, so the first checkpoint has the greatest.
keep="--set checkpoint.steps=10 --set checkpoint.keep=1 --set loop.eval_frequency=10"
start best $keep --num_steps 40 --set 'checkpoint.keep_best={metric: val_loss}'
expect best 40
start worst $keep --num_steps 40 --set 'checkpoint.keep_best={metric: val_loss, goal: max}'
expect worst 10 40
start worst $keep --num_steps 20 --set 'checkpoint.keep_best={metric: val_loss, goal: max}'
expect worst 10 60

# A metric is known by either of its names; a wrong one is told before anything runs, with those
# that there are.
start short $keep --num_steps 40 --set 'checkpoint.keep_best={metric: loss, goal: max}'
expect short 10 40
start accurate $keep --num_steps 20 --set 'checkpoint.keep_best={metric: accuracy}'
refused() { # WORDS ARGUMENTS...
    words=$1
    shift
    timeout 100 "$csengine" start "$config" --json --model_dir "$work/wrong" $keep --num_steps 20 \
        "$@" >/dev/null 2>"$work/wrong.err" && fail "wrong: $*"
    grep -q "$words" "$work/wrong.err" || fail "expected '$words': $(cat "$work/wrong.err")"
}
refused 'keep_best.metric (.*keep_best:1:.*"val_lost" is no metric of the validation; accepted: '\
'val_loss, val_accuracy' --set 'checkpoint.keep_best={metric: val_lost}'
[ -d "$work/wrong" ] && ls "$work/wrong" | grep -q checkpoint && fail "a wrong metric has trained"
two='fit.val_dataloader=[{data_processor: synthetic, features: [16], classes: 4, samples: 64,
    batch_size: 64}, {data_processor: synthetic, features: [16], classes: 4, samples: 128,
    batch_size: 64}]'
refused 'data loaders; accepted: validate_0/loss, validate_0/accuracy, validate_1/loss' \
    --set 'checkpoint.keep_best={metric: val_loss}' --set "$two"
start second $keep --num_steps 40 --set "$two" \
    --set 'checkpoint.keep_best={metric: validate_1/loss, goal: max}'
expect second 10 40

# What has no effect is said.
start told --num_steps 10 --set 'checkpoint.keep_best={metric: val_accuracy}'
grep -q 'keep_best.*without keep all checkpoints stay' "$work/told.err" ||
    fail "told: $(cat "$work/told.err")"
[ $failures -eq 0 ]
