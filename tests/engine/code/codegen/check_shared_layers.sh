#!/bin/sh
# Equal layers share their code: a model of more layers has the same functions and calls them more
# often. So the C of 48 layers is hardly longer than that of 6, with dropout and with tensor
# statistics too; and the plan, which is all that is saved for each layer, grows in proportion.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
config=${top_srcdir:-.}/configs/gpt2_tiny.yaml

# NAME LAYERS SETTING...: the C of a model, without the compiler's part.
c_of() {
    made=$1 layers=$2
    shift 2
    env -u CSE_CC PATH=/nonexistent "$csengine" compile "$config" --model_dir "$work/$made" \
        --print_c \
        --set model.num_layers="$layers" --set model.hidden_size=32 \
        --set model.max_position_embeddings=16 --set train_dataloader.sequence_length=16 "$@" \
        >"$work/$made.c" 2>"$work/err" || { cat "$work/err"; exit 1; }
    grep -c '^static void .*places' "$work/$made.c" >"$work/$made.functions"
}

# NAME SETTING...: compares 6 and 48 layers.
compare() {
    name=$1
    shift
    c_of "$name-6" 6 "$@"
    c_of "$name-48" 48 "$@"
    few=$(cat "$work/$name-6.functions") many=$(cat "$work/$name-48.functions")
    few_bytes=$(wc -c <"$work/$name-6.c") many_bytes=$(wc -c <"$work/$name-48.c")
    echo "$name: $few and $many functions, $few_bytes and $many_bytes bytes"
    [ "$few" -gt 10 ] || { echo 'FAIL: hardly any functions'; exit 1; }
    [ $((many_bytes * 2)) -le $((few_bytes * 3)) ] || { echo 'FAIL: the C grows'; exit 1; }
    few_plan=$(cat "$work/$name-6"/compiled/*/step.plan | wc -c)
    many_plan=$(cat "$work/$name-48"/compiled/*/step.plan | wc -c)
    [ "$many_plan" -le $((few_plan * 9)) ] ||
        { echo "FAIL: plans of $few_plan and $many_plan bytes"; exit 1; }
    [ "$many" -le $((few + few / 4)) ] || { echo 'FAIL: layers do not share'; exit 1; }
}
compare plain
compare dropout --set model.dropout=0.1
compare statistics --set numerics.every=2 --set numerics.tensors='["model.*"]'
compare narrow --set precision.fp16_type=bfloat16 --set precision.graphamp.preset=mp2
