#!/bin/sh
# `csengine numerics` and `csengine compare`: an overflow and a NaN that are injected in one layer,
# step and microbatch are located; the counts do not depend on the number of processes nor on killed
# ones; collecting statistics changes no bit; the first difference of two runs is found.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

# 64 rows of 16 features; row 37 is what the argument says. Batches of 8 in microbatches of 2, so it
# is in step 5, microbatch 2.
table() { # value of the planted row
    awk -v planted="$1" 'BEGIN {
        for (c = 0; c < 16; c++) printf "c%d,", c
        print "label"
        for (r = 0; r < 64; r++) {
            for (c = 0; c < 16; c++)
                printf "%s,", r == 37 ? (c % 3 == 0 ? "-" : "") planted : (r * 7 + c * 3) % 11 / 10
            print r % 4
        }
    }'
}
table 60000 >"$work/large.csv"
table 3e38 >"$work/huge.csv"
table 0.5 >"$work/plain.csv"

cat >"$work/config.yaml" <<END
trainer:
  init:
    model_dir: $work/model_dir
    backend: {compile_dir: $work/compiled}
    model: {name: fc_mnist, input_size: 16, hidden_sizes: [64, 32], num_classes: 4, dropout: 0.0}
    optimizer:
      SGD: {lr: 0.01, momentum: 0.9}
    loop: {num_steps: 8}
    numerics: {every: 1}
    seed: 1
  fit:
    train_dataloader: {data_processor: csv, path: $work/plain.csv, label: label, batch_size: 8,
      micro_batch_size: 2, shuffle: false}
END

run() { # name, arguments...
    name=$1
    shift
    "$csengine" start "$work/config.yaml" --model_dir "$work/$name" "$@" >"$work/$name.out" 2>&1
}

digest_of() { sed -n 's/^Weights digest: //p' "$work/$1.out"; }
numbers_of() { # name, step
    "$csengine" numerics "$work/$1" --step "$2" --json | sed 's/^{"run":"[^"]*",//'
}

# An overflow: the inputs fit in float16, what the first layer makes of them does not.
run large --set precision.fp16_type=float16 --set precision.graphamp.preset=mp1 \
    --set "train_dataloader.path=$work/large.csv" && fail "the loss of the planted run is finite"
"$csengine" numerics "$work/large" >"$work/out" 2>&1 || fail "numerics: $(cat "$work/out")"
sed -n 1p "$work/out" |
    grep -q '^first not finite: model\.fc_layers\.0\.relu\.cast at step 5, microbatch 2$' ||
    fail "the planted overflow: $(sed -n 1,4p "$work/out")"
sed -n 2p "$work/out" | grep -q 'layer model.fc_layers.0, op cast (forward), float32 to float16' ||
    fail "layer and op: $(sed -n 2p "$work/out")"
sed -n 3p "$work/out" | grep -q 'of 512 values are too large for float16' ||
    fail "what was lost: $(sed -n 3p "$work/out")"
grep -q 'first tensor seen not finite is model.fc_layers.0.relu.cast (float32 to float16' \
    "$work/large.out" || fail "the error does not name the tensor: $(cat "$work/large.out")"

# A NaN: in float32, with every tensor observed; infinities of both signs meet in the first product.
run huge --set numerics.tensors='[model.*]' --set "train_dataloader.path=$work/huge.csv" &&
    fail "the loss of the huge run is finite"
"$csengine" numerics "$work/huge" --json >"$work/out" 2>&1
for part in '"tensor":"model.fc_layers.0.relu"' '"step":5' '"first_microbatch":2'; do
    sed 's/.*"first_nonfinite":{\([^}]*\)}.*/\1/' "$work/out" | grep -q "$part" ||
        fail "the planted NaN lacks $part: $(cut -c1-600 "$work/out")"
done

# The same numbers for any number of processes, and observing changes nothing.
low='--set precision.fp16_type=bfloat16 --set precision.graphamp.preset=mp1'
run csx1 $low || fail "csx1: $(cat "$work/csx1.out")"
run off $low --set numerics.every=0 || fail "off: $(cat "$work/off.out")"
[ -n "$(digest_of off)" ] && [ "$(digest_of off)" = "$(digest_of csx1)" ] ||
    fail "observing changed the weights"
for csx in 2 3 4; do
    run csx$csx $low --num_csx $csx --max_wgt_servers $((csx - 2)) ||
        fail "csx$csx: $(cat "$work/csx$csx.out")"
    for step in 1 4 8; do
        [ "$(numbers_of csx$csx $step)" = "$(numbers_of csx1 $step)" ] ||
            fail "$csx replicas: other numbers at step $step"
    done
    "$csengine" compare "$work/csx1" "$work/csx$csx" >"$work/out" || fail "$csx: $(cat "$work/out")"
done
grep -q '^tensors: equal at all 8 steps' "$work/out" || fail "compare: $(cat "$work/out")"

# Processes that are killed while every step is observed.
run whole $low --set loop.num_steps=1500 || fail "whole: $(cat "$work/whole.out")"
run killed $low --set loop.num_steps=1500 --num_csx 3 &
kills=0
for round in $(seq 1 400); do
    grep -q 'Step=3,' "$work/killed.out" && break
    sleep 0.02
done
for round in $(seq 1 200); do
    for process in $(grep -las -- "$work/killed" /proc/[0-9]*/cmdline | tr -cd '0-9\n'); do
        for child in $(cat "/proc/$process/task/$process/children" 2>/dev/null); do
            grep -qas -- '--role=replica' "/proc/$child/cmdline" && [ $kills -lt 3 ] &&
                kill -9 "$child" 2>/dev/null && kills=$((kills + 1)) && sleep 0.1
        done
    done
    [ $kills -lt 3 ] || break
    sleep 0.02
done
wait $! || fail "killed: $(cat "$work/killed.out")"
[ "$kills" -gt 0 ] || fail "nothing was killed"
"$csengine" compare "$work/whole" "$work/killed" >"$work/out" ||
    fail "$kills kills: $(cat "$work/out")"

# Where runs part: another seed in the first weight, another format in the first rounding, another
# level of one layer in what that layer makes.
expect() { # name of the other run, sed expression's line, text
    "$csengine" compare "$work/csx1" "$work/$1" >"$work/out"
    [ $? -eq 1 ] || fail "$1: exit code, $(cat "$work/out")"
    sed -n 2,3p "$work/out" | tr '\n' ' ' | grep -q "$2" ||
        fail "$1: $2 expected: $(cat "$work/out")"
}
run seed $low --seed 2
expect seed 'first difference: model.fc_layers.0.weight at step 1 .*op state'
run format --set precision.fp16_type=float16 --set precision.graphamp.preset=mp1
expect format 'first difference: .*cast at step 1'
run rate $low --set optimizer.SGD.lr=0.02
expect rate 'first difference: model.fc_layers.0.weight.update at step 1 .*op update'
grep -q 'first differs at step 2' "$work/out" || fail "losses: $(cat "$work/out")"
tiles="$low --set precision.tile_length=4 --set precision.precision_opt_level=2"
tiles="$tiles --set precision.emulate_accumulation=true"
run pol $tiles || fail "pol: $(cat "$work/pol.out")"
run pol_one $tiles --set precision.pol='[{scope: model.fc_layers.1, level: 0}]' ||
    fail "pol_one: $(cat "$work/pol_one.out")"
"$csengine" compare "$work/pol" "$work/pol_one" --json >"$work/out"
grep -q '"first_difference":{"tensor":"model.fc_layers.1.relu.cast","op":"cast"' "$work/out" ||
    fail "the level of one layer: $(cat "$work/out")"

# Mistakes.
"$csengine" numerics "$work/off" >"$work/out" 2>&1 && fail "a run without numerics"
grep -q 'has no step with statistics' "$work/out" || fail "$(cat "$work/out")"
"$csengine" numerics "$work/csx1" --step 9 >"$work/out" 2>&1 && fail "step 9 has no statistics"
grep -q 'step 9 has no statistics' "$work/out" || fail "$(cat "$work/out")"
run pattern --set numerics.tensors='[model.fc_layer.0.*]' && fail "a pattern that matches nothing"
grep -q 'the pattern "model.fc_layer.0.\*" matches no tensor' "$work/pattern.out" ||
    fail "$(cat "$work/pattern.out")"
exit $failed
