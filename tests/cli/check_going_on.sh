#!/bin/sh
# Starting again in a model_dir: a run that is complete, further steps, limits of the command line
# over those of the file, other runs' checkpoints, and a run that diverged.
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

# start NAME ARGUMENTS...: a run in the folder NAME; JSON lines in $work/out, the rest in errors.
start() {
    folder=$work/$1
    shift
    timeout 100 "$csengine" start "$config" --json --no_dashboard --model_dir "$folder" \
        --compile_dir "$work/compiled" "$@" >"$work/out" 2>"$work/errors"
}
steps() { sed -n 's/.*"event":"end".*"steps":\([0-9]*\).*/\1/p' "$work/out"; }
digest() { sed -n 's/.*"event":"end".*"weights_digest":"\([^"]*\)".*/\1/p' "$work/out"; }
complete() { sed -n 's/.*"event":"complete".*"message":"\([^"]*\)".*/\1/p' "$work/out"; }
said() { cat "$work/out" "$work/errors"; }

# expect STEPS: the run succeeded and ends there; it did something exactly if it is not complete.
expect() {
    [ "$(steps)" = "$1" ] || fail "$2: ends at $(steps), not $1: $(said)"
}

start done || fail "the first run: $(said)"
expect 60 'the first run'
[ -z "$(complete)" ] || fail "the first run is complete: $(said)"
whole=$(digest)

# Complete: nothing is trained, and it is said.
for options in '' '--max_steps 40' '--set loop.num_epochs=2' '--num_epochs 1'; do
    start done $options || fail "complete, $options: $(said)"
    expect 60 "complete, $options"
    [ "$(digest)" = "$whole" ] || fail "complete, $options: other weights"
    case "$options:$(complete)" in
    :'60 of 60 steps are done'*'--num_steps N'*'another --model_dir'*) ;;
    --max*:'60 steps are done, and the limits given end at step 40'*) ;;
    --set*:'60 steps are done, and the limits given end at step 32'*) ;;
    --num*:'60 steps are done, and the limits given end at step 16'*) ;;
    *) fail "complete, $options: $(said)" ;;
    esac
    grep -q '"complete":true' "$work/out" || fail "complete, $options: the end: $(said)"
done
timeout 100 "$csengine" start "$config" --no_dashboard --model_dir "$work/done" \
    --compile_dir "$work/compiled" >"$work/out" 2>&1
grep -q '^60 of 60 steps are done: nothing is left to train' "$work/out" ||
    fail "complete, in plain words: $(said)"

# --num_steps N: N more; a later end: up to it.
start done --num_steps 10 && expect 70 'ten more'
start done --num_steps 10 && expect 80 'and again'
start done --max_steps 90 && expect 90 'up to 90'
start done --num_epochs 6 && expect 96 'six epochs'
start whole --num_steps 96 && expect 96 'at once'
[ "$(digest)" = "$("$csengine" checkpoint digest "$work/done/checkpoint_96.mdl")" ] ||
    fail "in five parts: other weights"

# The command line over the file, which says num_steps: 60 or num_epochs: 2.
start limits1 --num_epochs 3 && expect 48 'num_epochs over num_steps'
start limits2 --max_steps 70 && expect 70 'max_steps over num_steps'
sed 's/num_steps: 60/num_epochs: 2, steps_per_epoch: 5/' "$config" >"$work/epochs.yaml"
plain=$config
config=$work/epochs.yaml
start limits3 && expect 10 'two epochs of five steps'
start limits4 --num_steps 7 && expect 7 'num_steps over num_epochs'
start limits5 --set loop.num_steps=8 && expect 8 '--set over the file'
start limits6 --num_steps 7 --num_epochs 3
[ $? = 78 ] && grep -q 'exclude each other' "$work/errors" || fail "two limits: $(said)"
config=$plain

# Interrupted: the same command goes on to the same end.
timeout 100 "$csengine" start "$config" --json --no_dashboard --model_dir "$work/cut" \
    --compile_dir "$work/compiled" --num_steps 20000 --log_steps 1000 >"$work/cut.out" 2>&1 &
process=$!
while kill -0 $process 2>/dev/null && ! grep -q '"step":1000,' "$work/cut.out"; do sleep 0.02; done
kill -INT $process 2>/dev/null
wait $process
start cut --num_steps 20000 --log_steps 1000 && expect 20000 'interrupted and repeated'
start cut --num_steps 5 && expect 20005 'then five more'

# The end of an unfinished run stands in its folder from its start on, and goes when it is over.
unfinished=$work/open/unfinished.json
timeout 100 "$csengine" start "$config" --json --no_dashboard --model_dir "$work/open" \
    --compile_dir "$work/compiled" --num_steps 20000 --log_steps 1000 >"$work/open.out" 2>&1 &
process=$!
while kill -0 $process 2>/dev/null && ! grep -q '"step":1000,' "$work/open.out"; do sleep 0.02; done
[ -f "$unfinished" ] || fail 'the end is not written down while the run goes on'
kill -INT $process 2>/dev/null
wait $process
grep -q '"last_step": 20000' "$unfinished" &&
    grep -q '"length": "--num_steps 20000"' "$unfinished" ||
    fail "what is written down: $(cat "$unfinished")"
cp -r "$work/open" "$work/other"
cp -r "$work/open" "$work/nothing"
cp -r "$work/open" "$work/spoilt"
start open --num_steps 20000 --log_steps 1000 --set optimizer.SGD.lr=0.05 --seed 2 &&
    expect 20000 'other settings'
told='other settings: optimizer.SGD.lr 0.05 (it began with 0.1), seed 2 (it began with 1)'
grep -q "warning: .*$told" "$work/errors" || fail "other settings are not told: $(said)"
[ ! -e "$unfinished" ] || fail 'the end is written down behind it'
start other --max_steps 19000 --log_steps 1000 && expect 19000 'another end'
told='it began at step 0 and was to end at step 20000 (--num_steps 20000); this start has max_steps'
told="other is unfinished: $told 19000, which ends at step 19000; to go on to step 20000"
grep -q "warning: .*$told, give --num_steps 20000" "$work/errors" ||
    fail "another end is not told: $(said)"
[ ! -e "$work/other/unfinished.json" ] || fail 'another end: it stays'
start nothing --max_steps 10 || fail "nothing to do: $(said)"
grep -q '"last_step": 20000' "$work/nothing/unfinished.json" || fail 'nothing to do: it is gone'
grep -q 'warning: .*was to end at step 20000' "$work/errors" || fail "nothing to do: $(said)"
start nothing --num_steps 20000 --log_steps 1000 && expect 20000 'nothing to do, then the rest'
echo '{"version": 1}' >"$work/spoilt/unfinished.json"
start spoilt --num_steps 20000
[ $? = 65 ] && grep -q 'error: .*unfinished.json: no run wrote this' "$work/errors" ||
    fail "a file that no run wrote: $(said)"

# A repeated command is not told that the checkpoint says nothing of its data.
start files --num_steps 40 && start files --num_steps 2 && expect 42 'two more'
grep -q 'does not say which data' "$work/errors" && fail "data: $(said)"

# Afresh among another run's checkpoints: refused, and nothing is touched.
before=$(cd "$work/done" && sha256sum checkpoint_*.mdl)
for options in '--checkpoint_path null' '--set checkpoint.autoload_last_checkpoint=false'; do
    start done $options
    [ $? = 73 ] || fail "afresh, $options: $(said)"
    grep -q 'error: .*done holds 5 checkpoints .*checkpoint_96.mdl.*--model_dir' "$work/errors" ||
        fail "afresh, $options: $(said)"
done
[ "$before" = "$(cd "$work/done" && sha256sum checkpoint_*.mdl)" ] || fail 'checkpoints changed'
start fresh --checkpoint_path null && expect 60 'afresh in a folder of its own'
[ "$(digest)" = "$whole" ] || fail 'afresh: other weights'
start done --checkpoint_path newest --max_steps 96 || fail "the newest by name: $(said)"
grep -q 'loaded checkpoint .*checkpoint_96.mdl' "$work/errors" || fail "the newest: $(said)"

# From an earlier checkpoint in the same folder: told that later ones will be overwritten.
start done --checkpoint_path "$work/done/checkpoint_60.mdl" --num_steps 5 && expect 65 'from 60'
grep -q 'warning: .*checkpoint_96.mdl' "$work/errors" || fail "from 60: $(said)"

# Diverged: the checkpoint's weights show it, or the run store does.
low='--set model.activation=gelu --set optimizer.SGD.lr=0.1'
high='--set model.activation=gelu --set optimizer.SGD.lr=1000000'
start huge $high --set checkpoint.steps=1
[ $? = 1 ] && grep -q 'the loss is' "$work/errors" || fail "it does not diverge: $(said)"
ls "$work"/huge/checkpoint_*.mdl >/dev/null || fail 'the run that diverged has no checkpoint'
start huge $low
grep -q 'warning: .*checkpoint_[0-9]*.mdl: the largest weight is .* diverged; to start earlier' \
    "$work/errors" || grep -q 'warning: .*not finite: the training that wrote it has diverged' \
    "$work/errors" || fail "diverged, by its weights: $(said)"
grep -q '^{"event":"warning","message":".*diverged' "$work/out" || fail "no event: $(said)"
start huge2 $low --num_steps 5
start huge2 $high --num_steps 30
[ $? = 1 ] || fail "it does not diverge: $(said)"
start huge2 $low --num_steps 30
grep -q 'warning: the last run of .* diverged after step [0-9]*: going on from step 5' \
    "$work/errors" || fail "diverged, by the run store: $(said)"
expect 35 'with a lower rate'
start huge2 $low --num_steps 1
grep -q warning "$work/errors" && fail "it went well since: $(said)"

[ "$failures" = 0 ] || exit 1
echo "all as expected"
