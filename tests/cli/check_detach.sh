#!/bin/sh
# `csengine start --detach` returns with the run's process id when training has started, and the run
# continues. A failure before that is reported with the job's exit code.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
config=${top_srcdir:-.}/configs/synthetic.yaml
work=$(mktemp -d)
pid=
finish() {
    [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

start() {
    name=$1
    shift
    timeout 60 "$csengine" start "$config" --detach --model_dir "$work/$name.d" \
        --compile_dir "$work/compiled" "$@" >"$work/$name" 2>"$work/$name.errors" </dev/null
}

start long --json --max_steps 2000000000 --set loop.num_steps=null --log_steps 1000 ||
    fail "exit code $?: $(cat "$work/long.errors")"
line='^{"event":"detached","id":"[0-9a-f]\{16\}","model_dir":"/.*/long.d",'
line="$line"'"state":"RUNNING","pid":[0-9]*}$'
grep -q "$line" "$work/long" || fail "what it says: $(cat "$work/long")"
pid=$(sed -n 's/.*"pid":\([0-9]*\)}.*/\1/p' "$work/long")
[ -n "$pid" ] && kill -0 "$pid" || fail "the run is gone: $(cat "$work/long.d/logs/output.log")"
[ "$(ps -o sid= -p "$pid" | tr -d ' ')" = "$pid" ] || fail "the run has no session of its own"
# A second one in the same place is refused, and says why.
start long 2>/dev/null
code=$?
[ "$code" = 75 ] || fail "a second run: exit code $code"
grep -q 'under way' "$work/long.errors" || fail "a second run: $(cat "$work/long.errors")"
kill -TERM "$pid"
i=0
while kill -0 "$pid" 2>/dev/null && [ $i -lt 300 ]; do
    sleep 0.1
    i=$((i + 1))
done
kill -0 "$pid" 2>/dev/null && fail 'it does not stop' || pid=
ls "$work/long.d"/checkpoint_*.mdl >/dev/null 2>&1 || fail 'it left no checkpoint when stopped'
grep -q '"state":"CANCELLED"' "$work/long.d/logs/output.log" ||
    fail "its output: $(tail -n 3 "$work/long.d/logs/output.log")"

# So short that it may be over before it is looked at.
start short || fail "short: exit code $?: $(cat "$work/short.errors")"
grep -q 'Run [0-9a-f]* is [A-Z]* in the background' "$work/short" ||
    fail "short: $(cat "$work/short")"

start wrong --num_csx 0
code=$?
[ "$code" = 78 ] || fail "a wrong setting: exit code $code"
start missing --set 'fit.train_dataloader.samples=1'
code=$?
[ "$code" != 0 ] || fail 'a run that cannot begin returns 0'
[ -s "$work/missing.errors" ] || fail 'a run that cannot begin says nothing'
i=0
while [ $i -lt 300 ] && ! grep -q 'Training completed' "$work/short.d/logs/output.log"; do
    sleep 0.1
    i=$((i + 1))
done
grep -q 'Training completed' "$work/short.d/logs/output.log" || fail 'the short run did not end'

[ $failures -eq 0 ] && echo 'detach: all as expected'
exit $((failures > 0))
