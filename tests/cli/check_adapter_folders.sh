#!/bin/sh
# Folders of PEFT added to weights by each command that loads some: the same predictions as of the
# run that made the adapter; several with factors; and each key of adapter_config.json, factor and
# module that does not fit is refused by its name.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
reference=$(cd "${top_srcdir:-.}" && pwd)/tests/reference/weights
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

"$csengine" checkpoint convert "$reference/llama" base.mdl --print_model >model.yaml 2>err ||
    fail "print_model: $(cat err)"
configuration() { # ADAPTERS
    cat model.yaml
    cat <<YAML
    adapters: $1
    model_dir: ./run
    backend: {compile_dir: ./compiled}
    optimizer: {AdamW: {learning_rate: 0.05}}
    loop: {num_steps: 4}
    checkpoint: {steps: 4}
  fit:
    train_dataloader: &data
      {data_processor: text_bytes, path: text.bin, sequence_length: 4, batch_size: 4,
       shuffle: false}
    val_dataloader: *data
YAML
}
awk 'BEGIN { for (i = 0; i < 200; i++) printf "%c", (i * 7 + int(i / 5)) % 11 + 1 }' >text.bin
configuration '{mine: {r: 3, lora_alpha: 6, target_modules: [q_proj, down_proj]}}' >run.yaml
configuration '{}' >plain.yaml
must start run.yaml --weights "$reference/llama" --no_dashboard --model_dir one
must checkpoint convert one/checkpoint_4.mdl peft --to peft
must predict run.yaml --checkpoint_path one/checkpoint_4.mdl --samples 3 --format npy \
    --file adapted.npy

same_values() { # FILE FILE
    "${PYTHON:-python3}" - "$1" "$2" <<'EOP' || fail "$1 and $2 differ"
import struct, sys
def read(name):
    with open(name, "rb") as file:
        data = file.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - start) // 4}f", data[start:])
one, two = read(sys.argv[1]), read(sys.argv[2])
assert len(one) == len(two) > 0
assert max(abs(a - b) for a, b in zip(one, two)) < 1e-5
EOP
}

# The folder, a checkpoint and a merged folder, each with the adapter of PEFT.
must checkpoint convert "$reference/llama" merged --adapter peft
must checkpoint convert base.mdl merged.mdl --adapter peft
for start in "$reference/llama" base.mdl; do
    must predict plain.yaml --checkpoint_path "$start" --adapter peft --samples 3 --format npy \
        --file added.npy
    same_values adapted.npy added.npy
done
for start in merged merged.mdl; do
    must predict plain.yaml --checkpoint_path "$start" --samples 3 --format npy --file merged.npy
    same_values adapted.npy merged.npy
done
must validate run.yaml --checkpoint_path one/checkpoint_4.mdl
grep 'loss' out >adapted.txt
must validate plain.yaml --checkpoint_path "$reference/llama" --adapter peft
grep 'loss' out >added.txt
[ "$(sed 's/.*loss/loss/' adapted.txt)" = "$(sed 's/.*loss/loss/' added.txt)" ] ||
    fail "validate: $(cat adapted.txt added.txt)"
must generate plain.yaml --checkpoint_path "$reference/llama" --adapter peft --numbers \
    --prompt 1,2 --greedy --max_new_tokens 2

# What merging changes of the logits is said: nothing in float32, and what a narrow type rounds.
said() { # LEAST MOST ARGUMENTS...: of the largest difference
    least=$1
    most=$2
    shift 2
    rm -rf told
    "$csengine" checkpoint convert "$@" --json >out 2>&1 || fail "$*: $(cat out)"
    "${PYTHON:-python3}" - "$least" "$most" <<'EOP' || fail "$*: $(cat out)"
import json, sys
told = json.load(open("out"))["merged_logits"]
assert told["tokens"] == 8 and told["range"] > 0.1
assert float(sys.argv[1]) <= told["largest_difference"] / told["range"] <= float(sys.argv[2])
EOP
}
said 0 1e-6 "$reference/llama" told --adapter peft
said 0 1e-6 one/checkpoint_4.mdl told
said 1e-4 0.05 "$reference/llama" told --adapter peft --dtype bfloat16
must checkpoint convert "$reference/llama" told.gguf --adapter peft --dtype q8_0
grep -q 'merged and unmerged logits of 8 tokens differ by at most' out ||
    fail "not told: $(cat out)"

# Twice half of it is the whole, in two products or as one.
must checkpoint convert "$reference/llama" halves --adapter peft --adapter peft \
    --adapter_weights 0.5,0.5
grep -q 'were not compared: adapters are added with factors' out || fail "not told: $(cat out)"
must predict plain.yaml --checkpoint_path halves --samples 3 --format npy --file halves.npy
same_values adapted.npy halves.npy
expect 64 'accepted: a number for each --adapter' checkpoint convert base.mdl none \
    --adapter peft --adapter_weights 0.5,0.5
expect 64 'combination_type' checkpoint convert base.mdl none --adapter peft \
    --combination_type svd
expect 64 -- '--adapter with --all' checkpoint convert base.mdl none --adapter peft --all
expect 66 'is no folder' checkpoint convert base.mdl none --adapter nothing
expect 66 'adapter_config.json' checkpoint convert base.mdl none --adapter merged
expect 78 'fit.weights is missing' start plain.yaml --adapter peft --no_dashboard --model_dir no

# ---- another base ----

grep -q 'adapted_weights_digest' peft/csengine_base.json || fail "the folder does not say its base"
words='was trained beside other weights than those of'
expect 65 "$words" checkpoint convert merged none --adapter peft
expect 65 "$words" checkpoint convert merged.mdl none --adapter peft
expect 65 "$words" predict plain.yaml --checkpoint_path merged --adapter peft --samples 1
must predict plain.yaml --checkpoint_path merged --adapter peft --any_base --samples 1
must checkpoint convert merged twice --adapter peft --any_base
configuration '{mine: {path: peft}}' >on.yaml
expect 65 "$words" start on.yaml --weights merged --no_dashboard --model_dir on
must start on.yaml --weights "$reference/llama" --no_dashboard --model_dir on
must start on.yaml --weights merged --any_base --no_dashboard --model_dir on_merged
echo '{}' >peft/csengine_base.json
expect 65 'there is no text adapted_weights_digest' checkpoint convert base.mdl none --adapter peft
rm peft/csengine_base.json

# ---- what does not fit ----

wrong() { # WORDS PROGRAM: changes config, and factors {name: (shape, bytes)}
    rm -rf wrong
    "${PYTHON:-python3}" - "$2" <<'EOP' || fail "no folder for $1"
import json, os, struct, sys
os.mkdir("wrong")
config = json.load(open("peft/adapter_config.json"))
with open("peft/adapter_model.safetensors", "rb") as file:
    header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    data = file.read()
header.pop("__metadata__", None)
factors = {n: (v["shape"], data[slice(*v["data_offsets"])]) for n, v in header.items()}
first = "base_model.model.model.layers.0.self_attn.q_proj"
exec(sys.argv[1])
with open("wrong/adapter_config.json", "w") as file:
    json.dump(config, file)
at, header = 0, {}
for name, (shape, values) in factors.items():
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(values)]}
    at += len(values)
text = json.dumps(header).encode()
with open("wrong/adapter_model.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + b"".join(v for _, v in factors.values()))
EOP
    expect 65 "$1" checkpoint convert base.mdl none --adapter wrong
    [ ! -e none ] || fail "a folder is there in spite of $1"
}
wrong 'the key rang is not known' 'config["rang"] = 3'
wrong 'did you mean rank_pattern' 'config["rank_patern"] = {}'
wrong 'peft_type is "IA3"' 'config["peft_type"] = "IA3"'
wrong 'peft_type is missing' 'del config["peft_type"]'
wrong 'r is 0' 'config["r"] = 0'
wrong 'r is 1.5' 'config["r"] = 1.5'
wrong 'lora_alpha is "x"' 'config["lora_alpha"] = "x"'
wrong 'use_dora is 1' 'config["use_dora"] = 1'
wrong 'lora_bias is set: a bias of the factor B' 'config["lora_bias"] = True'
wrong 'target_parameters is set' 'config["target_parameters"] = ["experts"]'
wrong 'layer_replication is set' 'config["layer_replication"] = [[0, 1], [0, 2]]'
wrong 'init_lora_weights is "pissa"' 'config["init_lora_weights"] = "pissa"'
wrong 'rank_pattern: "(" is no regular expression' 'config["rank_pattern"] = {"(": 2}'
wrong 'have not the rank' 'config["rank_pattern"] = {"q_proj": 2}'
wrong 'have not the rank' 'config["r"] = 4'
wrong 'have no lora_magnitude_vector' 'config["use_dora"] = True'
wrong "has no factor B" 'del factors[first + ".lora_B.weight"]'
wrong 'is no factor that is known' 'factors[first + ".lora_C.weight"] = ([1], b"1234")'
wrong "base.mdl has not; its nearest is 'model.layers.0.self_attn.q_proj.weight'" '
for end in ("A", "B"):
    factors[f"base_model.model.model.layers.0.self_attn.q_prj.lora_{end}.weight"] = \
        factors.pop(f"{first}.lora_{end}.weight")'
wrong 'is it the adapter of another model' '
shape, values = factors[first + ".lora_A.weight"]
factors[first + ".lora_A.weight"] = ([3, shape[1] - 1], values[:3 * (shape[1] - 1) * 4])'
wrong 'holds no factors of an adapter' 'factors.clear()'
wrong 'base.mdl has not' 'factors["base_model.model.other.weight"] = ([1], b"1234")'

[ "$failures" -eq 0 ] || exit 1
