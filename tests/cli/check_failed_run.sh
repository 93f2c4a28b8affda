#!/bin/sh
# A run that fails first saves the steps that were done: started again it ends with the bits of one
# that did not fail. One that diverged is saved under a name that no start loads by itself.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
config=${top_srcdir:-.}/configs/synthetic.yaml
work=$(mktemp -d)
process=
trap '[ -z "$process" ] || kill -KILL "$process" 2>/dev/null; rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

i=0
echo 'a,b,c,label' >"$work/table.csv"
while [ $i -lt 200 ]; do
    echo "$((i % 7)),$((i * 5 % 11)),$((i * 3 % 13)),$((i % 4))"
    i=$((i + 1))
done >>"$work/table.csv"
cp "$work/table.csv" "$work/kept.csv"

start() { # NAME ARGUMENTS...
    folder=$1
    shift
    "$csengine" start "$config" --json --no_dashboard --model_dir "$work/$folder" \
        --compile_dir "$work/compiled" --set "fit.val_dataloader=null" "$@" \
        >"$work/$folder.out" 2>"$work/$folder.err"
}
table() { # NAME ARGUMENTS...
    start "$@" --max_steps 20000 --set loop.num_steps=null --set model.input_size=3 \
        --set "fit.train_dataloader={data_processor: csv, path: $work/table.csv, label: label, \
batch_size: 32, micro_batch_size: 16, shuffle: true}"
}
digest() { sed -n 's/.*"event":"end".*"weights_digest":"\([^"]*\)".*/\1/p' "$work/$1.out"; }
step() {
    sed -n 's/.*"event":"step","step":\([0-9]*\).*/\1/p' "$work/$1.out" 2>/dev/null | tail -n 1
}
wait_for() { # up to 60 s
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 1200 ] || return 1
        sleep 0.05
    done
}
trains() { [ -n "$(step lost)" ]; }
input_workers() { # of the run "lost"
    for n in $(grep -las -- --role=input /proc/[0-9]*/cmdline | tr -cd '0-9\n'); do
        parent=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$n/status" 2>/dev/null)
        grep -qas -- "$work/lost" "/proc/$parent/cmdline" && echo "$n"
    done
}

table whole || fail "whole: $(cat "$work/whole.err")"

# The data are gone when an input worker starts again: the run fails, with its steps saved.
table lost &
process=$!
wait_for trains || fail "lost: does not begin: $(cat "$work/lost.err")"
rm "$work/table.csv"
for number in $(input_workers); do kill -KILL "$number"; done
wait $process
code=$?
process=
[ $code -eq 66 ] || fail "lost: exit code $code: $(cat "$work/lost.err")"
grep -q 'steps that were done are saved: .*/checkpoint_[0-9]*\.mdl' "$work/lost.err" ||
    fail "lost: does not say what is saved: $(cat "$work/lost.err")"
set -- "$work"/lost/checkpoint_*.mdl
[ -f "$1" ] || fail "lost: saved nothing"
saved=$(echo "$1" | sed 's/.*_\([0-9]*\)\.mdl/\1/')
[ "$saved" -ge "$(step lost)" ] || fail "lost: saved step $saved, was told of $(step lost)"
cp "$work/kept.csv" "$work/table.csv"
touch -r "$work/kept.csv" "$work/table.csv"
table lost || fail "gone on: $(cat "$work/lost.err")"
[ "$(digest lost)" = "$(digest whole)" ] || fail "gone on: another digest"

# Divergence.
start far --set optimizer.SGD.lr=1000000 --num_steps 1000
code=$?
[ $code -eq 1 ] || fail "diverged: exit code $code"
grep -q 'saved: .*/diverged_[0-9]*\.mdl' "$work/far.err" || fail "diverged: $(cat "$work/far.err")"
set -- "$work"/far/checkpoint_*.mdl
[ ! -e "$1" ] || fail "diverged: $1 would be loaded by the next start"
"$csengine" checkpoint info "$work"/far/diverged_*.mdl >/dev/null || fail "diverged: cannot be read"

[ $failures -eq 0 ]
