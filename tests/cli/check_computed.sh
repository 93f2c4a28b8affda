#!/bin/sh
# What a past step computed: `inspect` gives values and gradients that are those of formulas (the
# gradient moves the weights by SGD's rule, the first layer is that of the sample's row in the data,
# the mean of losses is the loss), for any number of processes, with 16-bit formats and dropout, and
# as a twin kept them that asked for them while it ran. `bisect` names the first value that differs.
set -u
. "${top_srcdir:?}/tests/support/past_runs.sh"
make_table
train() { # NAME ARGUMENTS...
    name=$1
    shift
    train_table "$name" 'batch_size: 32, micro_batch_size: 8' --set "model.hidden_sizes=[24]" \
        --set "schedulers=[]" --set "optimizer={SGD: {lr: 0.125, momentum: 0}}" "$@"
}
see() { # FILE ARGUMENTS...: of the run
    file=$1
    shift
    rm -f "$file"
    "$csengine" inspect "$@" --output "$file" >out 2>&1 || fail "$*: $(cat out)"
    grep -q "these are the run's bits" out || fail "$*: $(cat out)"
}
refuse() { # CODE WORDS ARGUMENTS...
    code=$1
    words=$2
    shift 2
    "$csengine" inspect "$@" >out 2>&1
    found=$?
    [ $found -eq "$code" ] || fail "$*: exit code $found, not $code: $(cat out)"
    grep -q -e "$words" out || fail "$*: no '$words': $(cat out)"
}
cat >tensors.py <<'END'
"""The tensors of a safetensors file, as lists of floats."""
import json
import struct


def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        first, end = (8 + size + at for at in entry["data_offsets"])
        assert entry["dtype"] == "F32", (name, entry)
        values = struct.unpack(f"<{(end - first) // 4}f", data[first:end])
        tensors[name] = entry["shape"], values
    return tensors
END

# ---- against formulas ----

train run --max_steps 40 --set checkpoint.steps=15 --num_csx 2
for step in 15 22; do
    see before.safetensors run --step $((step - 1))
    see after.safetensors run --step $step
    see sum.safetensors run --step $step --tensor '.*gradient' --num_csx 5
    see values.safetensors run --step $step --tensor '.*(relu|cross_entropy#[0-9]+)' --num_csx 1
    for m in 0 1 2 3; do
        see part$m.safetensors run --step $step --tensor '.*gradient' --microbatch $m
    done
    loss=$("$csengine" inspect run --step $step --tensor last_layer.bias | sed -n 's/^loss //p')
    sample=$("$csengine" inspect run --step $step --tensor relu --sample 100000 2>&1 |
        sed -n 's/.*has the samples \([0-9]*\),.*/\1/p')
    see row.safetensors run --step $step --tensor relu --sample "$sample"
    python3 - "$loss" "$sample" <<'END' || fail "step $step: not what the formulas say"
import sys
from tensors import read

loss, sample = float(sys.argv[1]), int(sys.argv[2])
before, after, total = (read(f"{name}.safetensors") for name in ("before", "after", "sum"))
parts = [read(f"part{m}.safetensors") for m in range(4)]
assert len(total) == 4, sorted(total)
for name, (shape, gradient) in total.items():
    state = name.removesuffix(".gradient")
    for i, g in enumerate(gradient):
        moved = before[state][1][i] - 0.125 * g / 4  # a mean over 4 microbatches
        assert abs(moved - after[state][1][i]) <= 1e-6 * (1 + abs(moved)), (name, i)
        terms = sum(part[name][1][i] for part in parts)
        assert abs(terms - g) <= 1e-6 * (1 + abs(g)), (name, i, terms, g)
values = read("values.safetensors")
losses = [v for name, (shape, v) in values.items() if "cross_entropy" in name and shape == [32, 1]]
assert any(abs(sum(v) / 32 - loss) < 1e-6 for v in losses), (loss, [sum(v) / 32 for v in losses])
row = [float(x) for x in open("table.csv").read().split("\n")[1 + sample].split(",")[:3]]
weight, bias = (before[f"model.fc_layers.0.{part}"][1] for part in ("weight", "bias"))
(shape, seen), = read("row.safetensors").values()
assert shape == [1, 24], shape
for unit in range(24):
    expected = max(0.0, bias[unit] + sum(weight[3 * unit + k] * row[k] for k in range(3)))
    assert abs(seen[unit] - expected) < 1e-4 * (1 + expected), (unit, seen[unit], expected)
END
done
[ -z "$(ls "$TMPDIR")" ] || fail "replays left $(ls "$TMPDIR")"

# ---- as a twin kept them ----

gpt() { # NAME ARGUMENTS...
    name=$1
    shift
    "$csengine" start "$source/configs/gpt2_bytes.yaml" --quiet --no_dashboard --model_dir "$name" \
        --compile_dir compiled --set loop.num_steps=null --max_steps 9 \
        --set model.dropout_rate=0.1 \
        --set model.hidden_size=32 --set model.num_heads=2 --set model.num_hidden_layers=2 \
        --set model.max_position_embeddings=32 --set train_dataloader.sequence_length=32 \
        --set train_dataloader.micro_batch_size=2 --set precision.fp16_type=bfloat16 \
        --set precision.graphamp.preset=mp2 "$@" >"$name.out" 2>&1 ||
        fail "$name: exit code $?: $(cat "$name.out")"
}
kept='.*(h.1|transformer_decoder|layers.1).*|.*gradient'
gpt plain --set checkpoint.steps=4 --num_csx 2
gpt twin --set numerics.every=3 --set "numerics.values='$kept'" --set checkpoint.steps=0
ls twin/values/after-0.* >/dev/null 2>&1 || fail 'the twin kept no values'
for question in '3 1' '9 5'; do
    step=${question% *}
    see seen$step.safetensors plain --step "$step" --num_csx "${question#* }" --tensor "$kept" \
        --computed
    see own$step.safetensors twin --step "$step" --tensor "$kept" --computed
    cmp -s seen$step.safetensors own$step.safetensors || fail "step $step: not those of the twin"
done
python3 - <<'END' || fail 'what the twin wrote while it ran is not what was seen'
import glob
import json
import struct
from tensors import read

# Runs of values by tensor, as workers wrote them: engine/code/execute/value_log.c.
for step in (3, 9):
    sizes = {}
    for path in glob.glob("twin/values/after-*"):
        data, at = open(path, "rb").read(), 0
        while at < len(data):
            mark, when, microbatch, tensor, first, count = struct.unpack_from("<8s5q", data, at)
            assert mark == b"CSEVALS1"
            at += 48
            if when == step and microbatch < 0:
                sizes.setdefault(tensor, {})[first] = data[at : at + 4 * count]
            at += 4 * count
    whole = sorted(b"".join(part for _, part in sorted(p.items())) for p in sizes.values())
    seen = [
        struct.pack(f"<{len(v)}f", *v)
        for name, (shape, v) in read(f"seen{step}.safetensors").items()
        if name.endswith(".gradient")
    ]
    assert seen and all(part in whole for part in seen), (step, len(seen), len(whole))
    note = json.load(open(f"twin/values/step-{step}.json"))
    assert note["step"] == step and note["micro_batch_size"] == 2 and len(note["samples"]) == 8
END

# ---- the first value ----

bisect() { # WORDS A B
    "$csengine" bisect "$2" "$3" >out 2>&1
    [ $? -eq 1 ] || fail "bisect $2 $3: $(cat out)"
    grep -q -e "$1" out || fail "bisect $2 $3: no '$1': $(cat out)"
}
train order --max_steps 12
train order --max_steps 40 --set train_dataloader.shuffle_seed=7
bisect '^the first value that differs: model.fc_layers.0.relu, op relu (forward), float32' run order
grep -q '^  microbatch [0-3], \[[0-7], [0-9]*\]: .* of its elements differ' out || fail "$(cat out)"
grep -q '^  computed from .* (of the data), model.fc_layers.0.weight (equal)' out ||
    fail "$(cat out)"
train rate --max_steps 20
train rate --max_steps 40 --set "optimizer={SGD: {lr: 0.25, momentum: 0}}"
bisect '^the first value that differs: .*op update, float32' run rate
gpt other --set model.dropout_rate=0.1 --set "precision.graphamp.deny=[softmax]" \
    --set checkpoint.steps=4
"$csengine" bisect plain other >out 2>&1
grep -q '^the first value that differs: model\.' out || grep -q '^equal' out || fail "$(cat out)"

# ---- what is refused ----

refuse 66 'no state has this name, and "nothing" matches nothing that a step computes' \
    run --step 20 --tensor nothing
refuse 66 'microbatch 4: the step has 4, from 0' run --step 20 --tensor relu --microbatch 4
refuse 66 'none of these tensors has rows for samples' run --step 20 --tensor '.*gradient' \
    --sample "$("$csengine" inspect run --step 20 --tensor relu --sample 100000 2>&1 |
        sed -n 's/.*has the samples \([0-9]*\),.*/\1/p')"
refuse 64 'not both' run --step 20 --sample 1 --microbatch 1
refuse 64 'belong to a --step from 1' run --step 0 --computed
refuse 64 'without --computed' run --step 20 --all --microbatch 1
refuse 69 "values of the step's nodes take [0-9]* bytes, and at most 100 are allowed" \
    run --step 20 --all --most_bytes 100
refuse 69 'these tensors take [0-9]* bytes, and at most 100 are allowed' \
    run --step 20 --all --most_bytes 100 --tensor relu
"$csengine" inspect run --step 20 --all --json --values 0 --tensor '.*last_layer.weight.*' >out ||
    fail "--all: $(cat out)"
grep -q '"role": *"state"' out && grep -q '"role": *"gradient"' out || fail "--all: $(cat out)"
"$csengine" start "$source/configs/synthetic.yaml" --no_dashboard --quiet --model_dir bad \
    --set "numerics={values: relu}" >out 2>&1
grep -q 'values has no effect without every' out || fail "values without every: $(cat out)"
"$csengine" start "$source/configs/synthetic.yaml" --no_dashboard --quiet --model_dir bad \
    --set "numerics={every: 1, values: '('}" >out 2>&1
grep -q 'numerics.values: "(" is no regular expression' out || fail "no expression: $(cat out)"

[ "$failures" -eq 0 ] && echo 'all as expected'
exit $((failures > 0))
