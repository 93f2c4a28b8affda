#!/bin/sh
# SelectiveGrad in a configuration: what is not selected keeps its bits and the rest moves (numpy
# makes the masks of the first checkpoint's weights); the same bits for 1 to 4 replicas and after a
# stop; a compiled step is the one that runs; a run without it goes on from its checkpoints, and it
# from those of a run without it; mistakes are told with their place. The part with numpy is left
# out where h5py is not installed.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
config=${top_srcdir:-.}/configs/synthetic.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

# train FOLDER REPLICAS MAX_STEPS ARGUMENTS...: prints the digest of the weights.
train() {
    name=$1 replicas=$2 steps=$3
    shift 3
    timeout 100 "$csengine" start "$config" --no_dashboard --json --model_dir "$work/$name" \
        --compile_dir "$work/compiled" --num_csx "$replicas" --set loop.num_steps=null \
        --max_steps "$steps" --set fit.val_dataloader=null \
        --set 'optimizer={AdamW: {lr: 0.01, weight_decay: 0.1}}' "$@" \
        2>"$work/errors" >"$work/events"
    sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p' "$work/events"
}

selective='callbacks=[{SelectiveGrad: {selective_grads: {upper_threshold: 1.5}}}]'
one=$(train 1 1 8 --set "$selective" --set checkpoint.save_initial_checkpoint=true)
[ -n "$one" ] || fail "no digest: $(cat "$work/errors")"
! grep -q 'not used\|no effect' "$work/errors" || fail "one: $(cat "$work/errors")"
for replicas in 2 3 4; do
    digest=$(train $replicas $replicas 8 --set "$selective")
    [ "$one" = "$digest" ] || fail "1 replica: $one, $replicas: $digest"
done
train halves 2 4 --set "$selective" >"$work/half"
halves=$(train halves 3 8 --set "$selective")
[ "$one" = "$halves" ] || fail "at once: $one, with a stop: $halves"
plain=$(train plain 1 8)
[ -n "$plain" ] && [ "$one" != "$plain" ] || fail "it has no effect: $plain"

# It goes on from a checkpoint without masks, and a run without it from one with masks.
train plain 1 12 --set "$selective" >"$work/on" && [ -s "$work/on" ] || fail "$(cat "$work/errors")"
train halves 1 12 >"$work/on" && [ -s "$work/on" ] || fail "$(cat "$work/errors")"
timeout 100 "$csengine" validate "$config" --model_dir "$work/1" --set "$selective" \
    >"$work/out" 2>&1 || fail "validate: $(cat "$work/out")"

# What is compiled beforehand is what runs.
timeout 100 "$csengine" compile "$config" --model_dir "$work/beforehand" --num_csx 1 \
    --set 'optimizer={AdamW: {lr: 0.01, weight_decay: 0.1}}' --set "$selective" \
    --compile_dir "$work/compiled" >"$work/out" 2>&1 || fail "compile: $(cat "$work/out")"
[ "$(ls "$work/compiled" | grep -c .)" -le 3 ] ||
    fail "more than a step with, one without and a validation: $(ls "$work/compiled")"

refused() { # WORDS VALUE
    [ -z "$(train refused 1 4 --set "callbacks=[{SelectiveGrad: {selective_grads: $2}}]")" ] &&
        grep -q "$1" "$work/errors" || fail "$2: expected '$1', not: $(cat "$work/errors")"
}
refused 'callbacks:1:[0-9]*.*matches no parameter' '{param_filter: "*.weights"}'
refused 'callbacks:1:[0-9]*.*did you mean' '{param_filters: "*.weight"}'

python=
for choice in ${PYTHON:-} python3 /usr/bin/python3; do
    "$choice" -c 'import h5py, numpy' 2>/dev/null && python=$choice && break
done
[ -z "$python" ] || "$python" - "$work" <<'PYTHON' || fail "the weights"
import sys

import h5py
import numpy


def tensors(step):
    with h5py.File(f"{sys.argv[1]}/1/checkpoint_{step}.mdl", "r") as file:
        return {key: file[key][()] for key in file if hasattr(file[key], "shape")}


first, last = tensors(0), tensors(8)
names = [key for key in first if key.startswith("model.") and key.endswith(".weight")]
assert len(names) == 2, list(first)
for name in names:
    mask = "optimizer." + name[len("model."):] + ".requires_grad"
    magnitude = numpy.abs(first[name].astype(numpy.float64))
    expected = magnitude >= 1.5 * magnitude.std(axis=0, ddof=1)
    assert (first[mask] == expected).all() and (last[mask] == expected).all(), name
    moved = first[name] != last[name]
    assert 0 < expected.sum() < expected.size, name
    assert not (moved & ~expected).any() and moved[expected].any(), name
PYTHON

[ $failed = 0 ] && echo "selective gradients: the same bits, and only what is selected moves"
exit $failed
