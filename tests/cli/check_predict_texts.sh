#!/bin/sh
# `csengine predict CONFIG TEXT...`: the perplexity of a text is that of `eval --tasks`, also of one
# that is longer than the model's sequences, what follows is what `generate` would write, a file
# that holds no text is told while the others are predicted, and a configuration without a meaning
# for texts is refused.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

cd "$work" || exit 1
awk 'BEGIN { for (i = 0; i < 400; i++) printf "the cat sat. a dog ran\n" }' >book.txt
cat >run.yaml <<END
trainer:
  init:
    model_dir: run
    backend: {compile_dir: compiled}
    model: {name: gpt2, hidden_size: 16, num_layers: 1, num_heads: 2, vocab_size: 256,
      max_position_embeddings: 16, dropout: 0.0}
    optimizer:
      Adam: {lr: 0.02}
    loop: {num_steps: 60}
  fit:
    train_dataloader: {data_processor: text_bytes, path: book.txt, sequence_length: 16,
      batch_size: 8}
END
"$csengine" start run.yaml --quiet --no_dashboard >out 2>&1 || fail "training: $(cat out)"
printf 'the cat s' >short.txt
printf 'a dog ran\n' >line.txt
head -c 1000 book.txt >long.txt
printf 'x' >one.txt
: >empty.txt
printf 'a\0b' >zero.txt
printf '{"text": "the cat s"}\n' >short.jsonl
python3 -c 'import json; print(json.dumps({"text": open("long.txt").read()}))' >long.jsonl

predict() { "$csengine" predict run.yaml --quiet "$@"; }
predict short.txt line.txt long.txt one.txt zero.txt --json --top 256 >texts 2>err ||
    fail "predict: $(cat err)"
"$csengine" eval run.yaml --tasks short.jsonl --tasks long.jsonl --json >tasks 2>err ||
    fail "eval: $(cat err)"
"$csengine" generate run.yaml --prompt "the cat s" --greedy --max_new_tokens 1 --json >next 2>err ||
    fail "generate: $(cat err)"
python3 - <<'CHECK' || fail "what was predicted"
import json, math
lines = lambda name: [json.loads(line) for line in open(name)]
texts = {line["file"]: line for line in lines("texts")}
tasks = {line["file"]: line for line in lines("tasks")}
assert list(texts) == ["short.txt", "line.txt", "long.txt", "one.txt", "zero.txt"], list(texts)
for name in "short", "long":
    ours, eval_s = texts[name + ".txt"], tasks[name + ".jsonl"]
    assert ours["tokens"] == eval_s["tokens"] + 1, (ours, eval_s)
    assert ours["perplexity"] == eval_s["perplexity"], (ours["perplexity"], eval_s["perplexity"])
    assert math.isclose(ours["perplexity"], math.exp(-ours["log_likelihood"] / eval_s["tokens"]))
assert texts["line.txt"]["tokens"] == 9, "the newline at the end of a file is no part of the text"
assert texts["zero.txt"]["tokens"] == 3
assert texts["one.txt"]["tokens"] == 1 and texts["one.txt"]["perplexity"] is None
greedy = lines("next")[0]
for line in texts.values():
    following = line["next"]
    assert len(following) == 256 and abs(sum(n["probability"] for n in following) - 1) < 1e-6
    assert all(a["probability"] >= b["probability"] for a, b in zip(following, following[1:]))
best = texts["short.txt"]["next"][0]
assert best["token"] == greedy["tokens"][0] and best["text"] == greedy["text"], (best, greedy)
assert best["text"] == "a" and best["probability"] > 0.5, best
CHECK
# What follows a long text is what follows its last 16 bytes.
tail -c 16 long.txt >end.txt
predict end.txt --json --top 3 | sed 's/.*"next"//; s/"sample".*//' >of_end
predict long.txt --json --top 3 | sed 's/.*"next"//; s/"sample".*//' >of_long
[ -s of_end ] && cmp of_end of_long || fail "a long text's last tokens: $(cat of_end of_long)"
predict short.txt one.txt --top 2 >table || fail "a table"
grep -q '^SAMPLE  *PLACE  *LABEL  *PREDICTION  *TOKENS  *PERPLEXITY$' table ||
    fail "heads: $(cat table)"
grep -q '^0  *short.txt  *-  *"a" (0\.[0-9]*), ".*" (0\.[0-9]*)  *9  *[0-9.]*$' table ||
    fail "rows: $(cat table)"
grep -q '^1  *one.txt  *-  *".*  1  *-$' table || fail "a single token: $(cat table)"

# What is no text is told, and the rest is predicted.
predict empty.txt short.txt nothing.txt --json >json 2>err
[ $? -eq 65 ] || fail "exit code of bad files"
for part in 'empty.txt: holds no text' 'nothing.txt: .*No such file'; do
    grep -q "error: $part" err || fail "$part: $(cat err)"
    grep -q "\"error\":\"$part" json || fail "$part: $(cat json)"
done
grep -q '"file":"short.txt","tokens":9' json || fail "the good one: $(cat json)"

# Names of files need not be UTF-8, which JSON is.
odd=$(printf 'odd\377.txt')
cp empty.txt "$odd"
predict "$odd" short.txt --json >json 2>err
[ "$(grep -c '"file"' json)" -eq 2 ] && grep -q '"error":"odd.*holds no text' json &&
    python3 -c 'import json; [json.loads(line) for line in open("json", encoding="utf-8")]' ||
    fail "a name that is no UTF-8: $(cat json err)"

refused() { # exit code, part of the message, configuration, arguments...
    code=$1 part=$2
    shift 2
    "$csengine" predict "$@" >out 2>err </dev/null
    got=$?
    [ $got -eq "$code" ] && grep -q -e "$part" err || fail "$*: exit code $got, $(cat err)"
}
refused 66 'No such file' run.yaml nothing.txt
refused 64 'given by name' run.yaml short.txt --samples 1
refused 64 'does not go with files of text' run.yaml short.txt --output model.lm_head
refused 64 'does not go with files of text' run.yaml short.txt --format npy --file x.npy
refused 66 'nothing' run.yaml short.txt --tokenizer nothing

# An encoder sees what follows a token, and has no next one.
mkdir table_of_tokens
cat >table_of_tokens/part.csv <<END
input_ids,attention_mask,labels
"[1, 2, 3, 4]","[1, 1, 1, 1]","[-100, 2, -100, -100]"
"[4, 3, 2, 1]","[1, 1, 1, 1]","[4, -100, -100, -100]"
END
cat >bert.yaml <<END
trainer:
  init:
    model_dir: bert
    backend: {compile_dir: compiled}
    model: {name: bert, hidden_size: 16, num_hidden_layers: 1, num_heads: 2, filter_size: 32,
      vocab_size: 256, max_position_embeddings: 16, disable_nsp: true}
    optimizer:
      SGD: {lr: 0.1}
    loop: {num_steps: 1}
  fit:
    train_dataloader: {data_processor: bert_csv, data_dir: table_of_tokens, disable_nsp: true,
      batch_size: 2}
END
"$csengine" start bert.yaml --quiet --no_dashboard >out 2>&1 || fail "training of bert: $(cat out)"
refused 64 'no language model' bert.yaml short.txt
exit $failed
