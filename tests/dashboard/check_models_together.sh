#!/bin/sh
# `csengine serve --model`: several requests are answered at the same time, their texts written
# together, each as if it were alone; who is slow, leaves or asks for much holds up nobody else.
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
      max_position_embeddings: 1024, dropout: 0.0}
    optimizer:
      AdamW: {lr: 0.005}
    loop: {num_steps: 30}
  fit:
    train_dataloader: {data_processor: text_bytes, path: $work/text.txt, sequence_length: 64,
      batch_size: 8, shuffle: true}
END
"$csengine" start "$work/text.yaml" --quiet --no_dashboard >"$work/out" 2>&1 ||
    { cat "$work/out"; exit 1; }
python3 "${top_srcdir:?}/tests/dashboard/model_process_test.py" "$csengine" \
    "$work/text.yaml" || exit 1
# A client that does not read is let go after twice --client_seconds; here one may take as long as
# a slow build needs for the others' texts.
"$csengine" serve --root "$work/queue" --model "$work/text.yaml=quick" --model_together 4 \
    --model_queue 3 --client_seconds 120 >"$work/served" 2>"$work/err" &
server=$!
for _ in $(seq 100); do
    [ -s "$work/served" ] && break
    sleep 0.1
done
python3 "$top_srcdir/tests/dashboard/models_together_test.py" "$work" "$server" ||
    { cat "$work/err"; exit 1; }
# It ends though texts are under way, and nothing stays behind.
kill "$server"
for _ in $(seq 100); do
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
done
kill -0 "$server" 2>/dev/null && { echo 'FAIL: the server does not end'; exit 1; }
server=
for _ in $(seq 50); do
    pgrep -f "serve-model $work" >/dev/null || break
    sleep 0.1
done
! pgrep -f "serve-model $work" || { echo 'FAIL: a process of a model stays'; exit 1; }
"$csengine" serve --root "$work/other" --model_together 3 >"$work/out" 2>&1 &&
    { echo 'FAIL: --model_together without a model'; exit 1; }
grep -q 'are of --model' "$work/out" || { cat "$work/out"; exit 1; }
exit 0
