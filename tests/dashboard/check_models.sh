#!/bin/sh
# `csengine serve --model`: answers in OpenAI's words from a model in a process of its own; a client
# that goes, a process that is killed and a queue that is full hold up nobody else.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
server=
trap 'test -z "$server" || kill "$server" 2>/dev/null; wait; rm -rf "$work"' EXIT
yes 'the quick brown fox jumps over the lazy dog; ' | head -n 300 >"$work/text.txt"
cat >"$work/text.yaml" <<END
trainer:
  init:
    model_dir: $work/text
    backend: {compile_dir: $work/compiled}
    model: {name: gpt2, hidden_size: 32, num_layers: 2, num_heads: 2, vocab_size: 256,
      max_position_embeddings: 2048, dropout: 0.0}
    optimizer:
      AdamW: {lr: 0.005}
    loop: {num_steps: 200}
  fit:
    train_dataloader: {data_processor: text_bytes, path: $work/text.txt, sequence_length: 64,
      batch_size: 8, shuffle: true}
END
"$csengine" start "$work/text.yaml" --quiet --no_dashboard >"$work/out" 2>&1 ||
    { cat "$work/out"; exit 1; }
mkdir -p "$work/text/side_files"
printf '%s' '{% for m in messages %}{{ m.content }}{% endfor %}' \
    >"$work/text/side_files/chat_template.jinja"
"$csengine" serve --root "$work/queue" --model "$work/text.yaml=quick" --model_queue 2 \
    >"$work/served" 2>"$work/err" &
server=$!
for _ in $(seq 100); do
    [ -s "$work/served" ] && break
    sleep 0.1
done
python3 "${top_srcdir:?}/tests/dashboard/models_test.py" "$work" "$server" || exit 1
kill "$server"
wait "$server"
server=
# Nothing stays behind, and what is not served says so.
for _ in $(seq 50); do
    pgrep -f "serve-model $work" >/dev/null || break
    sleep 0.1
done
! pgrep -f "serve-model $work" || { echo 'FAIL: a process of a model stays'; exit 1; }
refused() { # part of the message, arguments...
    part=$1
    shift
    "$csengine" serve "$@" >"$work/out" 2>&1
    [ $? -ne 0 ] && grep -q -e "$part" "$work/out" ||
        { echo "FAIL: $*: $(cat "$work/out")"; exit 1; }
}
refused 'No such file' --root "$work/other" --model "$work/nothing"
refused 'two models have the name text' --root "$work/other" --model "$work/text.yaml" \
    --model "$work/text"
refused 'its name is not UTF-8' --root "$work/other" \
    --model "$work/text.yaml=$(printf 'a\377')"
refused 'are of --model' --root "$work/other" --model_queue 3
refused '1 to 16' --root "$work/other" --model "$work/text.yaml" --model_queue 99
exit 0
