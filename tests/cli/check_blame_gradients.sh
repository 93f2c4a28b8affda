#!/bin/sh
# `csengine blame --gradients`: the gradients of the samples add up to the step's, with dropout, and
# are those of the microbatches where these have one sample; a step that computes with several
# samples at once is refused.
set -u
. "${top_srcdir:?}/tests/support/past_runs.sh"
start() { # NAME CONFIGURATION ARGUMENTS...
    name=$1
    configuration=$2
    shift 2
    "$csengine" start "$source/configs/$configuration" --quiet --no_dashboard \
        --model_dir "$name" --compile_dir compiled --set loop.num_steps=null \
        --set fit.val_dataloader=null "$@" >"$name.out" 2>&1 ||
        fail "$name: exit code $?: $(cat "$name.out")"
}
blame() { # NAME ARGUMENTS...: into NAME.json
    "$csengine" blame "$@" --top 1000 --gradients --json >"$1.json" 2>err ||
        fail "$*: $(cat err)"
}

# ---- with dropout: by place, in any division of the batch ----

fc() { # NAME MICRO_BATCH_SIZE
    start "$1" synthetic.yaml --max_steps 20 --set checkpoint.steps=15 --set model.dropout=0.3 \
        --set train_dataloader.micro_batch_size="$2" --set train_dataloader.batch_size=32
}
fc fours 4
fc ones 1
blame fours --step 18 --num_csx 2
blame ones --step 18 --num_csx 1
# Of the same states, those of step 0, both runs have the same samples and the same dropout.
cp fours.json fours18.json
cp ones.json ones18.json
blame fours --step 1
blame ones --step 1
python3 - <<'EOF' || fail "gradients of samples"
import json, math

def read(name):
    return json.load(open(name + ".json"))

for name in ("fours18", "ones18", "fours", "ones"):
    answer = read(name)
    assert answer["bits"] == "same" and len(answer["samples"]) == 32, answer
    assert answer["gradient_sum_difference"] < 2e-6, answer["gradient_sum_difference"]
    norms = [sample["gradient_norm"] for sample in answer["samples"]]
    assert norms == sorted(norms, reverse=True) and norms[-1] > 0
    if name.startswith("ones"):  # to the bit
        for sample in answer["samples"]:
            assert sample["gradient_norm"] == answer["gradient_norms"][sample["microbatch"]]
alone = {s["sample"]: s["gradient_norm"] for s in read("ones")["samples"]}
for sample in read("fours")["samples"]:
    assert math.isclose(sample["gradient_norm"], alone[sample["sample"]], rel_tol=0)
EOF

# ---- some of them; states that an earlier question left ----

blame fours --step 18 --samples 3
python3 - <<'EOF' || fail "gradients of three samples"
import json

some, every = (json.load(open(name)) for name in ("fours.json", "fours18.json"))
found = [s for s in some["samples"] if s["gradient_norm"] is not None]
norms = {s["sample"]: s["gradient_norm"] for s in found}
losses = sorted(every["samples"], key=lambda s: -s["loss"])
assert set(norms) == {s["sample"] for s in losses[:3]}, norms
assert all(norms[s["sample"]] == s["gradient_norm"] for s in losses[:3])
assert some["gradient_sum_difference"] < 2e-6
assert every["from"] == 15 and not every["from_kept"]
EOF
blame fours --step 20
grep -q '"from": *18, *"from_kept": *true' fours.json || fail "not from step 18: $(cat fours.json)"
blame fours --step 20 --kept_states 0
grep -q '"from": *15, *"from_kept": *false' fours.json || fail "not from step 15: $(cat fours.json)"

# ---- tokens in 16 bits ----

start words gpt2_bytes.yaml --max_steps 3 --set model.hidden_size=32 --set model.num_heads=2 \
    --set model.num_hidden_layers=1 --set model.max_position_embeddings=32 \
    --set train_dataloader.sequence_length=32 --set train_dataloader.micro_batch_size=4 \
    --set precision.fp16_type=bfloat16 --set precision.graphamp.preset=mp2
blame words --step 3
python3 -c "import json
answer = json.load(open('words.json'))
assert 0 < answer['gradient_sum_difference'] < 0.01, answer['gradient_sum_difference']
assert len(answer['samples']) == 8" || fail "words: $(cat words.json)"

# ---- what has none ----

start norms cnn_fashion_mnist.yaml --max_steps 2 --set model.batch_norm=true \
    --set "model.conv_channels=[6, 6]" --set "fit.train_dataloader={data_processor: synthetic, \
features: [1, 28, 28], classes: 10, samples: 64, batch_size: 8, micro_batch_size: 4}"
expect 66 'with several samples of a microbatch at once, in model.* leave out --gradients' \
    blame norms --step 2 --gradients
expect 0 '^8 samples in 2 microbatches' blame norms --step 2
expect 64 'samples has no effect without --gradients' blame fours --step 2 --samples 3

[ -z "$(ls "$TMPDIR")" ] || fail "replays left $(ls "$TMPDIR")"
[ "$failures" -eq 0 ] && echo 'all as expected'
exit $((failures > 0))
