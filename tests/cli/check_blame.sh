#!/bin/sh
# `csengine blame`: a poisoned sample among others is the first of its step, the mean of all losses
# is the loss that was recorded, for classes and for tokens; what cannot be answered is refused.
set -u
. "${top_srcdir:?}/tests/support/past_runs.sh"
start() { # NAME CONFIGURATION ARGUMENTS...
    name=$1
    configuration=$2
    shift 2
    "$csengine" start "$source/configs/$configuration" --quiet --no_dashboard \
        --model_dir "$name" --compile_dir compiled --set loop.num_steps=null "$@" \
        >"$name.out" 2>&1 ||
        fail "$name: exit code $?: $(cat "$name.out")"
}
blame() { # ARGUMENTS...
    "$csengine" blame "$@" >out 2>err || fail "$*: $(cat err)"
}

# 256 samples of two classes that a line parts, and number 77 with the other class.
python3 - <<'END' >table.csv
print("a,b,label")
for i in range(256):
    a, b = (i * 37 % 101) / 50 - 1, (i * 53 % 97) / 48 - 1
    label = int(a + b > 0)
    print(f"{1.5 if i == 77 else a},{1.5 if i == 77 else b},{0 if i == 77 else label}")
END
start run synthetic.yaml --max_steps 48 --num_csx 2 --set fit.val_dataloader=null \
    --set model.input_size=2 --set model.num_classes=2 --set "optimizer={AdamW: {lr: 0.02}}" \
    --set checkpoint.steps=20 --set "fit.train_dataloader={data_processor: csv, path: table.csv, \
label: label, batch_size: 32, micro_batch_size: 8, shuffle: true}"
# Eight steps are an epoch: one of the last eight has the sample.
found=0
for step in 41 42 43 44 45 46 47 48; do
    blame run --step $step --top 32 --json --num_csx $((step % 3 + 1))
    loss=$("$csengine" inspect run --step $step --tensor last_layer.bias | sed -n 's/^loss //p')
    python3 - "$loss" <<'END' && found=$((found + 1))
import json
import sys

answer = json.load(open("out"))
losses = [sample["loss"] for sample in answer["samples"]]
assert answer["bits"] == "same" and len(losses) == 32 and answer["terms"] == 1, answer
assert losses == sorted(losses, reverse=True)
mean = sum(losses) / 32
if abs(mean - float(sys.argv[1])) > 1e-6:
    sys.exit(f"FAIL: the mean of the losses is {mean}, the loss {sys.argv[1]}")
norms = answer["gradient_norms"]
numbers = [sample["sample"] for sample in answer["samples"]]
if 77 in numbers:
    first = answer["samples"][0]
    assert numbers[0] == 77 and losses[0] > 2 * losses[1], answer["samples"][:3]
    assert norms[first["microbatch"]] == max(norms), (first, norms)
sys.exit(0 if 77 in numbers else 1)
END
done
[ "$found" -eq 1 ] || fail "the poisoned sample was named in $found steps of an epoch, not in one"

start words gpt2_bytes.yaml --max_steps 6 --set model.hidden_size=32 --set model.num_heads=2 \
    --set model.num_hidden_layers=1 --set model.max_position_embeddings=32 \
    --set train_dataloader.sequence_length=32 --set train_dataloader.micro_batch_size=2 \
    --set precision.fp16_type=bfloat16 --set precision.graphamp.preset=mp2
blame words --step 5
grep -q '^8 samples in 4 microbatches' out || fail "words: $(cat out)"
mean=$(sed -n 's/.*the mean of their losses is //p' out)
loss=$("$csengine" inspect words --step 5 --tensor '.*layers.0.norm1.bias' | sed -n 's/^loss //p')
python3 -c "import sys; sys.exit(abs($mean - $loss) > 2e-6 * $loss)" ||
    fail "words: the mean is $mean, the loss $loss"
grep -q ' at [0-9]*$' out || fail "words: no largest term: $(cat out)"

"$csengine" blame run >out 2>&1
[ $? -eq 64 ] || fail "no step: $(cat out)"
"$csengine" blame run --step 49 >out 2>&1
[ $? -eq 66 ] || fail "a step that was not done: $(cat out)"
[ -z "$(ls "$TMPDIR")" ] || fail "replays left $(ls "$TMPDIR")"

[ "$failures" -eq 0 ] && echo 'all as expected'
exit $((failures > 0))
