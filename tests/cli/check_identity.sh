#!/bin/sh
# The chain of identity: equal for the same run wherever it is done, with any number of processes,
# stopped and resumed or not; and compare names the link that differs first.
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

i=0
echo 'a,b,c,label' >"$work/table.csv"
while [ $i -lt 200 ]; do
    echo "$((i % 7)),$((i * 5 % 11)),$((i * 3 % 13)),$((i % 4))"
    i=$((i + 1))
done >>"$work/table.csv"
mkdir "$work/moved"
cp "$work/table.csv" "$work/moved/same.csv"
sed 's/^6,/5,/' "$work/table.csv" >"$work/other.csv"

train() { # NAME TABLE ARGUMENTS...
    name=$1
    data=$2
    shift 2
    "$csengine" start "$config" --quiet --no_dashboard --model_dir "$work/$name" \
        --compile_dir "$work/compiled" --set fit.val_dataloader=null --set checkpoint.steps=4 \
        --set loop.num_steps=null --set model.input_size=3 \
        --set "fit.train_dataloader={data_processor: csv, path: $work/$data, label: label, \
batch_size: 32, micro_batch_size: 16, shuffle: true}" "$@" >"$work/out" 2>&1 ||
        fail "$name: exit code $?: $(cat "$work/out")"
}
identity() { # NAME STEP
    "$csengine" checkpoint info "$work/$1/checkpoint_$2.mdl" | sed -n 's/^identity: *//p'
}
expect() { # WORDS CODE A B
    "$csengine" compare "$work/$3" "$work/$4" >"$work/out" 2>&1
    code=$?
    [ $code -eq "$2" ] || fail "compare $3 $4: exit code $code: $(cat "$work/out")"
    grep -q "^identity: $1" "$work/out" || fail "compare $3 $4: $(cat "$work/out")"
}

train whole table.csv --max_steps 8
train elsewhere moved/same.csv --max_steps 8 --num_csx 2
train resumed table.csv --max_steps 4
train resumed table.csv --max_steps 8
train data other.csv --max_steps 8
train seed table.csv --max_steps 8 --seed 7
train settings table.csv --max_steps 8 --set optimizer.SGD.momentum=0.5

for step in 4 8; do
    first=$(identity whole $step)
    [ ${#first} -eq 64 ] || fail "no identity: $("$csengine" checkpoint info \
        "$work/whole/checkpoint_$step.mdl" 2>&1)"
    for name in elsewhere resumed; do
        [ "$(identity $name $step)" = "$first" ] || fail "$name: another identity at step $step"
    done
    for name in data seed settings; do
        [ "$(identity $name $step)" != "$first" ] || fail "$name: the same identity at step $step"
    done
done
same='same configuration, same code, same artefact'
expect "$same, same data, same seed$" 0 whole elsewhere
expect "$same, same data, same seed$" 0 whole/checkpoint_8.mdl resumed/checkpoint_8.mdl
grep -q '^weights: equal, bit for bit$' "$work/out" || fail "weights: $(cat "$work/out")"
expect "$same, other data: .*/other.csv: .* bytes" 1 whole data
expect "$same, other data: .*/other.csv: .* bytes" 1 whole/checkpoint_8.mdl data/checkpoint_8.mdl
expect "$same, same data, other seed: 1 and 7" 1 whole seed
expect 'other configuration' 1 whole settings
"$csengine" compare --json "$work/whole" "$work/data" | grep -q '"first":"data"' ||
    fail "compare --json: $("$csengine" compare --json "$work/whole" "$work/data")"

[ $failures -eq 0 ]
