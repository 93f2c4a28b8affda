#!/bin/sh
# `deterministic: portable` gives one digest of the weights with every instruction set and any
# number of replicas; the artefact and the checkpoint hold the kernels, and going on with others is
# told. (On a processor without AVX-512 the levels beyond it make the same run again.)
set -eu
if ! grep -qw avx2 /proc/cpuinfo || ! grep -qw f16c /proc/cpuinfo; then
    echo "skipped: portable runs need AVX2"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

train() { # ISA|native, options: trains in a new folder, or in $model_dir; prints to $folder/output
    isa=$1
    shift
    [ "$isa" = native ] && unset CSE_ISA || export CSE_ISA="$isa"
    CSE_DASHBOARD=0 "$CSENGINE_EXECUTABLE" start "$@" --set loop.num_epochs=null \
        --set fit.val_dataloader=null --set checkpoint.steps=null --set loop.eval_frequency=null \
        --model_dir "$model_dir" >"$folder/output" 2>&1 || { cat "$folder/output"; exit 1; }
    unset CSE_ISA
}

digest() { # ISA|native, options: the weights' digest of a fresh run
    model_dir=$(mktemp -d "$folder/run_XXXXXX")
    train "$@"
    sed -n 's/^Weights digest: //p' "$folder/output"
}

same() { # options: one digest with every instruction set
    first=$(digest avx2 "$@" --set deterministic=portable --num_csx 1)
    [ -n "$first" ] || { echo "FAIL: $*: no digest"; cat "$folder/output"; exit 1; }
    for isa in avx512 avx512_bf16 native; do
        other=$(digest $isa "$@" --set deterministic=portable --num_csx 2)
        [ "$first" = "$other" ] || { echo "FAIL: $*: $first with avx2, $other with $isa"; exit 1; }
    done
}

configs=$top_srcdir/configs
bfloat16='--set precision.fp16_type=bfloat16 --set precision.graphamp.preset=mp2'
same "$configs/fc_mnist.yaml" --num_steps 6
same "$configs/gpt2_tiny.yaml" --num_steps 3
same "$configs/gpt2_tiny.yaml" --num_steps 3 $bfloat16
same "$configs/cnn_fashion_mnist.yaml" --num_steps 2
same "$configs/cnn_fashion_mnist.yaml" --num_steps 2 $bfloat16

# The record, and a run that goes on with other kernels.
going_on() { # the setting: trains with avx2, then goes on with what is here
    model_dir=$folder/going_on_$1
    train avx2 "$configs/gpt2_tiny.yaml" --num_steps 2 --set deterministic="$1"
    grep -q "$1 on avx2; matmul: avx2 (chain)" "$model_dir"/compiled/*/kernels.txt
    "$CSENGINE_EXECUTABLE" checkpoint info "$model_dir/checkpoint_2.mdl" >"$folder/info"
    grep -q "^kernels: *$1 on avx2; matmul: avx2 (chain)" "$folder/info"
    "$CSENGINE_EXECUTABLE" checkpoint info --json "$model_dir/checkpoint_2.mdl" >"$folder/info"
    grep -q "\"kernels\": *\"$1 on avx2; matmul: avx2 (chain)" "$folder/info"
    train avx2 "$configs/gpt2_tiny.yaml" --num_steps 2 --set deterministic="$1"
    ! grep 'was trained with other kernels' "$folder/output" || exit 1
    train native "$configs/gpt2_tiny.yaml" --num_steps 2 --set deterministic="$1"
}
going_on portable
! grep 'was trained with other kernels' "$folder/output" || exit 1
going_on machine
if grep -qw avx512dq /proc/cpuinfo; then
    grep -qE 'trained with other kernels.*There: machine on avx2.*Here: machine on (avx512|amx)' \
        "$folder/output" || { cat "$folder/output"; exit 1; }
fi

# What cannot be.
status=0
CSE_ISA=sse "$CSENGINE_EXECUTABLE" compile "$configs/synthetic.yaml" --model_dir "$folder/wrong" \
    >"$folder/output" 2>&1 || status=$?
[ "$status" -eq 78 ] && grep -q "CSE_ISA: 'sse' is no instruction set" "$folder/output" ||
    { cat "$folder/output"; exit 1; }
status=0
CSE_ISA=baseline "$CSENGINE_EXECUTABLE" compile "$configs/synthetic.yaml" \
    --set deterministic=portable --model_dir "$folder/wrong" >"$folder/output" 2>&1 || status=$?
[ "$status" -eq 69 ] && grep -q 'portable needs a processor with AVX2' "$folder/output" ||
    { cat "$folder/output"; exit 1; }

# Plain C is told, once.
model_dir=$folder/plain
train baseline "$configs/gpt2_tiny.yaml" --num_steps 1 $bfloat16 --num_csx 1
[ "$(grep -c 'runs in plain C' "$folder/output")" -ge 1 ] || { cat "$folder/output"; exit 1; }
echo "one digest of each configuration with every instruction set"
