#!/bin/sh
# `csengine chat`: answers to messages and to lines, by the template of a file; what is kept
# between turns changes no answer; old messages leave a context that is full, and each mistake has
# its message.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

yes 'the quick brown fox jumps over the lazy dog; ' | head -n 300 >"$work/text.txt"
cat >"$work/text.yaml" <<END
trainer:
  init:
    model_dir: $work/text
    backend: {compile_dir: $work/compiled}
    model: {name: gpt2, hidden_size: 32, num_layers: 2, num_heads: 2, vocab_size: 256,
      max_position_embeddings: 128, dropout: 0.0}
    optimizer:
      AdamW: {lr: 0.005}
    loop: {num_steps: 200}
  fit:
    train_dataloader: {data_processor: text_bytes, path: $work/text.txt, sequence_length: 64,
      batch_size: 8, shuffle: true}
END
"$csengine" start "$work/text.yaml" --quiet --no_dashboard >"$work/out" 2>&1 ||
    fail "training: $(cat "$work/out")"
printf '%s' '{% for m in messages %}{{ m.content }}{% endfor %}' \
    >"$work/plain.jinja"
printf '%s' '{{ messages[-1].content }}' >"$work/last.jinja"
printf '%s' '{{ raise_exception("no chat today") }}' >"$work/refuses.jinja"
chat() {
    "$csengine" chat "$work/text.yaml" --greedy --max_new_tokens 10 --chat_template \
        "$work/plain.jinja" "$@"
}

[ "$(chat --message 'the quick b' 2>"$work/err")" = 'rown fox j' ] ||
    fail "an answer: $(cat "$work/err")"
[ "$(printf 'the quick b\n\nover the l\n' | chat | head -n 1)" = 'rown fox j' ] || fail 'by lines'
[ "$(chat --message 'the quick b' --stop 'fox')" = 'rown ' ] || fail 'a stop word'
# The checkpoint says what model it is of.
checkpoint=$(ls "$work"/text/checkpoint_*.mdl)
[ "$("$csengine" chat "$checkpoint" --greedy --max_new_tokens 10 --chat_template \
    "$work/plain.jinja" --message 'the quick b' 2>"$work/err")" = 'rown fox j' ] ||
    fail "a checkpoint: $(cat "$work/err")"

# ---- what is kept ----

lines='the quick brown fox\numps over\n/reset\nthe lazy d\n'
printf "$lines" | chat --json >"$work/kept" || fail 'by lines, with --json'
printf "$lines" | chat --json --no_reuse >"$work/again"
printf "$lines" | chat --json >"$work/twice"
cmp -s "$work/kept" "$work/twice" || fail 'a conversation depends on more than itself'
chat --json --message 'the lazy d' >"$work/anew"
python3 - "$work" <<'CHECK' || fail "$(cat "$work/kept" "$work/again")"
import json, sys
kept, again, anew = ([json.loads(line) for line in open(f"{sys.argv[1]}/{name}")]
                     for name in ("kept", "again", "anew"))
assert [one["message"] for one in kept] == [one["message"] for one in again]
assert [one["reused_tokens"] for one in again] == [0, 0, 0], again
assert kept[0]["reused_tokens"] == 0
# All but the token that was drawn last.
assert kept[1]["reused_tokens"] == kept[0]["prompt_tokens"] + 10 - 1, kept
assert kept[1]["prompt_tokens"] == len("the quick brown fox") + 10 + len("umps over"), kept
assert kept[2]["message"] == anew[0]["message"], (kept, anew)
assert all(one["end"] == "length" and one["tokens"] == 10 for one in kept)
CHECK

# ---- a full context ----

many='the quick brown fox\njumps over the lazy dog;\nthe quick brown fox\njumps over\n'
printf "$many" | chat --context 72 --json >"$work/out" 2>"$work/err" || fail 'a full context'
grep -q 'the context of 72 tokens is full: the [0-9]* oldest messages are left out' "$work/err" ||
    fail "what leaves is told: $(cat "$work/err")"
[ "$(grep -c '"tokens":10' "$work/out")" -eq 4 ] || fail "four answers: $(cat "$work/out")"

# ---- mistakes ----

refused() { # exit code, part of the message, arguments...
    code=$1 part=$2
    shift 2
    "$csengine" "$@" >"$work/out" 2>"$work/err" </dev/null
    got=$?
    [ $got -eq "$code" ] && grep -q -e "$part" "$work/err" ||
        fail "$*: exit code $got, $(cat "$work/err")"
}
printf "$many" | chat --context 72 --context_full stop >"$work/out" 2>"$work/err"
[ $? -eq 65 ] && grep -q 'begin a new one' "$work/err" || fail "stop: $(cat "$work/err")"
printf '/what\n' | chat 2>"$work/err"
grep -q '/what is no command; accepted: /reset' "$work/err" || fail "$(cat "$work/err")"
refused 66 'no template of chats' chat "$work/text.yaml" --message x
refused 65 'no chat today' chat "$work/text.yaml" --message x --chat_template "$work/refuses.jinja"
refused 64 'the model takes 128' chat "$work/text.yaml" --message x --context 4096 \
    --chat_template "$work/last.jinja"
refused 64 'context_full' chat "$work/text.yaml" --message x --context_full forget
refused 64 'checkpoint_path' chat "$checkpoint" --message x --checkpoint_path "$checkpoint"
refused 65 'no UTF-8' chat "$work/text.yaml" --message "$(printf 'a\377')" --chat_template \
    "$work/last.jinja"
exit $failed
