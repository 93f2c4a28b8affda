#!/bin/sh
# The shipped configurations of the models, at tiny size: two steps are trained, validated and
# saved, with the same bits for one replica and for three; the transformer by 16-bit types, too.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
source=$(cd "${top_srcdir:-.}" && pwd)/configs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CSE_DASHBOARD=0
failed=0

# The configuration NAME, with synthetic images, so that no data set needs to be installed.
config_of() {
    sed 's/data_processor: idx_images/data_processor: synthetic/; s/data_dir: .*/samples: 48/
        s/split: .*/classes: 10/; s/flatten: false/features: [1, 28, 28]/' "$source/$1.yaml" \
        >"$work/$1.yaml"
    echo "$work/$1.yaml"
}

# NAME RUN SETTING...: two steps; the digest of the weights.
digest_of() {
    name=$1 run=$2
    shift 2
    options=''
    for setting in "$@"; do options="$options --set $setting"; done
    # shellcheck disable=SC2086 # settings are words
    "$csengine" start "$work/$name.yaml" --num_steps 2 --model_dir "$work/$name-$run" \
        --compile_dir "$work/compiled" --set train_dataloader.batch_size=6 \
        --set train_dataloader.micro_batch_size=2 $options >"$work/out" 2>"$work/err" ||
        { cat "$work/out" "$work/err" >&2; echo "FAIL: $name $run" >&2; exit 1; }
    sed -n 's/^Weights digest: //p' "$work/out"
}

# NAME SETTING...: that make it small.
check() {
    name=$1
    shift
    config_of "$name" >/dev/null
    case $name in
    *fashion*) set -- "$@" val_dataloader.batch_size=4 val_dataloader.micro_batch_size=2 \
        loop.eval_steps=1 ;;
    esac
    one=$(digest_of "$name" one backend.cluster_config.num_csx=1 "$@") || exit 1
    grep -q 'Training completed successfully' "$work/out" || { echo "FAIL: $name"; failed=1; }
    three=$(digest_of "$name" three backend.cluster_config.num_csx=3 "$@") || exit 1
    narrow=other
    if [ "$name" = llama_bytes ]; then
        narrow=$(digest_of "$name" narrow backend.cluster_config.num_csx=1 \
            precision.fp16_type=bfloat16 precision.graphamp.preset=mp2 "$@") || exit 1
    fi
    echo "$name $one"
    if [ -z "$one" ] || [ "$one" != "$three" ] || [ "$one" = "$narrow" ]; then
        echo "FAIL: $name: digests $one, $three with three replicas, $narrow by bfloat16"
        failed=1
    fi
}

check llama_bytes model.hidden_size=16 model.num_hidden_layers=1 model.rotary_dim=4 \
    model.filter_size=24 model.max_position_embeddings=8 train_dataloader.sequence_length=8
check lenet_fashion_mnist
check vit_fashion_mnist model.hidden_size=16 model.num_hidden_layers=1 model.filter_size=24 \
    model.patch_size='[14,14]'
check resnet18_fashion_mnist model.width=2
check layers_fashion_mnist
exit $failed
