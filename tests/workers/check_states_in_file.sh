#!/bin/sh
# States in a file that is larger than the memory for it: the digests of runs in memory, for any
# number of processes, formats and optimizers; never more of it in memory than was said; a killed
# process loses nothing; what cannot work is refused before the start.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
config=$top_srcdir/configs/gpt2_tiny.yaml
export CSE_DASHBOARD=0

start() { # options
    "$CSENGINE_EXECUTABLE" start "$config" --num_steps 2 --compile_dir "$folder/compiled" \
        --set checkpoint.steps=null --set model.num_layers=2 --set model.hidden_size=64 "$@"
}
in_file="--set states.keep_in=file --set states.directory=$folder --set states.memory"

digest() { # options
    start "$@" --model_dir "$(mktemp -d "$folder/run_XXXXXX")" >"$folder/output" 2>&1 ||
        { cat "$folder/output" >&2; exit 1; }
    sed -n 's/^Weights digest: //p' "$folder/output"
}

same() { # memory of one process, options
    memory=$1
    shift
    expected=$(digest --num_csx 1 "$@")
    # shellcheck disable=SC2086 # options
    one=$(digest --num_csx 1 $in_file="$memory" --set states.schedule=microbatches "$@")
    # shellcheck disable=SC2086
    layers=$(digest --num_csx 1 $in_file="$memory" --set states.schedule=layers "$@")
    # shellcheck disable=SC2086
    several=$(digest --num_csx 2 --max_wgt_servers 1 $in_file=16MiB "$@")
    [ -n "$expected" ] && [ "$one" = "$expected" ] && [ "$layers" = "$expected" ] &&
        [ "$several" = "$expected" ] ||
        { echo "FAIL: '$expected' in memory, '$one', '$layers', '$several' in a file: $*"; exit 1; }
    grep -q 'go through a layer together' "$folder/output" ||
        { echo 'FAIL: with room for it, not by layers'; exit 1; }
}
same 4MiB
same 4MiB --set precision.fp16_type=bfloat16 --set precision.graphamp.preset=mp2 \
    --set precision.max_gradient_norm=null
same 4MiB --set precision.weight_grad_reduce=bf16 --set fit.train_dataloader.micro_batch_size=1 \
    --set 'optimizer={SGD: {momentum: 0.9}}'
same 4MiB --set 'optimizer={AdamW: {moments: int8_blocks, params: [{params: ["*.bias"],
    moments: bfloat16}]}}'

# Of a file of several times the memory, at most that much is in memory, from the first look on.
bounded() { # memory, its bytes, options
    memory=$1 bytes=$2
    shift 2
    # shellcheck disable=SC2086
    set -- $in_file="$memory" "$@" --model_dir "$(mktemp -d "$folder/run_XXXXXX")"
    python3 "$top_srcdir/tests/workers/resident_bytes.py" "$folder" "$CSENGINE_EXECUTABLE" start \
        "$config" --num_steps 3 --compile_dir "$folder/compiled" --set checkpoint.steps=2 "$@" \
        >"$folder/output" 2>&1 || { cat "$folder/output"; exit 1; }
    tail -n 1 "$folder/output" >"$folder/seen"
    read -r most size looks <"$folder/seen"
    [ "$most" -le "$bytes" ] && [ "$size" -gt $((3 * bytes)) ] && [ "$looks" -gt 20 ] ||
        { echo "FAIL: $most of $size bytes in memory with $memory, in $looks looks"; exit 1; }
    echo "$most of $size bytes in memory at most, where $bytes are allowed, in $looks looks"
}
bounded 5MiB 5242880 --num_csx 1 --set states.schedule=microbatches
bounded 5MiB 5242880 --num_csx 1 --set states.schedule=layers

refused() { # exit code, part of the message, options
    wanted=$1 part=$2 status=0
    shift 2
    start "$@" --model_dir "$folder/refused" >"$folder/output" 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] && grep -q "$part" "$folder/output" ||
        { echo "FAIL: $*: exit code $status, without '$part'"; cat "$folder/output"; exit 1; }
}
refused 78 'states.directory is missing' --set states.keep_in=file --set states.memory=1GiB
refused 78 'states.memory has no effect without keep_in: file' --set states.memory=1GiB
refused 78 'states.memory is "3 gigs"; accepted: a number of bytes' --set states.keep_in=file \
    --set states.directory="$folder" --set 'states.memory=3 gigs'
refused 78 'states.schedule has no effect without keep_in: file' --set states.schedule=layers
refused 78 'states.schedule.*accepted' --set states.keep_in=file --set states.schedule=any \
    --set states.directory="$folder" --set states.memory=1GiB
refused 78 'this step needs at least' --set states.keep_in=file --set states.directory="$folder" \
    --set states.memory=64KiB
refused 66 'no file can be made in' --set states.keep_in=file \
    --set states.directory="$folder/absent" --set states.memory=1GiB
refused 78 'with tensor statistics' --set states.keep_in=file --set states.directory="$folder" \
    --set states.memory=1GiB --set numerics.every=1
left=$(find "$folder" -name '.csengine*' -o -name '*states*')
[ -z "$left" ] || { echo "FAIL: left behind: $left"; exit 1; }
