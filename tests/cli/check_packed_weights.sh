#!/bin/sh
# Weights that lie packed in their file stay packed in memory where they are not trained: an
# adapter beside them is trained to the same bits as beside the unpacked ones, whatever packs them,
# and so is a run that is stopped and resumed; what leaves has the same values; what cannot stay
# packed is told, and refused where it is asked for.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
reference=$(cd "${top_srcdir:-.}" && pwd)/tests/reference
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo 'there is no python3: skipped'; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
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

tells() { # WORDS
    grep -q -e "$1" out || fail "not told \"$1\": $(cat out)"
}

expect() { # EXIT_CODE WORDS ARGUMENTS...
    expected=$1
    words=$2
    shift 2
    "$csengine" "$@" >out 2>&1
    code=$?
    [ "$code" -eq "$expected" ] || fail "$*: exit code $code, not $expected: $(cat out)"
    tells "$words"
}

awk 'BEGIN { for (i = 0; i < 400; i++) printf "%c", (i * 7 + int(i / 5)) % 91 + 1 }' >text.bin
"$python" "$reference/packed_models.py" folders || exit 1

configuration() { # MODEL_SECTION ADAPTERS
    cat "$1"
    cat <<YAML
    adapters: $2
    model_dir: ./run
    backend: {compile_dir: ./compiled}
    optimizer: {AdamW: {learning_rate: 0.02}}
    loop: {num_steps: 4}
    checkpoint: {steps: 2}
  fit:
    train_dataloader:
      {data_processor: text_bytes, path: text.bin, sequence_length: 8, batch_size: 4,
       micro_batch_size: 2}
YAML
}
adapter='{mine: {r: 3, lora_alpha: 6}}'

same_adapters() { # CHECKPOINT CHECKPOINT
    rm -rf one_adapter two_adapter
    must checkpoint convert "$1" one_adapter --to peft
    must checkpoint convert "$2" two_adapter --to peft
    cmp -s one_adapter/adapter_model.safetensors two_adapter/adapter_model.safetensors ||
        fail "the adapters of $1 and $2 differ"
}

run_both() { # NAME WEIGHTS
    must start "$1.yaml" --weights "$2" --no_dashboard --model_dir "$1_packed"
    cp out "$1.told"
    must start "$1.yaml" --weights "$2" --no_dashboard --model_dir "$1_unpacked" \
        --set trainer.init.weights_in_memory=unpacked
    same_adapters "$1_packed/checkpoint_4.mdl" "$1_unpacked/checkpoint_4.mdl"
}

# ---- what several programs pack ----

for kind in gptq2 gptq4 gptq8 gptq_v2 gptq_mixed gptq_small awq nf4 nf4_nested nf4_levels fp4 \
    int8; do
    "$csengine" checkpoint convert folders/$kind $kind.mdl --print_model >$kind.section 2>out ||
        fail "$kind: $(cat out)"
    configuration $kind.section "$adapter" >$kind.yaml
    run_both $kind folders/$kind
    case $kind in
    gptq_mixed | gptq_small) told='0 weights stay packed in memory, 4 .*: its g_idx has inputs' ;;
    nf4_levels) told='0 weights stay packed in memory, 4 .*: its quant_map is not that' ;;
    *) told='4 weights stay packed in memory$' ;;
    esac
    grep -q -e "$told" $kind.told || fail "$kind: not told \"$told\": $(cat $kind.told)"
done
expect 78 'weights_in_memory: packed: folders/nf4_levels: ".*" cannot stay packed: its quant_map' \
    start nf4_levels.yaml --weights folders/nf4_levels --no_dashboard --model_dir no \
    --set trainer.init.weights_in_memory=packed

# ---- GGUF ----

for type in q8_0 q5_0 q4_0; do
    must checkpoint convert nf4.mdl $type.gguf --dtype $type
    configuration nf4.section "$adapter" >$type.yaml
    run_both $type $type.gguf
    # All matrices, the table of tokens as well.
    grep -q '8 weights stay packed in memory$' $type.told || fail "$type: $(cat $type.told)"
done

# From GGUF to GGUF blocks stay as they are.
must checkpoint convert q8_0.gguf again.gguf
cmp -s q8_0.gguf again.gguf || fail "blocks do not stay as they are"

# Stopped and resumed: the same states, to the bit.
must start q8_0.yaml --weights q8_0.gguf --no_dashboard --model_dir resumed --num_steps 2
must start q8_0.yaml --no_dashboard --model_dir resumed
tells '8 weights stay packed in memory$'
one=$("$csengine" checkpoint digest q8_0_packed/checkpoint_4.mdl) || fail "no digest"
two=$("$csengine" checkpoint digest resumed/checkpoint_4.mdl) || fail "no digest"
[ "${one%% *}" = "${two%% *}" ] || fail "a resumed run has other states"
# Of two replicas as of one.
must start q8_0.yaml --weights q8_0.gguf --no_dashboard --model_dir two --num_csx 2
two=$("$csengine" checkpoint digest two/checkpoint_4.mdl) || fail "no digest"
[ "${one%% *}" = "${two%% *}" ] || fail "two replicas have other states"
# In bfloat16 as well.
must start q8_0.yaml --weights q8_0.gguf --no_dashboard --model_dir packed_16 \
    --set trainer.init.precision.fp16_type=bfloat16
must start q8_0.yaml --weights q8_0.gguf --no_dashboard --model_dir unpacked_16 \
    --set trainer.init.precision.fp16_type=bfloat16 --set trainer.init.weights_in_memory=unpacked
same_adapters packed_16/checkpoint_4.mdl unpacked_16/checkpoint_4.mdl

# A checkpoint holds the blocks, which a conversion unpacks, and adds the adapter to.
must checkpoint convert q8_0_packed/checkpoint_4.mdl packed.safetensors
must checkpoint convert q8_0_unpacked/checkpoint_4.mdl unpacked.safetensors
cmp -s packed.safetensors unpacked.safetensors || fail "merged weights differ"
packed=$(wc -c <q8_0_packed/checkpoint_4.mdl)
unpacked=$(wc -c <q8_0_unpacked/checkpoint_4.mdl)
[ "$packed" -lt "$unpacked" ] || fail "a checkpoint of $packed bytes, unpacked $unpacked"

# ---- predictions and validation ----

for what in packed unpacked; do
    must predict q8_0.yaml --checkpoint_path q8_0_$what/checkpoint_4.mdl --samples 8 \
        --format npy --file of_$what.npy
done
cmp -s of_packed.npy of_unpacked.npy || fail "predictions differ"

# ---- what is refused ----

expect 78 'q8_0.gguf: "embedding_layer.word_embeddings.weight" cannot stay packed: it is trained' \
    start q8_0.yaml --weights q8_0.gguf --no_dashboard --model_dir no \
    --set trainer.init.adapters=null --set trainer.init.weights_in_memory=packed
expect 78 'weights_in_memory: packed: nf4.mdl holds no packed weights' \
    start q8_0.yaml --weights nf4.mdl --no_dashboard --model_dir no \
    --set trainer.init.weights_in_memory=packed
expect 78 'weights_in_memory: packed: the run begins with no file' \
    start q8_0.yaml --no_dashboard --model_dir no --set trainer.init.weights_in_memory=packed
expect 78 'accepted: one of auto, packed, unpacked' \
    start q8_0.yaml --no_dashboard --model_dir no --set trainer.init.weights_in_memory=half
expect 78 'from which a run goes on as they are, but ".*" cannot .* is unpacked' \
    start q8_0.yaml --no_dashboard --model_dir resumed --num_steps 6 \
    --set trainer.init.weights_in_memory=unpacked
must start q8_0.yaml --weights resumed/checkpoint_4.mdl --no_dashboard --model_dir begun \
    --set trainer.init.weights_in_memory=unpacked
# All weights are trained without an adapter: they become float32.
must start q8_0.yaml --weights q8_0.gguf --no_dashboard --model_dir full \
    --set trainer.init.adapters=null
tells '0 weights stay packed in memory, 8 that are packed in the file do not; .*: it is trained'

[ "$failures" -eq 0 ]
