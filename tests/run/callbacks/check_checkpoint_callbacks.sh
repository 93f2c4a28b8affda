#!/bin/sh
# The callbacks that have to do with checkpoints: which files stay, what the best one is, what
# partial files hold, and what is taken of a checkpoint that is named.
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

# start NAME ARGUMENTS...: checkpoints and validations every 5 steps.
start() {
    name=$1
    shift
    timeout 100 "$csengine" start "$config" --json --no_dashboard --model_dir "$work/$name.d" \
        --compile_dir "$work/compiled" --set checkpoint.steps=5 --set loop.num_steps=null \
        --set loop.eval_frequency=5 --set 'loggers=[CSVLogger]' "$@" >"$work/$name" \
        2>"$work/$name.errors" || fail "$name: $(cat "$work/$name.errors")"
}
end_of() { sed -n 's/.*"event":"end".*"'"$2"'":"\{0,1\}\([^",]*\).*/\1/p' "$work/$1"; }
digest() { "$csengine" checkpoint digest "$@"; }
files() { (cd "$work/$1.d" && echo *.mdl); }
model_of() { digest --prefix model. "$1"; }

# The best checkpoint, by a loss that does not fall steadily; the others but the newest go.
best_of() { # NAME: the step of the least val_loss
    awk -F, '$3 == "val_loss" && (n++ == 0 || $4 < best) { best = $4; step = $1 }
        END { print step }' "$work/$1.d/metrics.csv"
}
keep='callbacks=[ModelCheckpoint, {KeepNCheckpoints: {n: 1}}]'
start all --max_steps 40 --set optimizer.SGD.lr=0.4
best=$(best_of all)
[ "$best" -gt 5 ] && [ "$best" -lt 40 ] || fail "the best step is $best"
start kept --max_steps 40 --set optimizer.SGD.lr=0.4 --set "$keep"
[ "$(files kept)" = "best.mdl checkpoint_40.mdl" ] || fail "files: $(files kept)"
[ "$(digest "$work/kept.d/best.mdl")" = "$(digest "$work/all.d/checkpoint_$best.mdl")" ] ||
    fail "best.mdl is not of step $best"
# In two parts, the second without a better one.
start parts --max_steps "$best" --set optimizer.SGD.lr=0.4 --set "$keep"
start parts --max_steps 40 --set optimizer.SGD.lr=0.4 --set "$keep"
[ "$(digest "$work/parts.d/best.mdl")" = "$(digest "$work/kept.d/best.mdl")" ] ||
    fail "the second part did not know the best: $(cat "$work/parts.errors")"
start most --max_steps 40 --set optimizer.SGD.lr=0.4 \
    --set 'callbacks=[{ModelCheckpoint: {monitor: val_accuracy, mode: max, filename: most.mdl}}]'
most=$(awk -F, '$3 == "val_accuracy" && $4 > best { best = $4; step = $1 } END { print step }' \
    "$work/most.d/metrics.csv")
[ "$(digest "$work/most.d/most.mdl")" = "$(digest "$work/all.d/checkpoint_$most.mdl")" ] ||
    fail "most.mdl is not of step $most"

# Every second checkpoint, the weights alone.
start states --max_steps 20 --set 'callbacks=[{SaveCheckpointState: {k: 2}}]'
[ "$(cd "$work/states.d" && echo states_*)" = "states_10.mdl states_20.mdl" ] ||
    fail "files: $(files states)"
[ "$(model_of "$work/states.d/states_10.mdl")" = \
    "$(model_of "$work/states.d/checkpoint_10.mdl")" ] ||
    fail "states_10 has other weights"
"$csengine" checkpoint info "$work/states.d/states_10.mdl" >"$work/info"
grep -q 'model\.last_layer\.weight' "$work/info" && ! grep -q 'optimizer\.' "$work/info" ||
    fail "states_10: $(cat "$work/info")"
"$csengine" checkpoint verify "$work/states.d/states_10.mdl" >/dev/null ||
    fail "states_10 is broken"

# Weights alone are taken of a checkpoint that is named, and training begins at step 0.
named="--checkpoint_path $work/states.d/checkpoint_10.mdl"
load='callbacks=[{LoadCheckpointStates: {load_checkpoint_states: model}}]'
start begins --max_steps 10 --set checkpoint.save_initial_checkpoint=true $named --set "$load"
[ "$(model_of "$work/begins.d/checkpoint_0.mdl")" = \
    "$(model_of "$work/states.d/checkpoint_10.mdl")" ] || fail "other weights were loaded"
[ "$(end_of begins steps)" = 10 ] || fail "it ends at $(end_of begins steps)"
start again --max_steps 10 $named
grep -q '"complete":true' "$work/again" ||
    fail "without the callback the run is not at step 10: $(tail -n 1 "$work/again")"
# The file of weights alone does as well; it goes on from its own checkpoint with all of it.
start weights --max_steps 5 --set "$load" --checkpoint_path "$work/states.d/states_10.mdl"
start weights --max_steps 10 --set "$load"
[ "$(end_of weights weights_digest)" = "$(end_of begins weights_digest)" ] ||
    fail "in two parts: other weights"
load='{load_checkpoint_states: "model,optimizer,global_step"}'
start both --max_steps 15 $named --set "callbacks=[{LoadCheckpointStates: $load}]"
[ "$(digest "$work/both.d/checkpoint_15.mdl")" = "$(digest "$work/states.d/checkpoint_15.mdl")" ] ||
    fail "everything by name is not everything"

[ "$failures" = 0 ] || exit 1
echo "all as expected"
