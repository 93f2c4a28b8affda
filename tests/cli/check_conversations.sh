#!/bin/sh
# Conversations from files to a trained model: what data conversations shows; weights that are the
# same for any number of replicas, and when the run is stopped and goes on; what is told and refused
# before a run starts; with packing and noise on embeddings.
set -eu
engine=$CSENGINE_EXECUTABLE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "check_conversations.sh: $*" >&2; exit 1; }
CSE_DASHBOARD=0
export CSE_DASHBOARD
cd "$work"

awk 'BEGIN {
    for (i = 0; i < 300; i++)
        print "user asks assistant: what is " i " and " i * 3 % 10 "? It is " i + i * 3 % 10 ".<e>"
}' >texts.txt
mkdir model
"$engine" data tokenize texts.txt --train_tokenizer 300 --sequence_length 32 --end_of_text none \
    --to tokens >/dev/null
cp tokens/tokenizer.json model/
cat >model/chat_template.jinja <<'END'
{%- for m in messages %}
    {{- m.role + ': ' + m.content + '<|endoftext|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}
END
awk 'BEGIN {
    for (i = 0; i < 60; i++) {
        printf "{\"messages\": ["
        for (k = 0; k <= i % 3; k++)
            printf "%s{\"role\": \"user\", \"content\": \"what is %d and %d?\"}, " \
                "{\"role\": \"assistant\", \"content\": \"It is %d.\"}", k ? ", " : "", i, k, i + k
        print "]}"
    }
}' >train.jsonl

# What is shown: the answers and the tokens that end them, and nothing else.
shown=$("$engine" data conversations train.jsonl --tokenizer model --first 2)
printf '%s\n' "$shown" | sed -n 's/^\* .* //p' | tr -d '\n' >counted
grep -q '<|endoftext|>$' counted || fail "the end does not count: $(cat counted)"
[ "$(printf '%s\n' "$shown" | grep -c '^\*.*<|endoftext|>')" = 3 ] ||
    fail "not three answers: $shown"
printf '%s\n' "$shown" | grep '^\*' | grep -q 'what' && fail "a question counts: $shown"
"$engine" data conversations train.jsonl --tokenizer model --loss_on all --json |
    grep -q '"conversation_count": *60' || fail 'no JSON'
"$engine" data conversations train.jsonl 2>err && fail 'no tokenizer is needed'
grep -q -e '--tokenizer is missing' err || fail "$(cat err)"

cat >config.yaml <<'END'
trainer:
  init:
    model_dir: run
    model: {name: llama, hidden_size: 16, num_hidden_layers: 1, num_heads: 2, filter_size: 24,
      vocab_size: 300, max_position_embeddings: 128, neftune_noise_alpha: 5}
    optimizer:
      AdamW: {lr: 0.01}
    loop: {num_steps: 8}
    seed: 1
  fit:
    train_dataloader: {data_processor: conversations, path: train.jsonl, tokenizer: model,
      sequence_length: 128, packing: true, batch_size: 4, micro_batch_size: 1, shuffle: true}
END
train() { # folder, replicas, steps, further...
    folder=$1 replicas=$2 steps=$3
    shift 3
    timeout 100 "$engine" start config.yaml --model_dir "$folder" --compile_dir compiled \
        --num_csx "$replicas" --num_steps "$steps" "$@" >out 2>err || fail "$folder: $(cat err)"
    sed -n 's/^Weights digest: //p' out
}
one=$(train one 1 8)
[ -n "$one" ] || fail "no digest: $(cat out)"
[ "$(train two 2 8)" = "$one" ] || fail 'two replicas have other weights'
[ "$(train cut 2 3)" != "$one" ] || fail 'three steps are eight'
[ "$(train cut 1 5)" = "$one" ] || fail 'a run that goes on has other weights'
alpha=trainer.init.model.neftune_noise_alpha
[ "$(train quiet 1 8 --set $alpha=0)" != "$one" ] || fail 'noise changes nothing'
[ "$(train again 1 8 --set $alpha=5.0)" = "$one" ] || fail 'noise is not the same again'

# Told and refused.
data=trainer.fit.train_dataloader
train long 1 1 --set $data.sequence_length=64 --set $data.without_answer=leave_out >/dev/null
grep -q 'conversations have more than 64 tokens and are cut' err || fail "not told: $(cat err)"
refuses() { # exit code, pattern, options...
    code=$1 pattern=$2 got=0
    shift 2
    "$engine" start config.yaml --model_dir refused --compile_dir compiled "$@" >out 2>err || got=$?
    [ "$got" = "$code" ] || fail "$*: exit code $got, expected $code: $(cat err)"
    grep -q -e "$pattern" err || fail "$*: '$pattern' is not in: $(cat err)"
    grep -q 'Step=' out && fail "$*: a step was trained"
    :
}
cp train.jsonl more.jsonl
echo '{"messages": [{"role": "user", "content": "a"}]}' >>more.jsonl
refuses 65 '1 of 61 conversations have no answer that the loss counts, the first: .*line 61' \
    --set $data.path=more.jsonl
refuses 65 'conversations have more than 40 tokens, the first: ' \
    --set $data.sequence_length=40 --set $data.too_long=refuse
echo '{% for m in messages %}
{{ m.role | nothing }}' >wrong.jinja
refuses 65 'wrong.jinja:2:13: the filter "nothing" is not known' \
    --set $data.chat_template=wrong.jinja
refuses 78 'date is "yesterday": accepted is a day such as 2026-01-31' --set $data.date=yesterday
