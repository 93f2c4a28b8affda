#!/bin/sh
# `csengine blame --dead_units`: a sample of huge features turns the weights of several units so far
# that they give nothing any more. Each unit and step that is told is compared with the values that
# `csengine inspect` has of every step.
set -u
. "${top_srcdir:?}/tests/support/past_runs.sh"
# Features above 0, so that weights below 0 are enough; row 1415 is in step 15.
awk 'BEGIN {
    print "a,b,c,label"
    for (i = 0; i < 2400; i++) {
        a = 0.2 + (i * 37 % 101) / 50; b = 0.2 + (i * 53 % 97) / 48
        if (i == 1415) print "40000,40000,0,0"
        else print a "," b "," (i * 3 % 13) / 13 "," (a + b > 2.4)
    }
}' >dead.csv
train() { # NAME ACTIVATION
    "$csengine" start "$source/configs/synthetic.yaml" --quiet --no_dashboard --model_dir "$1" \
        --compile_dir compiled --max_steps 24 --set fit.val_dataloader=null \
        --set loop.num_steps=null --set model.input_size=3 --set model.num_classes=2 \
        --set "model.hidden_sizes=[16]" --set "model.activation=$2" \
        --set "optimizer={SGD: {lr: 0.3, momentum: 0}}" \
        --set "fit.train_dataloader={data_processor: csv, path: dead.csv, label: label, \
batch_size: 100, micro_batch_size: 25, shuffle: false}" >out 2>&1 || fail "$1: $(cat out)"
}
train dead relu
"$csengine" blame dead --dead_units --json >found.json 2>err || fail "dead: $(cat err)"
step=1
while [ $step -le 24 ]; do
    "$csengine" inspect dead --step $step --computed --tensor 'fc_layers.0.relu' --json \
        --values 1000000 >"step_$step.json" 2>err || fail "step $step: $(cat err)"
    step=$((step + 1))
done
python3 - <<'END_OF_PYTHON' || fail "what is told: $(cat found.json)"
import json

found = json.load(open("found.json"))
dead = {}  # by step: the units that are zero in all rows
for step in range(1, 25):
    answer = json.load(open(f"step_{step}.json"))
    tensor = next(t for t in answer["tensors"] if t["name"] == "model.fc_layers.0.relu")
    rows, units = tensor["shape"]
    values = tensor["values"]
    assert (rows, units) == (100, 16) and len(values) == rows * units
    dead[step] = {u for u in range(units) if not any(values[u::units])}
told = {unit["unit"]: unit for unit in found["dead"]}
assert found["units"] == 16 and found["step"] == 24 and found["looks"] < 24, found
assert set(told) == dead[24] and len(told) >= 3, (told, dead)
for unit, item in told.items():
    assert item["layer"] == "model.fc_layers.0.relu" and item["located"], item
    first = item["first_dead"]
    assert unit in dead[first] and item["last_alive"] == first - 1, item
    assert first == 1 or unit not in dead[first - 1], (item, dead)
# Those that the planted sample has turned.
assert sum(item["first_dead"] == 16 for item in told.values()) >= 2, told
END_OF_PYTHON
expect 0 'dead from step 16 on, by the update of step 15: csengine blame dead --step 15$' \
    blame dead --dead_units --step 20
expect 64 '--gradients has no effect with --dead_units' blame dead --dead_units --gradients
expect 64 '--curves has no effect with --dead_units' blame dead --dead_units --curves
expect 66 'step 25: dead has done the steps 1 to 24' blame dead --dead_units --step 25

[ "$failures" -eq 0 ] && echo 'all as expected'
exit $((failures > 0))
