#!/bin/sh
# Several adapters on one base, DoRA and layers that share a factor: one digest for any number of
# replicas and microbatches and for a run that is stopped and resumed; the one that is not active
# stays as it is; each leaves by its name, and one is chosen by its name.
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
configuration() { # ADAPTERS MICRO_BATCH_SIZE
    cat model.yaml
    cat <<YAML
    adapters: $1
    model_dir: ./run
    backend: {compile_dir: ./compiled}
    optimizer: {AdamW: {learning_rate: 0.05}}
    loop: {num_steps: 4}
    checkpoint: {steps: 2}
  fit:
    train_dataloader:
      {data_processor: text_bytes, path: text.bin, sequence_length: 4, batch_size: 8,
       micro_batch_size: $2}
YAML
}
awk 'BEGIN { for (i = 0; i < 200; i++) printf "%c", (i * 7 + int(i / 5)) % 11 + 1 }' >text.bin
same() { # CHECKPOINT CHECKPOINT
    one=$("$csengine" checkpoint digest "$1" 2>&1) && two=$("$csengine" checkpoint digest "$2" 2>&1)
    [ "${one%% *}" = "${two%% *}" ] || fail "$1 and $2 differ: $one, $two"
}

# The names of Phi-3, whose modules hold several layers of ours.
dora='{mine: {r: 3, use_dora: true, lora_dropout: 0.1, target_modules: [qkv_proj, down_proj]}}'
configuration "$dora" 2 >dora.yaml
must start dora.yaml --weights "$reference/llama" --no_dashboard --model_dir one
must start dora.yaml --weights "$reference/llama" --no_dashboard --model_dir two --num_csx 2
must start dora.yaml --weights "$reference/llama" --no_dashboard --model_dir five --num_csx 5
must start dora.yaml --weights "$reference/llama" --no_dashboard --model_dir stopped --num_steps 2
must start dora.yaml --no_dashboard --model_dir stopped
for other in two five stopped; do
    same one/checkpoint_4.mdl $other/checkpoint_4.mdl
done
must checkpoint convert one/checkpoint_4.mdl all.npz --all
"${PYTHON:-python3}" - <<'EOP' || fail "other states than those of DoRA with a shared factor"
import zipfile
every = zipfile.ZipFile("all.npz").namelist()
names = {n[6:-4] for n in every if n.startswith("model.") and "lora" in n}
layer = "transformer_decoder.layers.0."
def of(end):
    return {n[len(layer):].split(".lora")[0] for n in names if n.startswith(layer) and end in n}
heads = {f"self_attn.proj_{p}_dense_layer" for p in "qkv"}
down = {"ffn.ffn.1.linear_layer"}
assert of("lora_B") == of("lora_magnitude_vector") == heads | down, names
assert of("lora_A") == down | {"self_attn.proj_q_dense_layer"}, names
EOP

# Two adapters: the one that is not active stays.
two='{law: {path: folder}, code: {r: 2, target_modules: [q_proj]}, active: '
configuration '{law: {r: 3, target_modules: [q_proj, up_proj],
        rank_pattern: {up_proj: 2}}}' 8 >law.yaml
must start law.yaml --weights "$reference/llama" --no_dashboard --model_dir law
must checkpoint convert law/checkpoint_4.mdl folder --to peft
configuration "$two code}" 2 >both.yaml
configuration "$two [law, code]}" 2 >sum.yaml
configuration "$two law}" 2 >again.yaml
configuration '{}' 2 >plain.yaml
must start both.yaml --weights "$reference/llama" --no_dashboard --model_dir both

must checkpoint convert both/checkpoint_4.mdl law_again --to peft --adapter_name law
cmp folder/adapter_model.safetensors law_again/adapter_model.safetensors ||
    fail "an adapter that is not active was changed"
must checkpoint convert both/checkpoint_4.mdl code --to peft
expect 65 'there is no adapter of that name; --adapter_name takes one of law, code' \
    checkpoint convert both/checkpoint_4.mdl none --to peft --adapter_name lew

values() { # NAME ARGUMENTS...: of the predictions
    name=$1
    shift
    must predict "$@" --samples 3 --format npy --file "$name.npy"
}
values code both.yaml --checkpoint_path both/checkpoint_4.mdl
values law again.yaml --checkpoint_path both/checkpoint_4.mdl
values sum sum.yaml --checkpoint_path both/checkpoint_4.mdl
values base both.yaml --checkpoint_path both/checkpoint_4.mdl --set adapters.active=none
values code_added plain.yaml --checkpoint_path "$reference/llama" --adapter code
values law_added plain.yaml --checkpoint_path "$reference/llama" --adapter folder
values base_alone plain.yaml --checkpoint_path "$reference/llama"
must checkpoint convert "$reference/llama" summed --adapter code --adapter folder
values sum_added plain.yaml --checkpoint_path summed
"${PYTHON:-python3}" - <<'EOP' || fail "adapters that are chosen predict something else"
import struct
def read(name):
    with open(name + ".npy", "rb") as file:
        data = file.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - start) // 4}f", data[start:])
def difference(one, two):
    return max(abs(a - b) for a, b in zip(read(one), read(two), strict=True))
pairs = (("code", "code_added"), ("law", "law_added"), ("sum", "sum_added"),
         ("base", "base_alone"))
for one, two in pairs:
    assert difference(one, two) < 1e-5, (one, two)
assert min(difference("code", "base"), difference("law", "base"), difference("sum", "code")) > 1e-4
EOP

# ---- a folder to begin with ----

wrong() { # WORDS ADAPTERS [ARGUMENTS...]
    configuration "$2" 2 >wrong.yaml
    words=$1
    shift 2
    rm -rf wrong
    expect 78 "$words" start wrong.yaml --no_dashboard --model_dir wrong "$@"
}
wrong 'begins as the folder folder, and the model with random weights' '{a: {path: folder}}'
wrong 'adapters: r stands in the folder of path already' '{a: {path: folder, r: 3}}' \
    --weights "$reference/llama"
wrong 'use_dora is active together with another one' \
    '{a: {use_dora: true}, b: {r: 2}, active: [a, b]}'
wrong 'no module of the model is "normm" (modules_to_save)' '{a: {modules_to_save: [normm]}}'
wrong 'no module of the model is "z_proj" (exclude_modules)' '{a: {exclude_modules: [z_proj]}}'
wrong 'rank_pattern: "q_proj" has a value that is none' '{a: {rank_pattern: {q_proj: 0}}}'
wrong 'rank_pattern is no mapping' '{a: {rank_pattern: [q_proj]}}'
configuration '{a: {path: nothing}}' 2 >wrong.yaml
expect 66 'nothing/adapter_config.json' start wrong.yaml --no_dashboard --weights "$reference/llama"

[ "$failures" -eq 0 ] || exit 1
