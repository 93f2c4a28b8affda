#!/bin/sh
# The weights after a few steps are the same for 1 to 4 replicas, in every format with every preset,
# at every precision optimization level with emulated accumulation, with every payload of the
# gradient reduction and every format of weights, including stochastic rounding. And each setting
# has an effect: no two payloads or formats end with the same weights.
set -u
case ${CSE_SANITIZE:-no} in *thread*)
    echo 'bits do not depend on the sanitizer; its time does'
    exit 77
    ;;
esac
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
config=${top_srcdir:-.}/configs/synthetic.yaml
: >"$work/digests"

# same_bits LABEL SETTING...: trains with 1, 2, 3 and 4 replicas, 4 microbatches a step.
same_bits() {
    label=$1
    shift
    for setting in "$@"; do
        set -- "$@" --set "$setting"
        shift
    done
    first=
    for replicas in $counts; do
        digest=$("$csengine" start "$config" --num_steps 6 --num_csx "$replicas" --json \
            --compile_dir "$work/compiled" --model_dir "$work/$label.$replicas" \
            --set fit.val_dataloader=null "$@" 2>"$work/err" |
            sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p')
        rm -rf "$work/$label.$replicas"
        [ -n "$digest" ] ||
            { echo "FAIL: $label with $replicas replicas: $(cat "$work/err")"; failed=1; }
        [ -n "$first" ] || first=$digest
        [ "$digest" = "$first" ] ||
            { echo "FAIL: $label: $replicas replicas give $digest, the first $first"; failed=1; }
    done
    echo "$first $label" >>"$work/digests"
}

# All numbers of replicas for the payloads and formats; the ends and an odd one for the presets.
counts='1 2 3 4'
same_bits fp32
for payload in bf16 bf16sr fp16 cb16; do
    same_bits "payload-$payload" precision.weight_grad_reduce=$payload
done
for update in bf16 bf16sr bf16_kahan; do
    same_bits "update-$update" precision.weight_update=$update
done
counts='1 3 4'
# shellcheck disable=SC2086 # $scaling is one setting or two
for format in bfloat16 float16 cbfloat16; do
    # A scale at which no step is skipped, so that all of them change the weights.
    scaling='precision.loss_scaling_factor=dynamic precision.initial_loss_scale=1024'
    [ $format != bfloat16 ] || scaling=precision.loss_scaling_factor=1.0
    for preset in mp1 mp2 mp3 mp4; do
        same_bits "$format-$preset" precision.fp16_type=$format $scaling \
            precision.graphamp.preset=$preset
    done
    for level in 1 2; do
        same_bits "$format-emulated-pol-$level" precision.fp16_type=$format $scaling \
            precision.emulate_accumulation=true precision.tile_length=4 \
            precision.precision_opt_level=$level precision.graphamp.preset=mp1
    done
done
same_bits bf16sr-tiles precision.fp16_type=bfloat16 precision.emulate_accumulation=true \
    precision.tile_length=4 precision.tiling_accum=bf16sr precision.graphamp.preset=mp1
same_bits everything precision.fp16_type=bfloat16 precision.emulate_accumulation=true \
    precision.tile_length=4 precision.tiling_accum=bf16sr precision.graphamp.preset=mp4 \
    precision.weight_grad_reduce=bf16sr precision.weight_update=bf16sr

# Attention, norms and softmax, at the level that lowers them all.
config=${top_srcdir:-.}/configs/gpt2_tiny.yaml
counts='1 4'
small='model.num_layers=1 model.hidden_size=32 model.max_position_embeddings=16
    train_dataloader.sequence_length=16'
# shellcheck disable=SC2086 # settings are words
for type in 'bfloat16 precision.loss_scaling_factor=1.0' \
    'float16 precision.loss_scaling_factor=dynamic precision.initial_loss_scale=1024' \
    'cbfloat16 precision.loss_scaling_factor=dynamic precision.initial_loss_scale=1024'; do
    for level in 0 2; do
        same_bits "gpt2-${type%% *}-pol-$level" $small precision.fp16_type=$type \
            precision.precision_opt_level=$level precision.emulate_accumulation=true \
            precision.tile_length=8
    done
done

cat "$work/digests"
# A fully connected network has no softmax or norm of its own: its presets mp2 and mp3 are one, and
# so are the levels 1 and 2.
twice=$(grep -v -e '-mp3$' -e 'emulated-pol-2$' "$work/digests" | cut -d' ' -f1 | sort | uniq -d)
[ -z "$twice" ] || { echo "FAIL: two settings give the same weights: $twice"; failed=1; }
exit $failed
