#!/bin/sh
# The commands for jobs against a real server and real runs, from submission to the end, with a
# server that is killed in between; and the metrics that the Grafana dashboard queries.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
source=${top_srcdir:-.}
[ "${CSE_SANITIZE:-no}" = no ] || { echo "a sanitizer makes jobs slow: skipped"; exit 77; }
command -v curl >/dev/null || { echo "curl is not there: skipped"; exit 77; }
work=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null
    [ -z "$server" ] || wait "$server" 2>/dev/null
    for lock in "$work"/queue/*/run.lock; do
        [ -f "$lock" ] && "$csengine" kill "${lock%/run.lock}" >/dev/null 2>&1
    done
    rm -rf "$work"
}
trap finish EXIT
failures=0
unset CSE_TOKEN_FILE
export CSE_SERVER="$work/queue" XDG_RUNTIME_DIR="$work/runtime"
config=$source/configs/synthetic.yaml

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# expect CODE TEXT ARGUMENTS...: the exit code, and a text that the output must hold.
expect() {
    code=$1 text=$2
    shift 2
    timeout 100 "$csengine" "$@" >"$work/output" 2>&1 </dev/null
    got=$?
    [ "$got" = "$code" ] ||
        fail "csengine $*: exit code $got, expected $code: $(cat "$work/output")"
    grep -qF -e "$text" "$work/output" ||
        fail "csengine $*: no \"$text\" in: $(cat "$work/output")"
}

serve() {
    rm -f "$work/queue/server.json"
    "$csengine" serve --root "$work/queue" --cores 2 >"$work/served" 2>&1 &
    server=$!
    for i in $(seq 100); do
        [ -f "$work/queue/server.json" ] && return
        sleep 0.1
    done
    fail "no server: $(cat "$work/served")"
}

# until_job ID TEXT: the job as JSON holds the text.
until_job() {
    for i in $(seq 300); do
        "$csengine" get job "$1" --json 2>/dev/null | grep -qF -e "$2" && return
        sleep 0.1
    done
    fail "job $1 never has $2: $("$csengine" get job "$1" 2>&1)"
}

serve

# To its end, with the exit code of the job.
expect 0 'state   SUCCEEDED' submit "$config" --id good --label team=vision --follow
grep -q 'state   RUNNING' "$work/output" && grep -q 'saved .*checkpoint_60.mdl at step 60' \
    "$work/output" || fail "followed: $(cat "$work/output")"
expect 0 '60/60 100%' get jobs --label team=vision
expect 0 'step 60 of 60' logs good
expect 0 'step 60 of 60' logs good --follow --tail 100
expect 1 'job bad: FAILED NUMERICS' submit "$config" --id bad --set optimizer.SGD.lr=1e6 --follow
expect 1 'pause makes no sense then' pause good
sed 's/lr: 0.1/lrr: 0.1/' "$config" >"$work/wrong.yaml"
expect 78 'wrong.yaml:10:13: unknown setting "lrr"; did you mean "lr"?' submit "$work/wrong.yaml"

# A long job; another one waits for its cores.
expect 0 'long QUEUED' submit "$config" --id long --cores 2 --name 'a long one' \
    --set loop.num_steps=2000000000 --set logging.log_steps=100000 --set fit.val_dataloader=null
until_job long '"state":"RUNNING"'
expect 0 'late QUEUED' submit "$config" --id late --num_csx 1 --cores 1 --priority p3
expect 0 'by long' get jobs --state queued
expect 0 'late p1 owner=me' label late owner=me --priority p1
# Ctrl-C ends the following, not the job.
"$csengine" logs long --follow >"$work/followed" 2>&1 &
follower=$!
for i in $(seq 100); do
    grep -q coordinator "$work/followed" && break
    sleep 0.1
done
sleep 0.5
kill -INT $follower
wait $follower
[ $? = 130 ] && grep -q 'no longer following; the job goes on' "$work/followed" ||
    fail "interrupted: $(cat "$work/followed")"
expect 0 'pauses after the step in flight' pause long --message lunch
until_job long '"state":"PAUSED"'
expect 0 'lunch' report long --json
expect 0 'goes on' resume long
until_job long '"state":"RUNNING"'
expect 0 'a checkpoint follows' checkpoint save long
for i in $(seq 100); do
    ls "$work"/queue/long/checkpoint_*.mdl >/dev/null 2>&1 && break
    sleep 0.1
done
ls "$work"/queue/long/checkpoint_*.mdl >/dev/null 2>&1 || fail "checkpoint save wrote none"

# Every figure that the Grafana dashboard asks for is served, with the labels it goes by.
curl -s --unix-socket "$work/queue/server.sock" http://localhost/metrics >"$work/metrics"
for name in $(grep -o 'csengine_[a-z_]*' "$source/deploy/grafana.json" | sort -u); do
    grep -q "^$name[ {]" "$work/metrics" || fail "no figure $name: $(cat "$work/metrics")"
done
grep -q '^csengine_job_step{job="long",name="a long one"} ' "$work/metrics" ||
    fail "labels of a job's figures"

# The server is killed: the job goes on, and the next server has it.
kill -9 $server
wait $server 2>/dev/null
expect 69 'nobody listens there' get jobs
serve
until_job long '"state":"RUNNING"'
# Ending, or ended by the time that the answer is made.
expect 0 'long ' cancel long --grace 60 --message enough
grep -qE 'ends with a checkpoint|CANCELLED' "$work/output" || fail "cancel: $(cat "$work/output")"
expect 1 'job long: CANCELLED' logs long --follow
expect 0 'late' get jobs --label owner
until_job late '"state":"SUCCEEDED"'
# A complete run is not started again; one that failed says why it would fail again.
expect 1 'job "good" is complete: all 60 steps are done' resume good
expect 0 'and will fail again unless the cause is gone' resume bad
grep -q 'it failed (NUMERICS: step' "$work/output" || fail "why it failed: $(cat "$work/output")"

# The lines of a job that waits are followed from its first one on.
expect 0 'block QUEUED' submit "$config" --id block --cores 2 --set loop.num_steps=2000000000 \
    --set logging.log_steps=100000 --set fit.val_dataloader=null
until_job block '"state":"RUNNING"'
expect 0 'next QUEUED' submit "$config" --id next --num_csx 1 --cores 1
until_job next 'are taken, by block'
"$csengine" logs next --follow >"$work/waited" 2>&1 &
waiting=$!
for i in $(seq 100); do
    grep -q 'job next is QUEUED, waits for' "$work/waited" && break
    sleep 0.1
done
expect 0 'block ' kill block
wait $waiting || fail "followed from the queue on: $(cat "$work/waited")"
grep -q 'waits for' "$work/waited" && grep -q 'step 60 of 60' "$work/waited" ||
    fail "lines from the queue on: $(cat "$work/waited")"
[ "$failures" = 0 ]
