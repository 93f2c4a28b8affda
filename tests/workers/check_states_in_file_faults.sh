#!/bin/sh
# Faults of a run with states in a file: processes that are killed while they read ahead, write
# behind and update lose nothing; bytes that cannot be read end the run with a sentence that says
# so, and it goes on from its checkpoint; a disk without room is refused before
# the start, with the bytes that are missing. Skipped without python3.
set -eu
command -v python3 >/dev/null || { echo 'there is no python3: skipped'; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
config=$top_srcdir/configs/gpt2_tiny.yaml
export CSE_DASHBOARD=0

start() { # kind of fault, count, model_dir, options
    fault=$1 count=$2 model_dir=$3
    shift 3
    python3 "$top_srcdir/tests/workers/states_in_file_faults.py" "$fault" "$folder" "$count" \
        "$CSENGINE_EXECUTABLE" start "$config" --compile_dir "$folder/compiled" \
        --model_dir "$folder/$model_dir" --set model.num_layers=2 --set model.hidden_size=64 \
        "$@" >"$folder/output" 2>&1
}
fail() { echo "FAIL: $*"; cat "$folder/output"; exit 1; }
digest() { sed -n 's/^Weights digest: //p' "$folder/output"; }
in_file="--set states.keep_in=file --set states.directory=$folder --set states.memory=12MiB"

start kill 0 whole --num_csx 1 --num_steps 150 --set checkpoint.steps=20 || fail 'a run in memory'
expected=$(digest)

# shellcheck disable=SC2086 # options
start kill 6 killed --num_csx 2 --max_wgt_servers 1 --num_steps 150 $in_file ||
    fail 'a run with killed processes'
[ "$(digest)" = "$expected" ] || fail "killed processes changed the weights: not $expected"
kills=$(sed -n 's/^killed: //p' "$folder/output")
[ "$(echo "$kills" | wc -w)" -ge 3 ] || fail "too few were killed: $kills"

# By microbatches, so that the half of the file that is cut off is in use.
status=0
# shellcheck disable=SC2086
start cut 0 broken --set states.schedule=microbatches \
    --num_csx 1 --num_steps 100000 --set checkpoint.steps=20 \
    --set checkpoint.keep=2 --set schedulers=0.001 $in_file || status=$?
[ "$status" -eq 74 ] || fail "a broken file: exit code $status"
grep -q 'states.directory: .*of the file of states cannot be read' "$folder/output" ||
    fail 'a broken file is not named'
[ -n "$(find "$folder/broken" -name 'checkpoint_*.mdl')" ] || fail 'no checkpoint is there'
# shellcheck disable=SC2086
start kill 0 broken --num_csx 1 --num_steps 20 --set checkpoint.steps=null \
    --set schedulers=0.001 $in_file || fail 'the run does not go on'

# A file system of 2 MiB, where this user may mount one.
mkdir "$folder/small"
if mount -t tmpfs -o size=2m none "$folder/small" 2>/dev/null; then
    status=0
    start kill 0 full --num_csx 1 --num_steps 2 --set states.keep_in=file \
        --set states.directory="$folder/small" --set states.memory=12MiB || status=$?
    umount "$folder/small"
    [ "$status" -eq 74 ] && grep -q 'bytes, its file system has .* free, .* are missing' \
        "$folder/output" || fail "a full disk: exit code $status"
fi
echo "the same weights after killing: $kills"
