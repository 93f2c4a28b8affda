#!/bin/sh
# Equal layers share their code: a model of five layers has the same functions as one of four, and
# only calls them more often.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
config=${top_srcdir:-.}/configs/gpt2_tiny.yaml

for layers in 4 5; do
    "$csengine" compile "$config" --model_dir "$work/$layers" --print_c \
        --set model.num_layers=$layers --set model.hidden_size=32 \
        --set model.max_position_embeddings=16 --set train_dataloader.sequence_length=16 \
        >"$work/$layers.c" 2>"$work/err" || { cat "$work/err"; exit 1; }
    grep -c '^static void shared_' "$work/$layers.c" >"$work/$layers.shared"
    grep -c '^static const int64_t places_' "$work/$layers.c" >"$work/$layers.calls"
done
echo "$(cat "$work/4.shared") functions, $(cat "$work/4.calls") and $(cat "$work/5.calls") calls"
[ "$(cat "$work/4.shared")" -gt 10 ] || { echo "FAIL: hardly anything is shared"; exit 1; }
[ "$(cat "$work/4.shared")" = "$(cat "$work/5.shared")" ] ||
    { echo "FAIL: with another layer $(cat "$work/5.shared") functions"; exit 1; }
[ "$(cat "$work/5.calls")" -gt "$(cat "$work/4.calls")" ] || { echo 'FAIL: no more calls'; exit 1; }
