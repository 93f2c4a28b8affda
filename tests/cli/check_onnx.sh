#!/bin/sh
# Models in ONNX: a reader that is not ours (onnx_model.py) computes from the file what `csengine
# predict` says, for any number of samples, and so does ONNX Runtime where a Python has it; the same
# weights give the same bytes; what has no counterpart is refused by its name. Skipped without
# python3.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo 'there is no python3: skipped'; exit 77; }
tests=$(cd "${top_srcdir:-.}" && pwd)/tests
reference=$tests/reference/weights
runtime=
for one in "${CSE_TORCH_PYTHON:-}" "$python"; do
    if [ -n "$one" ] && "$one" -c 'import numpy, onnxruntime' 2>/dev/null; then
        runtime=$one
        break
    fi
done
[ -n "$runtime" ] || echo 'no Python has ONNX Runtime (CSE_TORCH_PYTHON names one): read without it'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cd "$work" || exit 1

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

must() { # ARGUMENTS...
    "$csengine" "$@" >out 2>&1 || fail "$*: $(cat out)"
}

expect() { # EXIT_CODE WORDS ARGUMENTS...
    expected=$1
    words=$2
    shift 2
    "$csengine" "$@" >out 2>&1
    code=$?
    [ "$code" -eq "$expected" ] || fail "$*: exit code $code, not $expected: $(cat out)"
    grep -q -e "$words" out || fail "$*: not told \"$words\": $(cat out)"
}

compare() { # ONNX INPUT NPY TOLERANCE
    "$python" "$tests/cli/onnx_model.py" "$@" >compared 2>&1 || fail "$1: $(cat compared)"
    cat compared
    [ -z "$runtime" ] || "$runtime" "$tests/cli/onnx_runtime.py" "$@" >compared 2>&1 ||
        fail "$1: $(cat compared)"
    [ -z "$runtime" ] || cat compared
}

# A configuration: the section model, then the data.
configuration() { # MODEL DATA
    cat <<YAML
trainer:
  init:
    model: {$1}
    model_dir: ./run
    backend: {backend_type: CPU, compile_dir: ./compiled}
    optimizer: {SGD: {learning_rate: 0.01}}
    loop: {num_steps: 2}
    checkpoint: {steps: 2}
    seed: 3
  fit:
    train_dataloader: {$2, batch_size: 4, shuffle: false}
YAML
}

"$python" - <<'PYTHON'
import json
import os
import random
import struct

random.seed(4)
for size in (8, 28):
    os.makedirs(f"images{size}")
    with open(f"images{size}/train-images-idx3-ubyte", "wb") as file:
        file.write(struct.pack(">IIII", 0x803, 12, size, size) + random.randbytes(12 * size**2))
    with open(f"images{size}/train-labels-idx1-ubyte", "wb") as file:
        file.write(struct.pack(">II", 0x801, 12) + bytes(i % 5 for i in range(12)))

# Sentences of which some words are hidden, with padding.
rows = {
    "input_ids": [[random.randrange(40) for _ in range(10)] for _ in range(12)],
    "attention_mask": [[int(t < 5 + i % 6) for t in range(10)] for i in range(12)],
    "token_type_ids": [[int(t > 3) for t in range(10)] for _ in range(12)],
    "masked_lm_positions": [random.sample(range(5), 3) for _ in range(12)],
    "labels": [[random.randrange(40) for _ in range(3)] for _ in range(12)],
    "masked_lm_weights": [[1, 1, 0] for _ in range(12)],
    "next_sentence_label": [random.randrange(2) for _ in range(12)],
}
os.makedirs("sentences")
# Two texts of a translation, and sentences with a class.
pairs = {
    "input_ids": [[random.randrange(16) for _ in range(9)] for _ in range(12)],
    "attention_mask": [[int(t < 4 + i % 5) for t in range(9)] for i in range(12)],
    "decoder_input_ids": [[random.randrange(16) for _ in range(6)] for _ in range(12)],
    "decoder_attention_mask": [[int(t < 3 + i % 4) for t in range(6)] for i in range(12)],
    "labels": [[random.randrange(16) for _ in range(6)] for _ in range(12)],
}
classified = {name: rows[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
classified["labels"] = [i % 3 for i in range(12)]
for name, table in (("pairs", pairs), ("classified", classified)):
    with open(f"{name}.json", "w") as file:
        json.dump(table, file)
with open("rows.json", "w") as file:
    json.dump(rows, file)
with open("sentences/a.csv", "w") as file:
    file.write(",".join(rows) + "\n")
    for i in range(12):
        file.write(",".join(f'"{rows[name][i]}"' for name in rows) + "\n")
PYTHON
cat >answer.py <<'PYTHON'
import json
import struct
import sys

table = json.load(open(sys.argv[1]))
for line in sys.stdin:
    head, body = {"__metadata__": {"sample_count": "12"}}, b""
    for name, column in table.items():
        rows = [column[i] for i in json.loads(line)["samples"]]
        shape = [len(rows)] + ([len(rows[0])] if isinstance(rows[0], list) else [])
        flat = sum(rows, []) if len(shape) == 2 else rows
        values = struct.pack(f"<{len(flat)}i", *flat)
        places = [len(body), len(body) + len(values)]
        head[name] = {"dtype": "I32", "shape": shape, "data_offsets": places}
        body += values
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    whole = struct.pack("<Q", len(text)) + text + body
    sys.stdout.buffer.write(struct.pack("<Q", len(whole)) + whole)
    sys.stdout.buffer.flush()
PYTHON

# Weights of others, whose model the file says itself: without data, and with those of predict.
for model in gpt2 llama bert vit; do
    data="data_processor: text_bytes, path: $reference/text.txt, sequence_length: 16"
    input=$reference/text.txt
    if [ "$model" = vit ]; then
        data='data_processor: idx_images, data_dir: ./images8, mean: 0.0, std: 1.0, flatten: false'
        input=images8/train-images-idx3-ubyte
    fi
    must checkpoint convert "$reference/$model" "$model.onnx" --print_model
    section=$(sed -n '/model:/,$p' out)
    configuration '' "$data" | awk -v section="$section" '
        /^    model:/ { print section; next } { print }' >"$model.yaml"
    rm -f sized.onnx again.onnx
    must checkpoint convert "$reference/$model" sized.onnx --config "$model.yaml"
    must checkpoint convert "$reference/$model" again.onnx --config "$model.yaml"
    cmp sized.onnx again.onnx || fail "$model: other bytes for the same weights"
    [ "$model" = llama ] || cmp "$model.onnx" sized.onnx || fail "$model: another pass with data"
    must predict "$model.yaml" --checkpoint_path "$reference/$model" --samples 3 --format npy \
        --file "$model.npy"
    compare sized.onnx "$input" "$model.npy" 2e-5
    # The weights come back to the byte, by other names of a folder as well.
    must checkpoint convert sized.onnx "${model}_back" --config "$model.yaml"
    cmp "${model}_back/model.safetensors" "$reference/$model/model.safetensors" ||
        fail "$model: other weights come back"
done
must checkpoint convert "$reference/gpt2" half.onnx --dtype bfloat16
compare half.onnx "$reference/text.txt" gpt2.npy 0.08

# Models that were trained here, of which the checkpoint says all; predictions are those of a batch
# that is none of the traced ones.
trained() { # NAME IMAGES MODEL
    configuration "$3" "data_processor: idx_images, data_dir: ./images$2, mean: 0.0, std: 1.0,
      flatten: false" >"$1.yaml"
    must start "$1.yaml" --no_dashboard --model_dir "./run_$1"
    must predict "$1.yaml" --model_dir "./run_$1" --samples 2 --format npy --file "$1.npy"
    must checkpoint convert "run_$1/checkpoint_2.mdl" "$1.onnx" --config "$1.yaml"
    compare "$1.onnx" "images$2/train-images-idx3-ubyte" "$1.npy" 2e-5
}
trained fc_mnist 8 'name: fc_mnist, input_size: 64, hidden_sizes: [9, 7], num_classes: 5'
trained mlp 8 'name: mlp, input_size: 64, hidden_sizes: [9], num_classes: 5, activation: gelu'
trained lenet 28 'name: lenet, num_classes: 5'
trained resnet 8 'name: resnet, depth: 18, width: 2, small_images: true, image_size: [8, 8],
      num_channels: 1, num_classes: 5'
trained resnet50 8 'name: resnet, depth: 50, width: 1, image_size: [8, 8], num_channels: 1,
      num_classes: 5'
trained vision 8 'name: vision_transformer, image_size: [8, 8], num_channels: 1, patch_size: [4, 4],
      num_classes: 5, hidden_size: 12, num_hidden_layers: 2, num_heads: 3, filter_size: 16,
      initializer_range: 0.3'
trained layers 8 'name: layers, input_shape: [1, 8, 8], layers: [conv2d: {out: 4, padding: 1},
      batch_norm, silu, avg_pool2d, residual: {layers: [conv2d: {out: 4, padding: 1}, tanh]},
      flatten, norm, linear: {out: 6}, sigmoid, linear: {out: 5}]'

# Several inputs, of which predictions do not depend on all.
configuration 'name: bert, vocab_size: 40, hidden_size: 12, num_heads: 3, num_hidden_layers: 2,
      filter_size: 16, max_position_embeddings: 10, initializer_range: 0.5' \
    'data_processor: bert_csv, data_dir: ./sentences' >bert.yaml
must start bert.yaml --no_dashboard --model_dir ./run_bert
must predict bert.yaml --model_dir ./run_bert --samples 2 --format npy --file masked.npy
must checkpoint convert run_bert/checkpoint_2.mdl masked.onnx --config bert.yaml
compare masked.onnx rows.json masked.npy 2e-5

# The same of two texts, and of a classifier.
of_rows() { # NAME MODEL
    configuration "$2" "data_processor: command, command: [$python, answer.py, $1.json]" >"$1.yaml"
    must start "$1.yaml" --no_dashboard --model_dir "./run_$1"
    must predict "$1.yaml" --model_dir "./run_$1" --samples 3 --format npy --file "$1.npy"
    must checkpoint convert "run_$1/checkpoint_2.mdl" "$1.onnx" --config "$1.yaml"
    compare "$1.onnx" "$1.json" "$1.npy" 2e-5
}
of_rows pairs 'name: t5, src_vocab_size: 16, d_model: 12, d_kv: 6, d_ff: 16, num_heads: 2,
      encoder_num_hidden_layers: 2, dropout_rate: 0.0'
of_rows classified 'name: bert/classifier, vocab_size: 40, hidden_size: 12, num_heads: 3,
      num_hidden_layers: 2, filter_size: 16, max_position_embeddings: 10, initializer_range: 0.5,
      num_labels: 3'

# Weights in a file beside: the same values, the same bytes, both files or neither.
outside() { # FOLDER
    mkdir "$1" && must checkpoint convert run_bert/checkpoint_2.mdl "$1/masked.onnx" \
        --config bert.yaml --shard_size 3KB
}
outside beside
outside beside_again
for part in masked.onnx masked.onnx.data; do
    cmp "beside/$part" "beside_again/$part" || fail "$part: other bytes for the same weights"
done
compare beside/masked.onnx rows.json masked.npy 2e-5
[ "$(stat -c %s beside/masked.onnx)" -lt "$(stat -c %s masked.onnx)" ] ||
    fail 'the weights are not outside'
must checkpoint convert masked.onnx from_one.safetensors --map none
must checkpoint convert beside/masked.onnx from_two.safetensors --map none
cmp from_one.safetensors from_two.safetensors || fail 'other weights come back from two files'
must checkpoint convert run_bert/checkpoint_2.mdl beside/whole.onnx --config bert.yaml \
    --shard_size 1GB
[ ! -e beside/whole.onnx.data ] || fail 'weights that fit are outside'
rm beside/masked.onnx
expect 73 'masked.onnx.data: is there already' checkpoint convert run_bert/checkpoint_2.mdl \
    beside/masked.onnx --config bert.yaml --shard_size 3KB
rm beside/masked.onnx.data
rm beside_again/masked.onnx.data
expect 66 'masked.onnx.data' checkpoint convert beside_again/masked.onnx x.safetensors --map none
[ "$(ls beside)" = whole.onnx ] || fail "left behind: $(ls beside)"

# A checkpoint says what model it is of; its data are not looked for.
must checkpoint convert run_lenet/checkpoint_2.mdl alone.onnx --config lenet.yaml
cmp alone.onnx lenet.onnx || fail 'lenet: other bytes'

# What does not fit.
expect 65 'does not say what model' checkpoint convert "$reference/torch.pt" x.onnx
expect 64 'not for --all' checkpoint convert run_mlp/checkpoint_2.mdl x.onnx --all \
    --config mlp.yaml
expect 65 'is missing' checkpoint convert run_mlp/checkpoint_2.mdl x.onnx --config lenet.yaml
[ ! -e x.onnx ] || fail 'a file is left'
[ $failures -eq 0 ]
