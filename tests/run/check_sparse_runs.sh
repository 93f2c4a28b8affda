#!/bin/sh
# Whole sparse runs: one digest of all weights and masks for any number of processes, for a run in
# parts, and with weights divided among servers, in each format; what LogSparsity logs, against the
# checkpoint; what a sparse checkpoint is to a dense run and the other way round; messages.
set -u
config=$top_srcdir/configs/synthetic.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# start NAME ARGUMENTS...: the run's directory is $work/NAME.d, its output in $work/NAME.
start() {
    name=$1
    shift
    timeout 200 "$CSENGINE_EXECUTABLE" start "$config" --no_dashboard --model_dir "$work/$name.d" \
        --compile_dir "$work/compiled" "$@" >"$work/$name" 2>&1
}
digest() { "$CSENGINE_EXECUTABLE" checkpoint digest "$work/$1.d/checkpoint_$2.mdl"; }

set_sparsity='init.sparsity={algorithm: set, sparsity: 0.8, update: {freq: 5}}'
rigl='init.sparsity={algorithm: rigl, sparsity: 0.8, update: {freq: 3, stop: 50}}'
gmp='init.sparsity={algorithm: gmp, init_method: topk, schedule: {type: cubic, final: 0.8},
update: {freq: 7, stop: 50}}'
both='init.sparsity=[{algorithm: rigl, sparsity: 0.7, param_filter: "last*.weight",
update: {freq: 4}}, {sparsity: 0.5, init_method: checkerboard}]'

# ---- one result ----

number=0
for sparsity in "$set_sparsity" "$rigl" "$gmp" "$both"; do
    number=$((number + 1))
    start one$number --set "$sparsity" --num_csx 1 || fail "one: $(cat "$work/one$number")"
    one=$(digest one$number 60)
    for processes in 2 3 4; do
        start more$number$processes --set "$sparsity" --num_csx $processes ||
            fail "$processes processes: $(cat "$work/more$number$processes")"
        [ "$(digest more$number$processes 60)" = "$one" ] ||
            fail "$processes processes, $sparsity: other bits"
    done
    for cut in 1 5 17; do
        start part$number$cut --set "$sparsity" --max_steps $cut ||
            fail "a part of $cut: $(cat "$work/part$number$cut")"
        start part$number$cut --set "$sparsity" --set loop.num_steps=null --max_steps 60 ||
            fail "from $cut: $(cat "$work/part$number$cut")"
        [ "$(digest part$number$cut 60)" = "$one" ] || fail "cut at $cut, $sparsity: other bits"
    done
done
# Parameter groups are something else than the groups of the sparsity.
for processes in 1 3; do
    start groups$processes --set "$both" --num_csx $processes --set 'optimizer={AdamW: {lr: 0.01,
weight_decay: 0.1, params: [{params: "*.bias", weight_decay: 0}]}}' ||
        fail "parameter groups: $(cat "$work/groups$processes")"
done
[ "$(digest groups1 60)" = "$(digest groups3 60)" ] || fail "parameter groups: other bits"
# Of a sparse parameter only some elements are trained: the others stay, unless they go out of use.
for processes in 1 3; do
    start selected$processes --set "$rigl" --num_csx $processes --set 'callbacks=[{SelectiveGrad:
{selective_grads: {param_filter: "*.weight", init_method: outlier, upper_threshold: 1.2}}}]' ||
        fail "selective gradients: $(cat "$work/selected$processes")"
done
[ "$(digest selected1 60)" = "$(digest selected3 60)" ] || fail "selective gradients: other bits"
start servers --set "$rigl" --num_csx 3 --set backend.cluster_config.max_wgt_servers=2 ||
    fail "servers: $(cat "$work/servers")"
[ "$(digest servers 60)" = "$(digest one2 60)" ] || fail "weight servers: other bits"

for format in bfloat16 float16 cbfloat16; do
    for processes in 1 3; do
        start $format$processes --set "$rigl" --set precision.fp16_type=$format \
            --set precision.loss_scaling_factor=dynamic --set precision.max_gradient_norm=1 \
            --num_csx $processes || fail "$format: $(cat "$work/$format$processes")"
    done
    [ "$(digest ${format}1 60)" = "$(digest ${format}3 60)" ] || fail "$format: other bits"
done

# ---- what is logged, and what a checkpoint holds ----

start log --set "$gmp" --set 'callbacks=[LogSparsity]' --set 'loggers=[CSVLogger]' ||
    fail "log: $(cat "$work/log")"
[ "$(digest log 60)" = "$(digest one3 60)" ] || fail "LogSparsity: other bits"
start dense --set 'callbacks=[LogSparsity]' || fail "dense: $(cat "$work/dense")"
grep -q 'LogSparsity has nothing to log' "$work/dense" || fail "a dense run tells nothing"
python3 - "$work/log.d" <<'PYTHON' || fail "what is logged, and what the checkpoint holds"
import csv
import sys

try:
    import h5py
    import numpy as np
except ImportError:
    sys.exit(0)  # the masks themselves are held by check_sparsity

with open(sys.argv[1] + "/metrics.csv") as file:
    logged = {(int(row[0]), row[2]): float(row[3]) for row in csv.reader(file)
              if row[2].startswith("sparsity/")}
with h5py.File(sys.argv[1] + "/checkpoint_60.mdl") as file:
    names = [key[9:-5] for key in file if key.startswith("sparsity.") and key.endswith(".mask")]
    assert names == ["fc_layers.0.weight", "last_layer.weight"], names
    for name in names:
        mask = file[f"sparsity.{name}.mask"][()]
        weights = file[f"model.{name}"][()]
        assert np.all(weights[mask == 0] == 0) and np.any(weights[mask == 1] != 0)
        # The mean of zeros and ones, in float32.
        assert abs(logged[60, f"sparsity/{name}/actual"] - (1 - mask.mean())) < 1e-6
        assert mask.sum() == np.rint(np.float32(0.2) * mask.size)
# Zhu and Gupta's formula between steps 0 and 49, the last one below 50 that changes masks.
for step in (10, 20, 30, 40, 50, 60):
    expected = 0.8 * (1 - (1 - min(step - 1, 49) / 49) ** 3)
    assert abs(logged[step, "sparsity/last_layer.weight/target"] - expected) < 1e-6, (step, logged)
PYTHON

# ---- from sparse to dense, and back ----

# A dense run goes on from the weights of a sparse one.
start tuned --set "checkpoint.steps=10" --checkpoint_path "$work/one2.d/checkpoint_60.mdl" \
    --num_steps 10 || fail "dense after sparse: $(cat "$work/tuned")"
# From weights alone masks are made of them: those that are zero stay zero.
start again --set 'callbacks=[{LoadCheckpointStates: {load_checkpoint_states: model}}]' \
    --checkpoint_path "$work/one2.d/checkpoint_60.mdl" --num_steps 10 \
    --set 'init.sparsity={sparsity: 0.5, init_method: from_zeros}' ||
    fail "from zeros: $(cat "$work/again")"
# A checkpoint without masks cannot be gone on from as a whole, which is told.
start lacks --set "$rigl" --checkpoint_path "$work/dense.d/checkpoint_60.mdl" --num_steps 10 &&
    fail "a checkpoint without masks is taken"
grep -q "has no masks" "$work/lacks" || fail "a checkpoint without masks: $(cat "$work/lacks")"

# ---- mistakes ----

refused() { # settings, part of the message
    "$CSENGINE_EXECUTABLE" compile "$config" --compile_dir "$work/compiled" \
        --set "init.sparsity=$1" >"$work/refused" 2>&1
    status=$?
    [ $status = 78 ] && grep -q -- "$2" "$work/refused" ||
        fail "$1: exit code $status: $(cat "$work/refused")"
}
refused '{algorithm: sett, sparsity: 0.5}' 'accepted: one of static, gmp, set, rigl'
refused '{sparsity: 1.5}' 'sparsity is 1.5; accepted: a number from 0 to below 1'
refused '{sparsity: 0.5, param_filter: "*.kernel"}' \
    'they are: fc_layers.0.weight, fc_layers.0.bias, last_layer.weight, last_layer.bias'
refused '{algorithm: gmp, sparsity: {type: cubic, final: 0.9, start: 9, stop: 5}}' \
    'stop is 5 and start 9'
[ $failures = 0 ]
