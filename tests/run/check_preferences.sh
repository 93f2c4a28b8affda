#!/bin/sh
# Preference training in whole runs: the weights are the same with 1, 2 and 5 replicas and after a
# stop, the loss is the same however a batch is cut; a reference is a copy of the starting weights,
# or the model without its adapter, and checkpoints hold the one and not the other; samples of no
# use are counted before the first step.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tokenizer=$work/tokenizer.json
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

# Words w0 to w29 behind an unknown one and the end.
awk 'BEGIN {
    printf "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"<unk>\", \"vocab\": {"
    printf "\"<unk>\": 0, \"</s>\": 1"
    for (w = 0; w < 30; w++) printf ", \"w%d\": %d", w, w + 2
    printf "}}, \"added_tokens\": [{\"id\": 1, \"content\": \"</s>\", \"special\": true}], "
    print "\"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}}"
}' >"$work/tokenizer.json"
awk -v folder="$work" 'function words(count,    i, text) {
    for (i = 0; i < count; i++) {
        seed = (seed * 1103 + 12345) % 65536
        text = text (i > 0 ? " " : "") "w" seed % 30
    }
    return text
}
BEGIN {
    for (line = 0; line < 48; line++) {
        prompt = words(2 + line % 3)
        one = words(1 + line % 7)
        printf "{\"prompt\": \"%s\", \"chosen\": \" %s\", \"rejected\": \" %s w0\"}\n", prompt, \
            one, words(2 + line % 5) >(folder "/pairs.jsonl")
        printf "{\"prompt\": \"%s\", \"completion\": \" %s\", \"label\": %s}\n", prompt, one, \
            line % 3 ? "true" : "false" >(folder "/labelled.jsonl")
    }
}'

# train FOLDER OBJECTIVE DATA MICRO_BATCH_SIZE REPLICAS MAX_STEPS [SETTING...]: prints the digest
# of the weights.
train() {
    folder=$1 data="data_processor: preferences, tokenizer: $tokenizer"
    cat >"$work/$1.yaml" <<END
trainer:
  init:
    model:
      name: llama
      hidden_size: 16
      num_hidden_layers: 1
      num_heads: 2
      filter_size: 24
      vocab_size: 32
      max_position_embeddings: 16
    objective: {$2}
    model_dir: $work/$1
    seed: 3
    backend: {compile_dir: $work/compiled}
    optimizer: {AdamW: {learning_rate: 0.01}}
    loggers: [CSVLogger]
  fit:
    train_dataloader: {$data, $3, max_sequence_length: 16, batch_size: 8, micro_batch_size: $4}
END
    replicas=$5 steps=$6
    shift 6
    timeout 100 "$csengine" start "$work/$folder.yaml" --no_dashboard --json \
        --num_csx "$replicas" --max_steps "$steps" "$@" 2>"$work/errors" |
        sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p'
}

last_loss() { awk -F, '$3 == "loss" { loss = $4 } END { print loss }' "$work/$1/metrics.csv"; }

near() { # run, run
    awk -v a="$(last_loss "$1")" -v b="$(last_loss "$2")" 'BEGIN {
        exit !(a != "" && b != "" && a - b < 1e-5 && b - a < 1e-5)
    }' || fail "the loss of $1 is $(last_loss "$1"), that of $2 $(last_loss "$2")"
}

pairs="path: $work/pairs.jsonl"
labelled="path: $work/labelled.jsonl, kind: unpaired"
dpo='dpo: {beta: 0.5, rpo_alpha: 1}'
one=$(train one "$dpo" "$pairs" 1 1 4)
[ -n "$one" ] || fail "no digest: $(cat "$work/errors")"
for replicas in 2 5; do
    many=$(train "many$replicas" "$dpo" "$pairs" 1 $replicas 4)
    [ "$one" = "$many" ] || fail "dpo, 1 replica: $one, $replicas: $many"
done
train halves "$dpo" "$pairs" 1 2 2 >"$work/half"
halves=$(train halves "$dpo" "$pairs" 1 1 4)
[ "$one" = "$halves" ] || fail "at once: $one, with a stop: $halves"
for micro in 2 8; do
    train "cut$micro" "$dpo" "$pairs" "$micro" 1 4 >"$work/cut"
    near one "cut$micro"
done
for series in rewards/chosen rewards/rejected rewards/accuracies rewards/margins logps/chosen; do
    grep -q ",$series," "$work/one/metrics.csv" || fail "there is no series $series"
done

kto='kto: {beta: 0.5, kl_samples: 2}'
two=$(train two "$kto" "$labelled" 2 1 4)
same=$(train same "$kto" "$labelled" 2 5 4)
[ -n "$two" ] && [ "$two" = "$same" ] || fail "kto, 1 replica: $two, 5: $same"
for micro in 4 8; do
    train "kto$micro" "$kto" "$labelled" "$micro" 1 4 >"$work/cut"
    near two "kto$micro"
done

# The reference is what the run began with, and a run that goes on has it from the checkpoint.
states() { "$csengine" checkpoint info "$1" | grep -c " *$2" || :; }
first() { "$csengine" checkpoint digest "$1" --prefix reference.; }
[ "$(states "$work/one/checkpoint_4.mdl" reference.)" -gt 0 ] || fail 'dpo saves no reference'
[ "$(first "$work/halves/checkpoint_2.mdl")" = "$(first "$work/halves/checkpoint_4.mdl")" ] ||
    fail 'the reference has changed'
adapter='adapters={default: {r: 2}}'
plain=$(train adapted "$dpo" "$pairs" 4 1 2 --set "$adapter")
twice=$(train twice "$dpo" "$pairs" 4 2 2 --set "$adapter")
[ -n "$plain" ] && [ "$plain" = "$twice" ] || fail "adapter, 1 replica: $plain, 2: $twice"
[ "$(states "$work/adapted/checkpoint_2.mdl" reference.)" = 0 ] ||
    fail 'an adapter needs no copy of the weights'
train saved "$dpo" "$pairs" 4 1 2 --set 'adapters={default: {r: 2, bias: all}}' >"$work/cut"
[ "$(states "$work/saved/checkpoint_2.mdl" reference.)" -gt 0 ] ||
    fail 'a model that is trained besides its adapter needs a copy'

# Factors of an earlier run are a part of what a run begins with.
got=$(train again "$dpo" "$pairs" 4 1 2 --set "$adapter" --weights "$work/adapted/checkpoint_2.mdl")
[ -z "$got" ] && grep -q 'begins with factors that are not 0' "$work/errors" ||
    fail "factors: $(cat "$work/errors")"

# refused DATA TEXT
refused() {
    got=$(train wrong 'dpo: {}' "$1" 8 1 1)
    [ -z "$got" ] && grep -qF "$2" "$work/errors" || fail "$2: $(cat "$work/errors")"
}
{
    cat "$work/pairs.jsonl"
    echo '{"prompt": "w1", "chosen": " w2", "rejected": " w2"}'
    echo '{"prompt": "w1", "chosen": "", "rejected": " w2"}'
    echo '{"prompt": "w1", "rejected": " w2"}'
    echo '{"prompt": "w1", "chosen": " w2", "rejected": " w2"'
} >"$work/faults.jsonl"
refused "path: $work/faults.jsonl" "4 of 52 samples are of no use: 1 lines that cannot be read, \
1 without a text that is asked for, 1 with an empty completion, 1 whose chosen and rejected texts \
are the same; the first: $work/faults.jsonl: line 49: "
refused "path: $work/faults.jsonl" 'on_bad_record: skip leaves them out'
got=$(train skipping 'dpo: {}' "path: $work/faults.jsonl, on_bad_record: skip" 8 1 6)
[ -n "$got" ] && grep -q '4 of 52 samples are of no use and are left out' "$work/errors" ||
    fail "skip: $(cat "$work/errors")"
refused "$labelled" 'objective dpo compares pairs'

# Conversations become the same tokens as texts that hold what the template writes.
mkdir "$work/folder"
cp "$work/tokenizer.json" "$work/folder"
cat >"$work/folder/tokenizer_config.json" <<'END'
{"model_max_length": 1000000000000000019884624838656, "eos_token": {"content": "</s>"}}
END
cat >"$work/folder/chat_template.jinja" <<'END'
{% for m in messages %}
{{ m.role }} {{ m.content }} {{ eos_token }}
{% endfor %}
{% if add_generation_prompt %}w5{% endif %}
END
sed -E 's/"(prompt|chosen|rejected)": " ?([^"]*)"/"\1": [{"role": "w5", "content": "\2"}]/g
    s/"prompt": \[\{"role": "w5"/"prompt": [{"role": "w4"/' "$work/pairs.jsonl" >"$work/chats.jsonl"
sed 's/"prompt": "\([^"]*\)"/"prompt": "w4 \1 <\/s>w5"/' "$work/pairs.jsonl" >"$work/written.jsonl"
tokenizer=$work/folder
chats=$(train chats "$dpo" "path: $work/chats.jsonl" 8 1 2)
written=$(train written "$dpo" "path: $work/written.jsonl" 8 1 2)
[ -n "$chats" ] && [ "$chats" = "$written" ] ||
    fail "chats: $chats, texts: $written: $(cat "$work/errors")"
tokenizer=$work/tokenizer.json

# The same pairs as a table and as a list of JSON.
awk 'BEGIN { print "chosen,prompt,rejected" } { split($0, part, "\""); printf "%s,%s,%s\n", \
    part[8], part[4], part[12] }' "$work/pairs.jsonl" >"$work/pairs.csv"
{
    printf '['
    sed '$!s/$/,/' "$work/pairs.jsonl"
    echo ']'
} >"$work/pairs.json"
for kind in csv json; do
    other=$(train "$kind" "$dpo" "path: $work/pairs.$kind" 1 1 4)
    [ "$one" = "$other" ] || fail "$kind: $other, JSON lines: $one: $(cat "$work/errors")"
done

# A validation measures how often the chosen text has the larger reward; kto is told of labels that
# are all the same.
data="data_processor: preferences, $pairs, tokenizer: $tokenizer, batch_size: 8"
data="{$data, max_sequence_length: 16}"
timeout 100 "$csengine" validate "$work/one.yaml" --set "trainer.fit.val_dataloader=$data" \
    >"$work/validated" 2>&1
last=$(awk '/accuracy/ { print $NF }' "$work/validated")
awk -v a="${last:-0}" 'BEGIN { exit !(a > 0.5 && a <= 1) }' ||
    fail "the accuracy of rewards is $last: $(cat "$work/validated")"
sed 's/false/true/' "$work/labelled.jsonl" >"$work/good.jsonl"
echo '{"prompt": "w1", "completion": "", "label": true}' >>"$work/good.jsonl"
train good "$kto" "path: $work/good.jsonl, kind: unpaired, on_bad_record: skip" 8 1 1 >"$work/cut"
grep -q 'all 48 completions are desirable' "$work/errors" || fail "good: $(cat "$work/errors")"

# A teacher is read at each start, and is in no checkpoint.
sed "s|objective: .*|objective: {distillation: {teacher: $work/one/checkpoint_4.mdl}}|
s|model_dir: .*|model_dir: $work/student|
s|data_processor: preferences|data_processor: jsonl, text: chosen, end_of_text: </s>|
s|max_sequence_length|sequence_length|" "$work/one.yaml" >"$work/student.yaml"
taught() { # MAX_STEPS
    timeout 100 "$csengine" start "$work/student.yaml" --no_dashboard --json --max_steps "$1" \
        2>"$work/errors" | sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p'
}
taught 2 >"$work/half"
halves=$(taught 4)
rm -r "$work/student"
whole=$(taught 4)
[ -n "$whole" ] && [ "$whole" = "$halves" ] ||
    fail "distillation at once: $whole, with a stop: $halves: $(cat "$work/errors")"
[ "$(states "$work/student/checkpoint_4.mdl" teacher.)" = 0 ] || fail 'a teacher was saved'
exit $failed
