#!/bin/sh
# Values that stand only inside of a kernel are given by their names, and the step keeps the run's
# bits: a product before its bias is the one that the run's kernel added the bias to, bit for bit;
# scores of an attention are those of its queries and keys, their softmax the probabilities, and the
# output that follows from them is near that of the kernel, in float32 and bfloat16.
set -u
. "${top_srcdir:?}/tests/support/past_runs.sh"

gpt() { # NAME ARGUMENTS...
    name=$1
    shift
    "$csengine" start "$source/configs/gpt2_bytes.yaml" --quiet --no_dashboard --model_dir "$name" \
        --compile_dir compiled --set loop.num_steps=null --max_steps 3 --set "schedulers=[]" \
        --set "model={name: gpt2, vocab_size: 256, hidden_size: 16, num_hidden_layers: 1, \
num_heads: 2, max_position_embeddings: 8, filter_size: 24, dropout_rate: 0.0}" \
        --set train_dataloader.sequence_length=8 --set train_dataloader.batch_size=4 \
        --set train_dataloader.micro_batch_size=2 --set checkpoint.steps=1 \
        --set "optimizer={AdamW: {lr: 0.05}}" "$@" >"$name.out" 2>&1 ||
        fail "$name: $(cat "$name.out")"
}
see() { # RUN FILE TENSOR
    rm -f "$2.safetensors"
    "$csengine" inspect "$1" --step 3 --computed --tensor "$3" --output "$2.safetensors" \
        >"$2.out" 2>&1 || fail "$1, $3: $(cat "$2.out")"
    grep -q "these are the run's bits" "$2.out" || fail "$1, $3: $(cat "$2.out")"
}
within() { # RUN LIMIT: of its scores
    see "$1" scores 'layers.0.self_attn.(scores|probabilities)'
    [ "$(grep -c 'computed beside the run' scores.out)" -eq 2 ] || fail "$1: $(cat scores.out)"
    sed -n "s/.* is within \([^ ]*\) of the kernel's.*/\1/p" scores.out >measured
    python3 -c 'import sys
found = [float(word) for word in open("measured")]
assert len(found) == 2 and all(0 <= x < float(sys.argv[1]) for x in found), found' "$2" ||
        fail "$1: the output that follows from the scores is too far from the kernel's"
}

gpt wide
within wide 1e-6
see wide adds 'self_attn.add'
see wide products 'ffn.matmul'
see wide sums 'ffn.add'
"$csengine" inspect wide --step 2 --tensor '.*bias' --output states.safetensors >out 2>&1 ||
    fail "states: $(cat out)"
cat >check.py <<'END'
import json, math, struct


def read(name):
    data = open(name + ".safetensors", "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for key, entry in json.loads(data[8 : 8 + size]).items():
        if key == "__metadata__":
            continue
        first, end = (8 + size + at for at in entry["data_offsets"])
        tensors[key.split(".", 1)[1]] = struct.unpack(f"<{(end - first) // 4}f", data[first:end])
    return tensors


def rounded(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


BATCH, TIME, HEADS, SIZE = 4, 8, 2, 8
layer = "transformer_decoder.layers.0."
found = read("scores")
scores, weights = (found[layer + "self_attn." + n] for n in ("scores", "probabilities"))
q, k = (read("adds")[layer + "self_attn." + name] for name in ("add", "add#2"))
assert len(scores) == len(weights) == BATCH * HEADS * TIME * TIME
for b in range(BATCH):
    for h in range(HEADS):
        for i in range(TIME):
            row = ((b * HEADS + h) * TIME + i) * TIME
            expected = []
            for j in range(i + 1):
                at = [((b * TIME + t) * HEADS + h) * SIZE for t in (i, j)]
                products = (q[at[0] + c] * k[at[1] + c] for c in range(SIZE))
                expected.append(sum(products) / math.sqrt(SIZE))
                difference = abs(scores[row + j] - expected[j])
                assert difference < 1e-5 * (1 + abs(expected[j])), (b, h, i, j)
            assert all(s < -9e29 for s in scores[row + i + 1 : row + TIME])
            total = sum(math.exp(x) for x in expected)
            for j in range(TIME):
                weight = math.exp(expected[j]) / total if j <= i else 0
                assert abs(weights[row + j] - weight) < 1e-5, (b, h, i, j)
bias = read("states")[layer + "ffn.ffn.0.linear_layer.bias"]
products, sums = read("products")[layer + "ffn.matmul"], read("sums")[layer + "ffn.add"]
assert len(products) == len(sums) == BATCH * TIME * 24 and any(bias)
for i, x in enumerate(sums):
    assert x == rounded(products[i] + bias[i % 24]), (i, x, products[i], bias[i % 24])
END
python3 check.py || fail 'not what the formulas say'
"$csengine" inspect wide --step 3 --computed --values 0 >out 2>&1 || fail "all: $(cat out)"
! grep -q '\.scores\|\.probabilities' out || fail 'scores are among all values'

gpt narrow --set precision.fp16_type=bfloat16 --set precision.graphamp.preset=mp2
within narrow 1e-2

# With dropout of the weights no kernel computes the whole: the scores are the step's own.
gpt dropped --set model.attention_dropout_rate=0.1
see dropped own 'self_attn.scores'
! grep -q 'computed beside' own.out || fail "dropped: $(cat own.out)"
[ -s own.safetensors ] || fail 'dropped: no scores'

[ "$failures" -eq 0 ] && echo 'all as expected'
exit $((failures > 0))
