#!/bin/sh
# Weights in and out: folders that the library transformers wrote (tests/reference/weights.py) give
# its loss, in any format that they are converted to, and come back as they were, to the byte. A run
# begins with them at step 0, and what does not fit is refused with what to do.
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

# The rest of a configuration, behind the section model.
configuration() { # MODEL_SECTION
    cat "$1"
    cat <<YAML
    model_dir: ./run
    backend: {backend_type: CPU, compile_dir: ./compiled}
    optimizer: {SGD: {learning_rate: 0.01}}
    loop: {num_steps: 1, eval_steps: null}
  fit:
    train_dataloader: &data
      {data_processor: text_bytes, path: $reference/text.txt, sequence_length: 16, batch_size: 1,
       shuffle: false}
    val_dataloader: *data
YAML
}

loss_of() { # CONFIG WEIGHTS
    "$csengine" eval "$1" --checkpoint_path "$2" --json >out 2>err || fail "eval $2: $(cat err)"
    sed -n 's/.*"loss": *\([0-9.e-]*\).*/\1/p' out | tail -n 1
}

near() { # VALUE EXPECTED
    awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(a != "" && d < 2e-6 && d > -2e-6) }'
}

while read -r model loss; do
    must checkpoint convert "$reference/$model" "$model.mdl" --print_model
    configuration out >"$model.yaml"
    near "$(loss_of "$model.yaml" "$reference/$model")" "$loss" ||
        fail "$model: the loss is $(loss_of "$model.yaml" "$reference/$model"), not $loss"
    near "$(loss_of "$model.yaml" "$model.mdl")" "$loss" || fail "$model.mdl: another loss"
    must checkpoint convert "$model.mdl" "${model}_back"
    cmp "${model}_back/model.safetensors" "$reference/$model/model.safetensors" ||
        fail "$model: another file comes back"
    # What config.json says of the model comes back as well; the rotation stands in another object.
    sed 's/,$//' "$reference/$model/config.json" | sort >theirs
    sed 's/,$//; s/: 1e-5$/: 1e-05/' "${model}_back/config.json" | sort |
        comm -23 - theirs | grep -v 'rope_\|"factor"\|"sliding_window"' >more
    [ ! -s more ] || fail "$model: config.json says otherwise: $(cat more)"
    must checkpoint convert "$model.mdl" "$model.safetensors"
    must checkpoint convert "$model.safetensors" again.mdl
    [ "$("$csengine" checkpoint digest again.mdl)" = \
        "$("$csengine" checkpoint digest "$model.mdl")" ] || fail "$model: another digest"
    rm again.mdl
    # GGUF has names of its own, and says what model it is.
    must checkpoint convert "$model.mdl" "$model.gguf"
    near "$(loss_of "$model.yaml" "$model.gguf")" "$loss" || fail "$model.gguf: another loss"
    # In several files, and back without the configuration in a checkpoint of ours.
    must checkpoint convert "$model.safetensors" "${model}_parts" --config "$model.yaml" \
        --shard_size 4KB
    [ "$(find "${model}_parts" -name 'model-*.safetensors' | wc -l)" -gt 2 ] || fail 'one file'
    near "$(loss_of "$model.yaml" "${model}_parts")" "$loss" || fail "$model: loss of its parts"
done <"$reference/losses.txt"

# What is no integer there is written as none, however the configuration has it.
sed 's/dropout_rate: 0\.[0-9]*/dropout_rate: 0/' gpt2.yaml >whole.yaml
grep -q 'dropout_rate: 0[^.]*$' whole.yaml || fail "gpt2 has no rate of dropout: $(cat gpt2.yaml)"
must checkpoint convert gpt2.safetensors whole --config whole.yaml
grep -q '"resid_pdrop": 0\.0' whole/config.json || fail "a fraction: $(cat whole/config.json)"

# Encoders come back to the byte as well, and give the library's values.
configuration() { # MODEL_SECTION DATA
    cat "$1"
    cat <<YAML
    model_dir: ./run
    backend: {backend_type: CPU, compile_dir: ./compiled}
    optimizer: {SGD: {learning_rate: 0.01}}
    loop: {num_steps: 1}
  fit:
    train_dataloader: {$2, batch_size: 1, shuffle: false}
YAML
}
for model in bert vit; do
    must checkpoint convert "$reference/$model" "$model.mdl" --print_model
    data="data_processor: text_bytes, path: $reference/text.txt, sequence_length: 16"
    [ "$model" = bert ] ||
        data="data_processor: idx_images, data_dir: $reference/images, mean: 0.0, std: 1.0"
    configuration out "$data" >"$model.yaml"
    must checkpoint convert "$model.mdl" "${model}_back"
    cmp "${model}_back/model.safetensors" "$reference/$model/model.safetensors" ||
        fail "$model: another file comes back"
    # A checkpoint with narrow floats is read as the states of a run, which are wide.
    must checkpoint convert "$reference/$model" "${model}_narrow.mdl" --dtype bfloat16
    must predict "$model.yaml" --checkpoint_path "${model}_narrow.mdl" --samples 1 --format json
    must predict "$model.yaml" --checkpoint_path "$reference/$model" --samples 1 --format json
    expected=$(sed -n "s/^$model //p" "$reference/values.txt")
    value=$(sed -n 's/.*"values":\[\([^,]*\),\([^,]*\),\([^],]*\).*/\1 \2 \3/p
        s/.*"class":\([0-9]*\),"probability":\([0-9.]*\).*/\1 \2/p' out)
    printf '%s\n%s\n' "$expected" "$value" | awk '
        NR == 1 { count = split($0, expected) }
        NR == 2 {
            good = split($0, value) == count
            for (i = 1; i <= count; i++)
                good = good && value[i] - expected[i] < 5e-6 && expected[i] - value[i] < 5e-6
        }
        END { exit !good }' || fail "$model: $value, not $expected"
done

# A file of torch.save holds what the library safetensors writes of the same tensors.
must checkpoint convert "$reference/torch.pt" torch.safetensors
cmp torch.safetensors "$reference/torch.safetensors" || fail 'torch.pt: other tensors'

# Training begins with them at step 0, and goes on from its own checkpoint.
must start gpt2.yaml --weights gpt2.safetensors --no_dashboard
cp out first
grep -q 'checkpoint_1.mdl' first || fail "no step 1: $(cat first)"
digest=$("$csengine" checkpoint digest gpt2.mdl --prefix model.)
"$csengine" checkpoint info run/checkpoint_1.mdl | grep -q "previous *$digest, weights" ||
    fail 'the checkpoint does not say which weights it came from'
must start gpt2.yaml --weights gpt2.safetensors --no_dashboard --num_steps 1
grep -q 'checkpoint_2.mdl' out || fail "the run does not go on: $(cat out)"
must start gpt2.yaml --weights "$reference/gpt2" --no_dashboard --model_dir ./other
grep -q "$(sed -n 's/^Weights digest: //p' first)" out || fail 'another digest from the folder'

# Another name of the same activation is no other model; another activation is one.
for name in gelu_new gelu_fast; do
    sed "s/nonlinearity: gelu_tanh/nonlinearity: $name/" gpt2.yaml >named.yaml
    grep -q "nonlinearity: $name" named.yaml || fail "no $name in named.yaml"
    must start named.yaml --weights "$reference/gpt2" --no_dashboard --model_dir "./$name"
    grep -q "$(sed -n 's/^Weights digest: //p' first)" out || fail "$name: another digest"
done
sed 's/nonlinearity: gelu_tanh/nonlinearity: gelu/' gpt2.yaml >named.yaml
expect 65 'set trainer.init.model.nonlinearity to gelu_tanh' start named.yaml \
    --weights "$reference/gpt2" --no_dashboard --model_dir ./gelu

# All of a checkpoint, the optimizer's states as well.
digest=$("$csengine" checkpoint digest run/checkpoint_2.mdl)
for extension in safetensors pt h5 npz; do
    must checkpoint convert run/checkpoint_2.mdl "all.$extension" --all
    must checkpoint convert "all.$extension" "all_$extension.mdl" --all
    [ "$("$csengine" checkpoint digest "all_$extension.mdl")" = "$digest" ] ||
        fail "$extension: another digest of all tensors"
done

# A part of them.
sed 's/num_hidden_layers: 2/num_hidden_layers: 3/' gpt2.yaml >deeper.yaml
expect 65 'set trainer.init.model.num_hidden_layers to 2' start deeper.yaml --weights gpt2.mdl \
    --no_dashboard --model_dir ./deeper
must start deeper.yaml --weights gpt2.safetensors --no_dashboard --model_dir ./deeper
grep -q '16 parameters are not in it' out || fail "the rest is not told: $(cat out)"
expect 65 'are missing' eval deeper.yaml --checkpoint_path gpt2.safetensors

# What does not fit.
expect 65 'with --weights\|--weights .* begins with them' start gpt2.yaml \
    --checkpoint_path gpt2.safetensors --no_dashboard
expect 78 'exclude each other' start gpt2.yaml --checkpoint_path gpt2.mdl --weights gpt2.mdl
sed 's/hidden_size: 12/hidden_size: 24/' gpt2.yaml >wider.yaml
expect 65 '\[128, 12\]' eval wider.yaml --checkpoint_path gpt2.safetensors
sed 's/num_heads: 3/num_heads: 4/' gpt2.yaml >heads.yaml
expect 65 'set trainer.init.model.num_heads to 3' eval heads.yaml \
    --checkpoint_path "$reference/gpt2"
expect 66 'cannot be opened' start gpt2.yaml --weights none.safetensors --no_dashboard \
    --model_dir ./none
mkdir empty
expect 66 'holds no weights' eval gpt2.yaml --checkpoint_path empty
sed 's/"gpt2"/"no_such_family"/' "$reference/gpt2/config.json" >empty/config.json
cp "$reference/gpt2/model.safetensors" empty/
expect 65 'no map for the model_type "no_such_family"' eval gpt2.yaml --checkpoint_path empty
sed 's/gelu_new/gelu_odd/' "$reference/gpt2/config.json" >empty/config.json
expect 65 'activation_function of the weights is gelu_odd' eval gpt2.yaml --checkpoint_path empty
sed 's/"n_layer": 2/"n_layer": 1/' "$reference/gpt2/config.json" >empty/config.json
expect 65 'for 12 weights the map has no rule' checkpoint convert empty x.mdl
sed 's/"n_layer": 2/"n_layer": 3/' "$reference/gpt2/config.json" >empty/config.json
expect 65 '12 weights of the model are missing' checkpoint convert empty x.mdl
expect 73 'is there already' checkpoint convert gpt2.mdl gpt2.safetensors
expect 64 'accepted: float32' checkpoint convert gpt2.mdl x.safetensors --dtype int8
expect 64 'no format' checkpoint convert gpt2.mdl x.xyz
expect 64 'as in 2GiB' checkpoint convert gpt2.mdl x --shard_size 5XB
expect 65 'give --config' checkpoint convert gpt2.safetensors x
[ ! -e x.mdl ] && [ ! -e x ] || fail 'something is left behind'

# The cache of Hugging Face: a folder of links to files beside it, and a link that is named itself.
mkdir -p cache/blobs cache/snapshots/one links made
for file in "$reference"/gpt2/*; do
    cp "$file" cache/blobs/
    ln -s "../../blobs/${file##*/}" cache/snapshots/one/
done
must checkpoint convert cache/snapshots/one made/one.npz
ln -s ../gpt2.safetensors links/gpt2.safetensors
must checkpoint convert links/gpt2.safetensors made/two.npz
cmp -s made/one.npz made/two.npz || fail 'links: other weights'
[ $failures -eq 0 ]
