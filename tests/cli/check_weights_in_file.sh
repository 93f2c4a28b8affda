#!/bin/sh
# Inference with states in a file (states.keep_in: file): texts and predictions are those of a model
# in memory, in float32 and bfloat16, of a checkpoint and of a folder of another program; weights of
# 16 bits take half the bytes; no more
# memory is taken than was given; training begins with a folder's weights in the same way; what
# cannot be is refused by name.
set -u
csengine=$(realpath "${CSENGINE_EXECUTABLE:?}")
config=$(realpath "${top_srcdir:-.}")/configs/gpt2_tiny.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

# 26 MB of weights, of which 2 are read at once.
size='--set model.num_layers=8 --set model.hidden_size=256 --set model.num_heads=4'
bfloat16='--set precision.enabled=true --set precision.fp16_type=bfloat16'
in_file="--set states.keep_in=file --set states.directory=$work --set states.memory=6MiB"
compiled="--compile_dir $work/compiled"
# shellcheck disable=SC2086 # options
"$csengine" start "$config" --quiet --no_dashboard --model_dir "$work/run" --num_steps 2 $size \
    $compiled >"$work/out" 2>&1 || fail "training: $(cat "$work/out")"
"$csengine" checkpoint convert "$work/run/checkpoint_2.mdl" "$work/hugging_face" --to hf \
    >"$work/out" 2>&1 || fail "a folder: $(cat "$work/out")"

# says NAME COMMAND...: its output and end in $work/NAME, of the model in memory and in a file.
says() {
    name=$1
    shift
    "$csengine" "$@" $compiled >"$work/$name" 2>"$work/$name.err" ||
        fail "$name: $(cat "$work/$name.err")"
    "$csengine" "$@" $compiled $in_file >"$work/$name.in_file" 2>"$work/$name.told" ||
        fail "$name in a file: $(cat "$work/$name.told")"
    [ -s "$work/$name" ] && cmp -s "$work/$name" "$work/$name.in_file" ||
        fail "$name: another result in a file"
    sed -n 's/.*weights: .*memory, \([0-9.]*\) MB are read in each pass/\1/p' "$work/$name.told" |
        awk '$1 < 15 { exit 1 } END { exit NR != 1 }' ||
        fail "$name: not most of 26 MB is read: $(cat "$work/$name.told")"
}

text='--prompt The --greedy --max_new_tokens 12 --json'
from="--checkpoint_path $work/run/checkpoint_2.mdl"
# shellcheck disable=SC2086 # options
{
    says float32 generate "$config" $size $from $text
    says bfloat16 generate "$config" $size $from $text $bfloat16
    says two_texts generate "$config" $size $from $text --prompt All
    says folder generate "$work/hugging_face" $text
    says predictions predict "$config" $size $from --samples 3 --json
}
cmp -s "$work/float32" "$work/folder" || fail 'the folder writes another text'

# ---- weights of 16 bits ----

# They are in the file as in the folder: half of the bytes, and the same texts.
llama="$(dirname "$config")/llama_bytes.yaml"
# shellcheck disable=SC2086 # options
"$csengine" start "$llama" --quiet --no_dashboard --model_dir "$work/llama" --num_steps 1 \
    --set model.hidden_size=256 --set model.filter_size=512 $compiled >"$work/out" 2>&1 ||
    fail "training of llama: $(cat "$work/out")"
megabytes() { sed -n 's/.*weights: \([0-9.]*\) MB in a file.*/\1/p' "$work/$1"; }
small_file="--set states.keep_in=file --set states.directory=$work --set states.memory=2MiB"
for type in bfloat16 float16; do
    "$csengine" checkpoint convert "$work/llama/checkpoint_1.mdl" "$work/llama_$type" --to hf \
        --dtype $type >"$work/out" 2>&1 || fail "a folder of $type: $(cat "$work/out")"
    drawn="generate $work/llama_$type --prompt The --temperature 1.5 --seed 5 --json"
    drawn="$drawn --max_new_tokens 12"
    for precision in '' "$bfloat16"; do
        # shellcheck disable=SC2086 # options
        {
            "$csengine" $drawn $precision $compiled >"$work/memory" 2>"$work/out" &&
                "$csengine" $drawn $precision $compiled $small_file >"$work/halves" \
                    2>"$work/halves.told" &&
                "$csengine" $drawn $precision $compiled $small_file \
                    --set weights_in_memory=unpacked >"$work/floats" 2>"$work/floats.told"
        } || fail "$type $precision: $(cat "$work/out" "$work/halves.told" "$work/floats.told")"
        [ -s "$work/memory" ] && cmp -s "$work/memory" "$work/halves" &&
            cmp -s "$work/memory" "$work/floats" || fail "$type $precision: another text in a file"
        echo "$(megabytes halves.told) $(megabytes floats.told)" |
            awk '!($1 > 0 && $1 < 0.6 * $2) { exit 1 }' ||
            fail "$type: $(megabytes halves.told) of $(megabytes floats.told) MB in the file"
    done
done

# ---- memory ----

# The most that a process has, in KB; pages of its file that are in memory count.
most() { # file command...
    told=$1
    shift
    "${PYTHON:-python3}" -c 'import resource, subprocess, sys
done = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(done.returncode)' "$told" "$@" || fail "$*"
}
if [ "${CSE_SANITIZE:-no}" = no ] && command -v "${PYTHON:-python3}" >/dev/null; then
    # shellcheck disable=SC2086 # options
    {
        most "$work/all" "$csengine" generate "$config" $size $from $text $compiled
        most "$work/part" "$csengine" generate "$config" $size $from $text $compiled $in_file
    }
    saved=$(($(cat "$work/all") - $(cat "$work/part")))
    [ "$saved" -gt 14000 ] || fail "only $saved KB less: $(cat "$work/part") of $(cat "$work/all")"
fi

# ---- training from a folder ----

digest() { sed -n 's/^Weights digest: //p' "$work/$1"; }
for where in memory file; do
    options=
    [ "$where" = memory ] || options="$in_file --set states.memory=12MiB"
    # shellcheck disable=SC2086 # options
    "$csengine" start "$config" --no_dashboard --model_dir "$work/from_$where" --num_steps 2 $size \
        --set checkpoint.steps=0 --weights "$work/hugging_face" $compiled $options \
        >"$work/trained_$where" 2>&1 || fail "training, $where: $(cat "$work/trained_$where")"
done
[ -n "$(digest trained_memory)" ] && [ "$(digest trained_memory)" = "$(digest trained_file)" ] ||
    fail "a folder in a file: $(digest trained_file), in memory $(digest trained_memory)"

# ---- refusals ----

# refused EXIT_CODE TEXT OPTIONS...
refused() {
    wanted=$1 told=$2
    shift 2
    status=0
    # shellcheck disable=SC2086 # options
    "$csengine" generate "$config" $size $from $text $compiled "$@" >"$work/out" 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] && grep -q "$told" "$work/out" ||
        fail "$*: exit code $status: $(cat "$work/out")"
}
refused 78 'states.memory is 65536 bytes, and module model' --set states.keep_in=file \
    --set "states.directory=$work" --set states.memory=64KiB
refused 66 'no file can be made in .*/nowhere' --set states.keep_in=file \
    --set "states.directory=$work/nowhere" --set states.memory=6MiB
mkdir "$work/small"
if mount -t tmpfs -o size=2m none "$work/small" 2>/dev/null; then
    refused 74 'are missing; give a directory with more room' --set states.keep_in=file \
        --set "states.directory=$work/small" --set states.memory=6MiB
    umount "$work/small"
fi
# ---- a disk that cannot be read any more ----

# Half of the file's bytes are taken away while texts are written.
prompts=$(for prompt in a b c d e f g h; do printf -- '--prompt %s ' $prompt; done)
# shellcheck disable=SC2086 # options
"$csengine" generate "$config" $size $from $prompts --max_new_tokens 60 --texts 20 \
    $compiled $in_file >"$work/out" 2>"$work/cut" &
process=$!
until grep -q 'are read in each pass' "$work/cut" || ! kill -0 $process 2>/dev/null; do
    sleep 0.05
done
for file in /proc/$process/fd/*; do
    case $(readlink "$file") in "$work"/*' (deleted)') truncate -s 12M "$file" ;; esac
done
status=0
wait $process || status=$?
[ "$status" -eq 74 ] && grep -q 'states.directory: .* cannot be read' "$work/cut" ||
    fail "a broken file: exit code $status: $(cat "$work/cut")"

[ -z "$(find "$work" -maxdepth 1 -name '*.states*' -o -maxdepth 1 -name '.nfs*')" ] ||
    fail 'a file of states is left'
[ "$failed" -eq 0 ] && echo 'all as in memory'
exit $failed
