#!/bin/sh
# SIGUSR1, which a scheduler sends some time before it takes the run's place away: the run ends with
# a checkpoint of its last step and exit code 75, says so by its state and reason, and goes on from
# there to the same bits as a run that nobody disturbed. It may come at any time, also while the run
# starts; SIGTERM after it, which a scheduler sends next, takes no checkpoint away.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
source=${top_srcdir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $1"
    failed=1
}

# begin MODEL_DIR FLAGS...: its process is $child
begin() {
    model_dir=$1
    shift
    "$csengine" start "$source/configs/synthetic.yaml" --model_dir "$work/$model_dir" \
        --compile_dir "$work/compiled" --no_dashboard --num_csx 2 \
        --set logging.log_steps=100000 --set fit.val_dataloader=null "$@" \
        >"$work/out" 2>"$work/err" &
    child=$!
}

train() {
    begin "$@"
    wait $child
}

running() { # MODEL_DIR: how often it was RUNNING
    python3 - "$work/$1/run.db" 2>/dev/null <<'COUNT' || echo 0
import sqlite3, sys
with sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True) as db:
    print(str(db.execute("SELECT * FROM transitions").fetchall()).count("'RUNNING'"))
COUNT
}

# preempt MODEL_DIR SIGNAL...: starts it, sends the signals once it runs; its exit code
preempt() {
    name=$1
    shift
    before=$(running "$name")
    begin "$name" --max_steps 100000000
    while kill -0 $child 2>/dev/null && [ "$(running "$name")" -le "$before" ]; do sleep 0.1; done
    sleep 0.2
    for signal; do kill -"$signal" $child; done
    wait $child
}

newest() { ls "$work/$1" | sed -n 's/^checkpoint_\([0-9]*\).mdl$/\1/p' | sort -n | tail -1; }

train cut --compile_only || fail "compiling: $(cat "$work/err")"
preempt cut USR1
[ $? -eq 75 ] || fail "the exit code: $(cat "$work/err")"
grep -q 'the run ends after step [0-9]*: SIGUSR1 asked for its place' "$work/err" ||
    fail "the message: $(cat "$work/err")"
steps=$(newest cut)
[ "${steps:-0}" -gt 0 ] || { fail "no checkpoint: $(cat "$work/out" "$work/err")"; exit 1; }
grep -q "after step $steps:" "$work/err" || fail "another step: $steps, $(cat "$work/err")"
python3 - "$work/cut" <<'CHECK' || fail "the run store"
import sqlite3, sys
with sqlite3.connect(f"file:{sys.argv[1]}/run.db?mode=ro", uri=True) as db:
    last = db.execute("SELECT * FROM transitions ORDER BY rowid").fetchall()[-1]
    print(last)
    assert "FAILED" in last and "PREEMPTED" in last, last
CHECK

# Again, with what Slurm sends at its limit right behind it.
preempt cut USR1 TERM
[ $? -eq 75 ] || fail "with SIGTERM behind it: $(cat "$work/err")"
[ "$(newest cut)" -gt "$steps" ] || fail "no other checkpoint: $(cat "$work/out" "$work/err")"
steps=$(newest cut)

# While it starts: it ends soon, with 75, whatever was done by then.
for delay in 0 0.05 0.2; do
    begin "early_$delay" --max_steps 100000000
    while kill -0 $child 2>/dev/null && [ ! -e "$work/early_$delay/run.db" ]; do sleep 0.01; done
    sleep "$delay"
    kill -USR1 $child
    wait $child
    code=$?
    [ $code -eq 75 ] || fail "$delay s after its beginning: $code, $(cat "$work/err")"
done

total=$((steps + 20))
train cut --max_steps "$total" || fail "going on: $(cat "$work/err")"
digest=$(grep 'Weights digest' "$work/out")
train whole --max_steps "$total" || fail "undisturbed: $(cat "$work/err")"
[ "$(grep 'Weights digest' "$work/out")" = "$digest" ] ||
    fail "the bits: $(cat "$work/out") in place of $digest"

exit "$failed"
