#!/bin/sh
# A training whose loss ends far above that of its first steps ends as diverged: on the terminal, in
# the exit code, in the run store, for a start that finds nothing left to do, and for one that goes
# on; none of its checkpoints is the best; a setting turns it off, and it is no success in a queue.
# Skipped without python3 (its sqlite3).
set -u
csengine=$(realpath "${CSENGINE_EXECUTABLE:?}")
config=${top_srcdir:?}/configs/synthetic.yaml
python=${PYTHON:-python3}
"$python" -c 'import sqlite3' 2>/dev/null || { echo 'there is no python3: skipped'; exit 77; }
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill $server; rm -rf "$work"' EXIT
CSE_DASHBOARD=0
export CSE_DASHBOARD
failed=0

complain() {
    echo "FAIL: $*"
    failed=1
}

start() { # name, exit code, arguments...
    name=$1 wanted=$2
    shift 2
    timeout 100 "$csengine" start "$config" --model_dir "$work/$name" \
        --compile_dir "$work/compiled" "$@" >"$work/out" 2>"$work/err"
    code=$?
    [ $code = "$wanted" ] || complain "$name: exit code $code: $(tail -n 5 "$work/err" "$work/out")"
}

ended() { # name: its state and reason
    "$python" - "$work/$1/run.db" <<'PYTHON'
import sqlite3
import sys

print(*sqlite3.connect(sys.argv[1]).execute(
    "select to_state, reason from transitions order by seq desc limit 1").fetchone())
PYTHON
}

diverged() { # name
    grep -q 'the training has diverged: the loss of its last 10 steps is' "$work/err" ||
        complain "$1: not told: $(cat "$work/err")"
    grep -q 'completed successfully' "$work/out" && complain "$1: is called a success"
    [ "$(ended "$1")" = 'FAILED DIVERGED' ] || complain "$1: $(ended "$1")"
}

# The loss is 1e27 at step 20; from step 27 on it would be no number, which ends a run at once.
set -- --set optimizer.SGD.lr=30 --set optimizer.SGD.momentum=0 --set loop.eval_frequency=10 \
    --set checkpoint.steps=10 --set loop.num_steps=20
start high 1 "$@" --set 'callbacks=[ModelCheckpoint]'
diverged high
[ ! -e "$work/high/best.mdl" ] || complain 'high: has a best checkpoint'
[ -e "$work/high/checkpoint_20.mdl" ] || complain 'high: its last checkpoint is missing'
start high 1 "$@"
diverged high
start high 1 "$@" --max_steps 23 --set loop.num_steps=null
diverged high
grep -q 'that wrote it has diverged' "$work/err" || complain "high: not warned: $(cat "$work/err")"
start off 0 "$@" --set loop.diverged_factor=0
[ "$(ended off)" = 'SUCCEEDED ' ] || complain "off: $(ended off)"

start json 1 "$@" --json
grep -q '"event":"end".*diverged' "$work/out" || complain "json: $(tail -n 1 "$work/out")"

# A good beginning, which is the best there is, and what came after it.
start late 0 --set loop.eval_frequency=20 --set checkpoint.steps=20 \
    --set 'callbacks=[ModelCheckpoint]'
start late 1 "$@" --max_steps 75 --set loop.num_steps=null --set 'callbacks=[ModelCheckpoint]'
diverged late
for step in 20 40 60; do
    [ ! "$work/late/best.mdl" -ef "$work/late/checkpoint_$step.mdl" ] || good=$step
done
[ -n "${good-}" ] || complain 'late: the best checkpoint is none of its good ones'

# In a queue.
"$csengine" serve --root "$work/queue" >"$work/served" 2>&1 &
server=$!
tries=0
until [ -e "$work/queue/server.json" ] || [ $tries -ge 300 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
"$csengine" submit "$config" --server "$work/queue" --id job "$@" >"$work/out" 2>&1 ||
    complain "submit: $(cat "$work/out")"
tries=0
until "$csengine" get jobs --server "$work/queue" >"$work/out" 2>&1 &&
    grep -q 'FAILED\|SUCCEEDED' "$work/out"; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || break
    sleep 0.2
done
grep -q 'FAILED:DIVERGED' "$work/out" || complain "in a queue: $(cat "$work/out")"
exit $failed
