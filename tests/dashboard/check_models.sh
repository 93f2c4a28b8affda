#!/bin/sh
# `csengine serve --model`: answers in OpenAI's words from a model in a process of its own; a client
# that goes, a process that is killed and a queue that is full hold up nobody else. Adapters are
# models of their own, a template is that of a file, and vectors count the tokens of their texts.
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
yes 'the quick blue whale swims; ' | head -n 300 >"$work/whale.txt"
sed -e "s|model_dir: .*|model_dir: $work/whale|" -e 's|text.txt|whale.txt|' \
    -e 's|num_steps: 200|num_steps: 60|' -e 's|lr: 0.005|lr: 0.02|' \
    -e 's|^    loop|    adapters: {whale: {r: 8, lora_alpha: 32}}\n    loop|' "$work/text.yaml" \
    >"$work/whale.yaml"
{ "$csengine" start "$work/whale.yaml" --weights "$work/text/checkpoint_200.mdl" --quiet \
    --no_dashboard &&
    "$csengine" checkpoint convert "$work/whale/checkpoint_60.mdl" "$work/whale_adapter" --to peft
} >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
printf '%s' '{% for m in messages %}{{ m.content[1:] }}{% endfor %}' >"$work/rest.jinja"
python3 "${top_srcdir:?}/tests/dashboard/vectors_folder.py" "$work/vectors" || exit 1
"$csengine" serve --root "$work/queue" --model "$work/text.yaml=quick" \
    --adapter "$work/whale_adapter=whale" --model "$work/text/checkpoint_200.mdl=rest" \
    --adapter "$work/whale_adapter/" --chat_template "$work/rest.jinja" \
    --model "$work/vectors" --model_together 1 \
    --model_queue 2 >"$work/served" 2>"$work/err" &
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
refused 'is not UTF-8: give it another, as in PATH=NAME' --root "$work/other" \
    --model "$work/text.yaml=$(printf 'a\377')"
refused 'are of --model' --root "$work/other" --model_queue 3
refused 'two models have the name law' --root "$work/other" --model "$work/text=law" \
    --adapter "$work/whale_adapter=law"
refused 'there is no --model before it' --root "$work/other" --adapter "$work/whale_adapter" \
    --model "$work/text"
refused 'there is no --model before it' --root "$work/other" --chat_template "$work/rest.jinja"
refused 'adapter_config.json' --root "$work/other" --model "$work/text" --adapter "$work/text"
refused 'has .*rest.jinja already' --root "$work/other" --model "$work/text" \
    --chat_template "$work/rest.jinja" --chat_template "$work/rest.jinja"
refused 'makes vectors of texts' --root "$work/other" --model "$work/vectors" \
    --chat_template "$work/rest.jinja"
refused '--any_base is of --adapter' --root "$work/other" --model "$work/text" --any_base
printf '{%% for m in messages %%}' >"$work/broken.jinja"
refused 'broken.jinja:1:24: the template ends without' --root "$work/other" --model "$work/text" \
    --chat_template "$work/broken.jinja"
refused '1 to 16' --root "$work/other" --model "$work/text.yaml" --model_queue 99
exit 0
