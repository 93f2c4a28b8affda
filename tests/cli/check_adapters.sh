#!/bin/sh
# Adapters: factors beside the linear layers of a folder's model alone are trained, with one digest
# for any number of replicas and for a run that is stopped and resumed; merged on the way out they
# predict what the adapted model does; what does not fit is refused with what is accepted.
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
    optimizer: {AdamW: {learning_rate: 0.02}}
    loop: {num_steps: 6}
    checkpoint: {steps: 3}
  fit:
    train_dataloader:
      {data_processor: text_bytes, path: text.bin, sequence_length: 4, batch_size: 4,
       micro_batch_size: 2}
YAML
}
# Bytes below the vocabulary of 12.
awk 'BEGIN { for (i = 0; i < 200; i++) printf "%c", (i * 7 + int(i / 5)) % 11 + 1 }' >text.bin
configuration '{mine: {r: 3, lora_alpha: 6, lora_dropout: 0.1,
        target_modules: [q_proj, down_proj]}}' >run.yaml

same() { # CHECKPOINT CHECKPOINT
    one=$("$csengine" checkpoint digest "$1" 2>&1) && two=$("$csengine" checkpoint digest "$2" 2>&1)
    [ "${one%% *}" = "${two%% *}" ] || fail "$1 and $2 differ: $one, $two"
}

must start run.yaml --weights "$reference/llama" --no_dashboard --model_dir one
must start run.yaml --weights "$reference/llama" --no_dashboard --model_dir two --num_csx 2
must start run.yaml --weights "$reference/llama" --no_dashboard --model_dir three --num_steps 3
must start run.yaml --no_dashboard --model_dir three
same one/checkpoint_6.mdl two/checkpoint_6.mdl
same one/checkpoint_6.mdl three/checkpoint_6.mdl

# What is not the adapter's is what the folder has.
must checkpoint convert one/checkpoint_6.mdl all.npz --all
must checkpoint convert base.mdl base.npz --all
"${PYTHON:-python3}" - <<'EOP' || fail "the weights of the model were trained"
import zipfile
trained, base = zipfile.ZipFile("all.npz"), zipfile.ZipFile("base.npz")
names = {n for n in trained.namelist() if n.startswith("model.")}
factors = {n for n in names if ".lora_" in n}
assert names - factors == {n for n in base.namelist() if n.startswith("model.")}
assert len(factors) == 8, sorted(factors)
assert all(trained.read(n) == base.read(n) for n in names - factors)
states = {n for n in trained.namelist() if n.startswith("optimizer.") and "exp_avg" in n}
assert all(".lora_" in n for n in states), sorted(states)
EOP

# Merged, as the model alone, it predicts the same.
must checkpoint convert one/checkpoint_6.mdl merged
must checkpoint convert one/checkpoint_6.mdl merged.onnx
configuration '{}' >plain.yaml
must predict run.yaml --checkpoint_path one/checkpoint_6.mdl --samples 3 \
    --format npy --file adapted.npy
must predict plain.yaml --checkpoint_path merged --samples 3 \
    --format npy --file merged.npy
must predict plain.yaml --checkpoint_path "$reference/llama" --samples 3 \
    --format npy --file before.npy
"${PYTHON:-python3}" - <<'EOP' || fail "merged weights predict something else"
import struct
def read(name):
    with open(name, "rb") as file:
        data = file.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - start) // 4}f", data[start:])
adapted, merged, before = (read(f"{name}.npy") for name in ("adapted", "merged", "before"))
assert len(adapted) == len(merged) > 0
assert max(abs(a - b) for a, b in zip(adapted, merged)) < 1e-5
assert max(abs(a - b) for a, b in zip(adapted, before)) > 1e-4, "the adapter changes nothing"
EOP

# Alone, with the names of the other program; not with modules of the model itself, nor without one.
must checkpoint convert one/checkpoint_6.mdl peft --to peft
grep -q '"lora_alpha": 6.0' peft/adapter_config.json && grep -q '"r": 3' peft/adapter_config.json ||
    fail "adapter_config.json: $(cat peft/adapter_config.json)"
for name in self_attn.q_proj mlp.down_proj; do
    grep -q "base_model.model.model.layers.1.$name.lora_B.weight" peft/adapter_model.safetensors ||
        fail "no factor of $name"
done
expect 65 'holds no factors of an adapter' checkpoint convert base.mdl none --to peft
[ ! -e none ] || fail "a folder without an adapter is there"

refused() { # WORDS ADAPTERS
    configuration "$2" >wrong.yaml
    rm -rf wrong
    expect 78 "$1" start wrong.yaml --weights "$reference/llama" --no_dashboard --model_dir wrong
}
refused 'no linear layer of the model is a target "q_proi"' '{a: {target_modules: [q_proi]}}'
refused 'did you mean "proj_q_dense_layer"' '{a: {target_modules: [proj_q_dense_laier]}}'
refused 'no linear layer of the model is a target "x.\*"' '{a: {target_modules: "x.*"}}'
refused '"q_(proj" is no regular expression: ' '{a: {target_modules: "q_(proj"}}'
refused 'r: "0" is out of range' '{a: {r: 0}}'
refused 'rank' '{a: {rank: 4}}'
refused 'none is said to be active' '{a: {r: 2}, b: {r: 2}}'
refused 'no adapter "c" to be active' '{a: {r: 2}, b: {r: 2}, active: c}'
refused 'the section is no mapping' '[a]'
refused 'target_modules is no list of names' '{a: {target_modules: []}}'
refused 'modules_to_save is no list of names' '{a: {modules_to_save: norm3}}'
refused 'LORA' '{a: {peft_type: IA3}}'

[ "$failures" -eq 0 ] || exit 1
