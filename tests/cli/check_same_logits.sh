#!/bin/sh
# Training computes the logits of an evaluation, dropout off, to the bit: those of a step that is
# done again are those that `csengine predict` gives with the states before it, in each format. That
# generation computes them too, tests/run/infer/check_token_decoder holds.
set -u
. "${top_srcdir:?}/tests/support/past_runs.sh"
cat >logits.py <<'EOF'
import struct, sys, json


def of_step(path):  # of the last value of the head
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = json.loads(data[8 : 8 + size])
    names = [n for n in tensors if n != "__metadata__"]
    names = [n for n in names if "backward" not in n and "gradient" not in n]
    begin, end = tensors[names[-1]]["data_offsets"]
    return data[8 + size + begin : 8 + size + end]


def of_prediction(path):
    data = open(path, "rb").read()
    return data[10 + struct.unpack("<H", data[8:10])[0] :]


step, before = of_step(sys.argv[1]), of_prediction(sys.argv[2])
assert len(step) == len(before) == 4 * 16 * 256 * 4, (len(step), len(before))
if step != before:
    a, b = ([x for x, in struct.iter_unpack("<f", v)] for v in (step, before))
    sys.exit(f"differ by {max(abs(x - y) for x, y in zip(a, b))}")
EOF

predict() { # FILE ARGUMENTS...: of the samples of step 2
    file=$1
    shift
    "$csengine" predict "$source/configs/gpt2_bytes.yaml" --model_dir "$name" --samples 4 \
        --first 4 --format npy --file "$file" "$@" >out 2>&1 || fail "$name: $(cat out)"
}

compare() { # NAME MODEL SETTINGS...
    name=$1
    model=$2
    shift 2
    set -- "$@" --set "model={$model, vocab_size: 256, hidden_size: 32, num_hidden_layers: 2, \
num_heads: 4, max_position_embeddings: 16, filter_size: 48, dropout_rate: 0.0, \
attention_dropout_rate: 0.0}" --set loop.num_steps=null --set "schedulers=[]" \
        --set train_dataloader.sequence_length=16 --set train_dataloader.shuffle=false \
        --set train_dataloader.batch_size=4 --set train_dataloader.micro_batch_size=2 \
        --set "optimizer={SGD: {lr: 0.5, momentum: 0}}"
    "$csengine" start "$source/configs/gpt2_bytes.yaml" --quiet --no_dashboard --model_dir "$name" \
        --compile_dir compiled --max_steps 2 --set checkpoint.steps=1 "$@" >out 2>&1 ||
        fail "$name: $(cat out)"
    "$csengine" inspect "$name" --step 2 --tensor 'model\.lm_head\..*' --computed \
        --output "$name.safetensors" >out 2>&1 || fail "$name: $(cat out)"
    grep -q "these are the run's bits" out || fail "$name: $(cat out)"
    for step in 1 2; do
        [ $step -eq 1 ] || [ "$name" = gpt2 ] || continue
        predict "$name.$step.npy" --checkpoint_path "$name/checkpoint_$step.mdl" "$@"
    done
    python3 logits.py "$name.safetensors" "$name.1.npy" 2>err ||
        fail "$name: $(cat err)"
}

llama="name: llama, rotary_dim: 8, attention_module: multiquery_attention, \
extra_attention_params: {num_kv_groups: 2}"
for format in bfloat16 cbfloat16 float16; do
    compare "gpt2_$format" 'name: gpt2' --set precision.fp16_type=$format \
        --set precision.graphamp.preset=mp2
done
compare gpt2 'name: gpt2'
compare llama "$llama"
compare gemma2 'name: gemma2'
compare gptj 'name: gptj, rotary_dim: 8, embedding_dropout_rate: 0.0'

# The bits are of the states: those after the step give others.
cmp -s gpt2.1.npy gpt2.2.npy && fail "a step changes no logit"

[ "$failures" -eq 0 ] && echo 'all as expected'
exit $((failures > 0))
