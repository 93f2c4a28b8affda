#!/bin/sh
# `csengine serve --model PATH --set states.keep_in=file`: several requests at a time have the
# answers of the model in memory; one that cannot read the weights says so, and the next request has
# an answer again; settings that are wrong end the server before it listens.
set -u
csengine=$(realpath "${CSENGINE_EXECUTABLE:?}")
tests=$(realpath "${top_srcdir:?}")/tests/dashboard
work=$(mktemp -d)
server=
trap 'test -z "$server" || kill "$server" 2>/dev/null; wait; rm -rf "$work"' EXIT
mkdir "$work/states"
# 26 MB of weights, of which 2 are read at once.
cat >"$work/text.yaml" <<END
trainer:
  init:
    model_dir: $work/text
    backend: {compile_dir: $work/compiled}
    model: {name: gpt2, hidden_size: 256, num_layers: 8, num_heads: 4, vocab_size: 256,
      max_position_embeddings: 256, dropout: 0.0}
    optimizer:
      AdamW: {lr: 0.005}
    loop: {num_steps: 2}
  fit:
    train_dataloader: {data_processor: text_bytes, path: $tests/check_models_in_file.sh,
      sequence_length: 64, batch_size: 2, shuffle: true}
END
"$csengine" start "$work/text.yaml" --quiet --no_dashboard >"$work/out" 2>&1 ||
    { cat "$work/out"; exit 1; }
python3 "$tests/vectors_folder.py" "$work/vectors" || exit 1
in_file() { # PATH NAME
    echo "--model $1=$2 --set states.keep_in=file --set states.directory=$work/states" \
        "--set states.memory=6MiB --set backend.compile_dir=$work/compiled"
}
# shellcheck disable=SC2046 # options
"$csengine" serve --root "$work/queue" --model_together 4 --model "$work/text.yaml=memory" \
    $(in_file "$work/text.yaml" file) --model "$work/vectors=vectors" \
    $(in_file "$work/vectors" vectors_file) >"$work/served" 2>"$work/err" &
server=$!
for _ in $(seq 100); do
    [ -s "$work/served" ] && break
    sleep 0.1
done
python3 "$tests/models_in_file_test.py" "$work" "$server" || { cat "$work/err"; exit 1; }
[ "$(grep -c 'weights: .* are read in each pass' "$work/err")" -ge 2 ] ||
    { echo 'FAIL: no model is in a file'; cat "$work/err"; exit 1; }
kill "$server"
wait "$server"
server=

refused() { # exit code, part of the message, arguments...
    wanted=$1 part=$2
    shift 2
    "$csengine" serve --root "$work/other" "$@" >"$work/out" 2>&1
    status=$?
    [ $status -eq "$wanted" ] && grep -q -e "$part" "$work/out" ||
        { echo "FAIL: $*: exit code $status: $(cat "$work/out")"; exit 1; }
}
refused 64 'there is no --model before it' --set states.keep_in=file --model "$work/text.yaml"
refused 78 'states.keep_in' --model "$work/text.yaml" --set states.keep_in=tape
refused 78 'states.memry' --model "$work/text.yaml" --set states.memry=6MiB
refused 78 'states.keep_in' --model "$work/vectors" --set states.keep_in=tape
many=$(for i in $(seq 17); do echo "--set backend.inference_threads=$i"; done)
# shellcheck disable=SC2086 # options
refused 64 'at most 16 settings' --model "$work/text.yaml" $many
exit 0
