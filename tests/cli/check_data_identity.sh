#!/bin/sh
# Data that change under a run end it, with a message that names the file, before a step is computed
# from them; a file whose content is the same may be touched or replaced. A run that is resumed
# refuses other training data unless it is asked for them; a run that starts from a named checkpoint
# tells them.
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
sed 's/^6,/5,/' "$work/table.csv" >"$work/other.csv" # as many bytes

table() { # NAME ARGUMENTS...
    name=$1
    shift
    "$csengine" start "$config" --json --no_dashboard --model_dir "$work/$name" \
        --compile_dir "$work/compiled" --set fit.val_dataloader=null \
        --set loop.num_steps=null --set model.input_size=3 \
        --set "fit.train_dataloader={data_processor: csv, path: $work/table.csv, label: label, \
batch_size: 32, micro_batch_size: 16, shuffle: true}" "$@" >"$work/$name.out" 2>"$work/$name.err"
}
digest() { sed -n 's/.*"event":"end".*"weights_digest":"\([^"]*\)".*/\1/p' "$work/$1.out"; }
trains() { grep -q '"event":"step"' "$work/$1.out" 2>/dev/null; }
wait_for() { # up to 60 s
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 1200 ] || return 1
        sleep 0.05
    done
}
input_workers() { # below the process PID
    for below in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        grep -qas -- --role=input "/proc/$below/cmdline" && echo "$below"
        input_workers "$below"
    done
}
# Replaces the data of the run NAME by FILE as soon as it trains, and kills its input workers until
# it has ended or one was lost.
replace_once() { # NAME FILE
    rm -rf "${work:?}/$1" "$work/$1.out"
    cp "$work/kept.csv" "$work/table.csv"
    table "$1" --max_steps 20000 &
    process=$!
    wait_for trains "$1" || fail "$1: does not begin: $(cat "$work/$1.err")"
    cp "$2" "$work/new.csv"
    mv "$work/new.csv" "$work/table.csv"
    for number in $(input_workers $process); do kill -KILL "$number"; done
    wait $process
    code=$?
    process=
}
# On a busy machine the run may be over before its input workers are killed: then once more.
replace_under() { # NAME FILE
    for attempt in 1 2 3 4 5 6 7 8; do
        replace_once "$1" "$2"
        if grep -q 'data changed\|RECOVERING\|was lost\|killed' "$work/$1.out" "$work/$1.err"; then
            return
        fi
        echo "attempt $attempt: $1 was over before"
    done
}
expect() { # WHAT CODE WORDS NAME
    [ $code -eq "$2" ] || fail "$1: exit code $code: $(cat "$work/$4.err")"
    grep -q "$3" "$work/$4.err" || fail "$1: $(cat "$work/$4.err")"
}

table whole --max_steps 20000 || fail "whole: $(cat "$work/whole.err")"

# The same content in another file, with other times: nothing to tell.
replace_under touched "$work/kept.csv"
[ $code -eq 0 ] || fail "touched: exit code $code: $(cat "$work/touched.err")"
[ "$(digest touched)" = "$(digest whole)" ] || fail 'touched: another digest'

replace_under lost "$work/other.csv"
expect lost 65 'data changed under the run: .*/table\.csv: .* bytes, blake2b:' lost
newest=$(find "$work/lost" -name 'checkpoint_*.mdl')
[ -n "$newest" ] || fail 'lost: saved nothing'
"$csengine" checkpoint info "$newest" | grep -q "^data:.*train.*blake2b:.*table.csv" ||
    fail "info: $("$csengine" checkpoint info "$newest")"

# Resumed: other data are refused, and taken where they are asked for; named: told.
table lost --max_steps 20000
code=$?
expect resumed 65 'trained on other data: .*/table\.csv: .*--new_data' lost
table named --checkpoint_path "$newest" --num_steps 2
code=$?
expect named 0 'warning: .*written with other training data: .*/table\.csv' named
cp -r "$work/lost" "$work/asked"
table asked --num_steps 2 --new_data
code=$?
expect asked 0 'warning: .*written with other training data: .*/table\.csv' asked
cp "$work/kept.csv" "$work/table.csv"
table lost --max_steps 20000 || fail "gone on: $(cat "$work/lost.err")"
[ "$(digest lost)" = "$(digest whole)" ] || fail 'gone on: another digest'

# Training on no file is known as well: from files to none and back are other data.
invented='fit.train_dataloader={data_processor: synthetic, features: [3], classes: 4, samples: 200,
batch_size: 32, micro_batch_size: 16, shuffle: true}'
cp -r "$work/whole" "$work/none"
table none --num_steps 2 --set "$invented"
code=$?
expect none 65 'trained on other data: .*/table\.csv: only before; .*--new_data' none
table none --num_steps 2 --new_data --set "$invented"
code=$?
expect none 0 'warning: .*written with other training data: .*/table\.csv: only before' none
grep -q 'does not say which data' "$work/none.err" && fail "none: $(cat "$work/none.err")"
table none --num_steps 2
code=$?
expect back 65 'trained on other data: .*/table\.csv: only now; .*--new_data' none

[ $failures -eq 0 ]
