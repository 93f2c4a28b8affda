#!/bin/sh
# job_time_sec: a run ends in time with a checkpoint, says so by its state, reason and exit code,
# and goes on from there to the same bits as a run without a limit.
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

# train MODEL_DIR FLAGS...
train() {
    model_dir=$1
    shift
    timeout 120 "$csengine" start "$source/configs/synthetic.yaml" --model_dir "$work/$model_dir" \
        --compile_dir "$work/compiled" --no_dashboard --num_csx 1 \
        --set logging.log_steps=100000 --set fit.val_dataloader=null "$@" >"$work/out" 2>"$work/err"
}

train cut --compile_only || fail "compiling: $(cat "$work/err")"
train cut --max_steps 100000000 --job_time_sec 1
[ $? -eq 124 ] || fail "the exit code: $(cat "$work/err")"
grep -q 'job_time_sec: the 1 s of the run are over after step' "$work/err" ||
    fail "the message: $(cat "$work/err")"
steps=$(ls "$work/cut" | sed -n 's/^checkpoint_\([0-9]*\).mdl$/\1/p')
[ "${steps:-0}" -gt 0 ] || { fail "no checkpoint: $(cat "$work/out" "$work/err")"; exit 1; }
python3 - "$work/cut" "$steps" <<'CHECK' || fail "the run store"
import sqlite3, sys
with sqlite3.connect(f"file:{sys.argv[1]}/run.db?mode=ro", uri=True) as db:
    columns = [row[1] for row in db.execute("PRAGMA table_info(transitions)")]
    last = dict(zip(columns, db.execute("SELECT * FROM transitions ORDER BY rowid").fetchall()[-1]))
    print(last)
    assert "FAILED" in last.values() and "TIME_LIMIT" in last.values(), last
CHECK

# The rest in as many parts as the limit makes of it.
total=$((steps + steps / 2 + 10))
train whole --max_steps "$total" || fail "without a limit: $(cat "$work/err")"
digest=$(grep 'Weights digest' "$work/out")
parts=1
while [ "$parts" -lt 60 ]; do
    parts=$((parts + 1))
    train cut --max_steps "$total" --job_time_sec 1 && break
    [ $? -eq 124 ] || { fail "part $parts: $(cat "$work/err")"; break; }
done
[ "$(grep 'Weights digest' "$work/out")" = "$digest" ] ||
    fail "after $parts parts: $(cat "$work/out") in place of $digest"

# A validation ends in time as well; the checkpoint of the training before it stands.
train eval --max_steps 10 --job_time_sec 1 --set \
    'fit.val_dataloader={data_processor: synthetic, features: [16], classes: 4, samples: 100000000,
    batch_size: 64}'
[ $? -eq 124 ] && [ -f "$work/eval/checkpoint_10.mdl" ] || fail "validation: $(cat "$work/err")"
exit "$failed"
