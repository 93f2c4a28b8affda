#!/bin/sh
# Commands to a run without a server, by its model_dir: each takes effect on a running job, and
# fails with a clear message for one that has ended.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
source=${top_srcdir:-.}
work=$(mktemp -d)
run=
trap '[ -z "$run" ] || kill $run 2>/dev/null; wait; rm -rf "$work"' EXIT
failures=0
unset CSE_SERVER CSE_TOKEN_FILE CSE_DASHBOARD
export XDG_RUNTIME_DIR="$work/runtime"

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# order TEXT ARGUMENTS...: succeeds, and its output holds the text.
order() {
    text=$1
    shift
    timeout 60 "$csengine" "$@" >"$work/output" 2>&1 || fail "csengine $*: $(cat "$work/output")"
    grep -qF -e "$text" "$work/output" || fail "csengine $*: no \"$text\": $(cat "$work/output")"
}


timeout 120 "$csengine" start "$source/configs/synthetic.yaml" --json --model_dir "$work/run" \
    --compile_dir "$work/compiled" --set loop.num_steps=null --max_steps 2000000000 \
    --log_steps 1000000 --set fit.val_dataloader=null >"$work/out" 2>"$work/errors" &
run=$!
for i in $(seq 150); do
    "$csengine" checkpoint save "$work/run" >/dev/null 2>&1 && break
    sleep 0.2
done
for i in $(seq 100); do
    ls "$work"/run/checkpoint_*.mdl >/dev/null 2>&1 && break
    sleep 0.1
done
set -- "$work"/run/checkpoint_*.mdl
[ -f "$1" ] || fail "checkpoint save wrote none: $(cat "$work/errors")"
"$csengine" checkpoint verify "$1" >/dev/null || fail "the checkpoint is not whole"

timeout 60 "$csengine" get job "$work/run" | grep -q 'RUNNING' || fail "get job of a directory"
timeout 60 "$csengine" logs "$work/run" --follow >"$work/followed" 2>&1 &
follower=$!

for i in $(seq 50); do
    [ -f "$work/run/server.json" ] && break
    sleep 0.1
done
DISPLAY='' WAYLAND_DISPLAY='' timeout 60 "$csengine" open "$work/run" >"$work/output" 2>&1 ||
    fail "open of a directory: $(cat "$work/output")"
grep -q '^http://127.0.0.1:[0-9]*' "$work/output" || fail "open: $(cat "$work/output")"

# until_state STATE COMMAND: repeats an order, which changes nothing more, until the state is this.
until_state() {
    for i in $(seq 100); do
        order '' "$2" "$work/run"
        grep -q " $1:" "$work/output" && return
        sleep 0.1
    done
    fail "$2: the run does not become $1: $(cat "$work/output")"
}

order 'pauses after the step in flight' pause "$work/run" --message lunch
until_state PAUSED pause
order '"command":"resume"' resume "$work/run" --json
until_state RUNNING resume

# Cancelled: ends by itself, after a checkpoint.
order '' cancel "$work/run" --grace 60
wait $run
code=$?
run=
[ "$code" = 130 ] || fail "exit code of a cancelled run: $code: $(tail -n 3 "$work/errors")"
set -- "$work"/run/checkpoint_*.mdl
[ $# -ge 2 ] || fail "cancel wrote no checkpoint: $*"
timeout 60 "$csengine" pause "$work/run" >"$work/output" 2>&1
[ $? = 69 ] && grep -q 'has ended: CANCELLED' "$work/output" ||
    fail "pause of a run that ended: $(cat "$work/output")"
wait $follower
[ $? = 1 ] && grep -q 'saved checkpoint' "$work/followed" &&
    tail -n 2 "$work/followed" | grep -q 'CANCELLED' || fail "followed: $(cat "$work/followed")"
[ "$failures" = 0 ]
