#!/bin/sh
# Runs with activation recomputation: one digest of the weights for any number of replicas, that of
# a run without it, in float32 and bfloat16; a wrong pattern, and too small a limit, are told.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
config=$top_srcdir/configs/gpt2_tiny.yaml

digest() { # options
    model_dir=$(mktemp -d "$folder/run_XXXXXX")
    CSE_DASHBOARD=0 "$CSENGINE_EXECUTABLE" start "$config" --num_steps 3 --set model.num_layers=2 \
        --set checkpoint.steps=null "$@" --model_dir "$model_dir" \
        >"$folder/output" 2>&1 || { cat "$folder/output"; exit 1; }
    sed -n 's/^Weights digest: //p' "$folder/output"
}

layers='init.recompute.scopes=[model.transformer_decoder.layers.*]'
for precision in '' \
    '--set precision.fp16_type=bfloat16 --set precision.graphamp.preset=mp2'; do
    # shellcheck disable=SC2086 # options
    one=$(digest $precision --num_csx 1 --set "$layers")
    # shellcheck disable=SC2086
    three=$(digest $precision --num_csx 3 --set "$layers")
    [ -n "$one" ] || { echo 'FAIL: no digest'; cat "$folder/output"; exit 1; }
    [ "$one" = "$three" ] || { echo "FAIL: $one and $three with '$precision'"; exit 1; }
    # This model sums nothing in a loop that recomputation changes.
    # shellcheck disable=SC2086
    kept=$(digest $precision --num_csx 1)
    [ "$kept" = "$one" ] || { echo "FAIL: $kept without, $one with '$precision'"; exit 1; }
done

workspace() { # options: bytes of a replica's workspace
    "$CSENGINE_EXECUTABLE" compile "$config" --compile_dir "$folder/compiled" \
        --print_after=memory_plan "$@" | sed -n 's/^space replica: \([0-9]*\) bytes$/\1/p'
}
without=$(workspace)
with=$(workspace --set "$layers")
[ "$with" -lt "$((without * 9 / 10))" ] ||
    { echo "FAIL: $without bytes without, $with with"; exit 1; }

refused() { # option, part of the message
    status=0
    "$CSENGINE_EXECUTABLE" compile "$config" --compile_dir "$folder/compiled" --set "$1" \
        >"$folder/output" 2>&1 || status=$?
    [ "$status" -eq 78 ] && grep -q "$2" "$folder/output" ||
        { echo "FAIL: $1: exit code $status"; cat "$folder/output"; exit 1; }
}
refused 'init.recompute.scopes=[model.blocks.*]' 'the pattern "model.blocks.\*" matches no scope'
refused 'init.recompute.memory_limit_mib=1' 'with all 4 regions recomputed'
echo "$without bytes of workspace without recomputation, $with with it"
