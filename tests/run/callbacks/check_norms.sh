#!/bin/sh
# The norms of ComputeNorm against numpy: of the weights in the checkpoints, and of the gradients
# that plain SGD moved them by. Skipped where h5py is not installed.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
config=${top_srcdir:-.}/configs/synthetic.yaml
python=
for choice in ${PYTHON:-} python3 /usr/bin/python3; do
    "$choice" -c 'import h5py, numpy' 2>/dev/null && python=$choice && break
done
[ -n "$python" ] || { echo "h5py is not there: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# start NAME ARGUMENTS...: six steps of SGD without momentum, a checkpoint after each.
start() {
    name=$1
    shift
    timeout 100 "$csengine" start "$config" --quiet --no_dashboard --model_dir "$work/$name" \
        --compile_dir "$work/compiled" --num_steps 6 --log_steps 1 \
        --set 'optimizer={SGD: {lr: 0.1}}' \
        --set fit.val_dataloader=null --set checkpoint.steps=1 \
        --set checkpoint.save_initial_checkpoint=true --set 'loggers=[CSVLogger]' \
        --set 'callbacks=[ComputeNorm]' "$@" >"$work/out" 2>&1 ||
        { echo "FAIL: $name: $(cat "$work/out")"; exit 1; }
}

start plain
start clipped --set precision.max_gradient_norm=0.1
start half --set precision.fp16_type=float16 --set precision.loss_scaling_factor=dynamic

"$python" - "$work" <<'PYTHON'
import csv
import sys

import h5py
import numpy

work = sys.argv[1]


def logged(name):
    values = {}
    with open(f"{work}/{name}/metrics.csv", newline="") as file:
        for row in csv.DictReader(file):
            values[row["name"], int(row["step"])] = float(row["value"])
    return values


def weights(name, step):
    tensors = {}
    with h5py.File(f"{work}/{name}/checkpoint_{step}.mdl", "r") as file:
        for key in file:
            if key.startswith("model."):
                tensors[key] = file[key][()].astype(numpy.float64)
    return tensors


def norm(arrays):
    return numpy.sqrt(sum((a * a).sum() for a in arrays))


def close(what, value, expected, tolerance):
    assert abs(value - expected) <= tolerance * abs(expected), (what, value, expected)


layers = ["model.fc_layers.0.", "model.last_layer."]
plain, clipped, half = logged("plain"), logged("clipped"), logged("half")
for step in range(1, 7):
    before, after = weights("plain", step - 1), weights("plain", step)
    gradients = {k: (before[k] - after[k]) / 0.1 for k in before}
    close("parameters", plain["model_wise_params_norm", step], norm(before.values()), 1e-6)
    close("gradients", plain["model_wise_grad_norm", step], norm(gradients.values()), 1e-4)
    for i, layer in enumerate(layers):
        of_layer = [gradients[k] for k in gradients if k.startswith(layer)]
        assert len(of_layer) == 2, list(gradients)
        close(layer, plain[f"per_layer_grad_norm/layer_{i}", step], norm(of_layer), 1e-4)
assert ("per_layer_grad_norm/layer_2", 1) not in plain

# Before clipping: the first step's gradients are those of the run without it, whose norm is more
# than what they are scaled to.
close("clipped", clipped["model_wise_grad_norm", 1], plain["model_wise_grad_norm", 1], 1e-6)
close("grad_norm", clipped["grad_norm", 1], clipped["model_wise_grad_norm", 1], 1e-6)
before, after = weights("clipped", 0), weights("clipped", 1)
close("moved", norm((before[k] - after[k]) / 0.1 for k in before), 0.1, 1e-3)
# Unscaled: the scale is 2^15.
assert half["loss_scale", 1] == 32768, half["loss_scale", 1]
close("half", half["model_wise_grad_norm", 1], plain["model_wise_grad_norm", 1], 2e-2)
print("the norms are those of numpy")
PYTHON
