#!/bin/sh
# `csengine predict`, `generate` and `eval --tasks`: predictions are those that a validation counts,
# files are readable by NumPy, perplexity is that of a validation, texts are a function of prompt,
# number, seed and weights, and each mistake has its message and exit code.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

# ---- predict ----

# Class = the largest of three features; the rest is noise.
awk 'BEGIN {
    srand(4)
    print "a,b,c,d,label"
    for (r = 0; r < 300; r++) {
        best = 0
        for (i = 0; i < 4; i++) { x[i] = rand(); if (i < 3 && x[i] > x[best]) best = i }
        printf "%.3f,%.3f,%.3f,%.3f,%d\n", x[0], x[1], x[2], x[3], best
    }
}' >"$work/data.csv"
cat >"$work/classes.yaml" <<END
trainer:
  init:
    model_dir: $work/classes
    backend: {compile_dir: $work/compiled}
    model: {name: fc_mnist, input_size: 4, hidden_sizes: [16], num_classes: 3, dropout: 0.1}
    optimizer:
      Adam: {lr: 0.01}
    loop: {num_steps: 60}
  fit:
    train_dataloader: &data {data_processor: csv, path: $work/data.csv, label: label,
      batch_size: 20, shuffle: true}
    val_dataloader: *data
END
"$csengine" start "$work/classes.yaml" --quiet --no_dashboard >"$work/out" 2>&1 ||
    fail "training: $(cat "$work/out")"
"$csengine" eval "$work/classes.yaml" --quiet >"$work/evaluated" 2>&1
"$csengine" predict "$work/classes.yaml" --samples 0 --json --top 3 >"$work/predicted" \
    2>"$work/err" || fail "predict: $(cat "$work/err")"
"$csengine" predict "$work/classes.yaml" --output model.fc_layers.0 --format npy \
    --file "$work/hidden.npy" --quiet || fail "predict to a file"
"$csengine" predict "$work/classes.yaml" --format npy --file "$work/logits.npy" --quiet
"$csengine" predict "$work/classes.yaml" --first 298 --samples 2 >"$work/table" 2>/dev/null
# Up to 20 where no number is given: the data may end before.
"$csengine" predict "$work/classes.yaml" --first 297 --quiet >"$work/last"
[ "$(wc -l <"$work/last")" -eq 4 ] || fail "the last three samples: $(cat "$work/last")"
python3 - "$work" <<'CHECK' || fail "what was predicted"
import ast, csv, json, math, re, struct, sys
work = sys.argv[1]

def npy(name):
    with open(f"{work}/{name}", "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    size = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + size].decode())
    assert head["descr"] == "<f4" and not head["fortran_order"] and (10 + size) % 64 == 0
    count = math.prod(head["shape"])
    return head["shape"], struct.unpack(f"<{count}f", data[10 + size:])

labels = [int(row["label"]) for row in csv.DictReader(open(f"{work}/data.csv"))]
rows = [json.loads(line) for line in open(f"{work}/predicted")]
assert [row["sample"] for row in rows] == list(range(300))
assert [row["label"] for row in rows] == labels
shape, logits = npy("logits.npy")
assert shape == (300, 3), shape
for i, row in enumerate(rows):
    exps = [math.exp(x) for x in logits[3 * i:3 * i + 3]]
    for entry in row["classes"]:
        assert abs(entry["probability"] - exps[entry["class"]] / sum(exps)) < 1e-6, row
    assert [e["probability"] for e in row["classes"]] == sorted(
        (e["probability"] for e in row["classes"]), reverse=True)
right = sum(row["classes"][0]["class"] == label for row, label in zip(rows, labels)) / 300
counted = float(re.search(r"accuracy: ([0-9.]+)", open(f"{work}/evaluated").read()).group(1))
assert abs(right - counted) < 1e-4, (right, counted)
assert right > 0.5, right
assert f"({right:.4f})" in open(f"{work}/err").read()
shape, hidden = npy("hidden.npy")
assert shape == (300, 16) and min(hidden) == 0 and max(hidden) > 0, shape # after the relu
table = open(f"{work}/table").read().split("\n")
assert len(table) == 4 and table[1].split()[::2][:2] == ["298", str(labels[298])], table
CHECK

# ---- generate ----

yes 'the quick brown fox jumps over the lazy dog; ' | head -n 300 >"$work/text.txt"
cat >"$work/text.yaml" <<END
trainer:
  init:
    model_dir: $work/text
    backend: {compile_dir: $work/compiled}
    model: {name: gpt2, hidden_size: 32, num_layers: 2, num_heads: 2, vocab_size: 256,
      max_position_embeddings: 64, dropout: 0.0}
    optimizer:
      AdamW: {lr: 0.005}
    loop: {num_steps: 150}
  fit:
    train_dataloader: {data_processor: text_bytes, path: $work/text.txt, sequence_length: 64,
      batch_size: 8, shuffle: true}
END
"$csengine" start "$work/text.yaml" --quiet --no_dashboard >"$work/out" 2>&1 ||
    fail "training: $(cat "$work/out")"
generate() { "$csengine" generate "$work/text.yaml" --quiet "$@"; }

generate -p 'the quick b' --greedy --max_new_tokens 30 >"$work/greedy" 2>&1
[ "$(cat "$work/greedy")" = 'the quick brown fox jumps over the lazy d' ] ||
    fail "greedy: $(cat "$work/greedy")"
[ "$(echo 'the quick b' | generate --greedy --max_new_tokens 30)" = "$(cat "$work/greedy")" ] ||
    fail "a prompt on the standard input"
# Without a number of tokens a text ends where the model is full, also beside a longer prompt.
generate -p 'the quick b' --greedy --json >"$work/full" 2>&1
[ "$(grep -c '"prompt"' "$work/full")" -eq 1 ] || fail "no text to the end: $(cat "$work/full")"
[ "$(tr -d '\n' <"$work/full" | sed 's/.*"tokens"[^[]*\[\([^]]*\)\].*/\1/' | tr ',' '\n' |
    grep -c .)" -eq 53 ] || fail "not 64 tokens: $(cat "$work/full")"
generate -p 'the quick b' -p 'the quick brown fox jumps' --greedy --json 2>&1 | head -n 1 |
    cmp - "$work/full" || fail 'a longer prompt beside it shows'
until=$(generate -p 'the quick b' --greedy --max_new_tokens 40 --until fox)
[ "$until" = 'the quick brown fox' ] || fail "--until: $until"
stop=$(generate -p 'the quick b' --greedy --max_new_tokens 40 --stop zebra --stop 'umps o')
[ "$stop" = 'the quick brown fox j' ] || fail "--stop: $stop"
generate -p 'the quick b' --greedy --max_new_tokens 40 --stop 'umps o' --json >"$work/stopped"
grep -q '"text":"rown fox j"' "$work/stopped" || fail "--stop --json: $(cat "$work/stopped")"
beams=$(generate -p 'the quick b' --num_beams 3 --max_new_tokens 30)
[ "$beams" = "$(cat "$work/greedy")" ] || fail "beam search: $beams"
generate -p 'the quick b' --num_beams 3 --num_return_sequences 3 --max_new_tokens 9 --json \
    --stop 'fox' --length_penalty 0 >"$work/beams" || fail "beam search"
python3 - "$work/beams" <<'CHECK' || fail "beams: $(cat "$work/beams")"
import json, sys
texts = [json.loads(line) for line in open(sys.argv[1])]
assert [text["number"] for text in texts] == [0, 1, 2], texts
assert texts[0]["text"] == "rown " and len(texts[0]["tokens"]) == 8, texts[0]
scores = [text["score"] for text in texts]
assert scores == sorted(scores, reverse=True) and scores[0] < 0 and scores[0] > scores[1], scores
assert len({tuple(text["tokens"]) for text in texts}) == 3
CHECK
generate -p 'the quick b' --greedy --no_repeat_ngram_size 1 --max_new_tokens 9 --json >"$work/once"
python3 -c 'import json, sys; t = json.load(sys.stdin)["tokens"]; assert len(set(t)) == 9' \
    <"$work/once" || fail "a byte came twice: $(cat "$work/once")"
sample() { generate --temperature 1.3 --max_new_tokens 20 --seed 7 --json "$@"; }
sample -p 'the ' -p 'lazy' --texts 2 >"$work/texts"
sample -p 'the ' --texts 2 >"$work/two"
sample -p 'the ' --texts 2 --seed 8 >"$work/other"
[ "$(wc -l <"$work/texts")" -eq 4 ] || fail "four texts: $(cat "$work/texts")"
[ "$(head -n 2 "$work/texts")" = "$(cat "$work/two")" ] || fail "texts depend on other prompts"
[ "$(cat "$work/two")" != "$(cat "$work/other")" ] || fail "texts do not depend on the seed"
[ "$(sed -n 1p "$work/two" | grep -o '"text".*')" != \
    "$(sed -n 2p "$work/two" | grep -o '"text".*')" ] || fail "two texts are equal"
sample -p 'the ' --texts 20 >"$work/twenty" # more than are written together
sample -p 'the ' >"$work/alone"
[ "$(wc -l <"$work/twenty")" -eq 20 ] || fail "twenty texts: $(cat "$work/twenty")"
[ "$(head -n 2 "$work/twenty")" = "$(cat "$work/two")" ] || fail "texts depend on their count"
[ "$(head -n 1 "$work/twenty")" = "$(cat "$work/alone")" ] || fail "a text alone is another one"

# ---- tasks ----

# A text as long as the model's sequences has the loss of a validation with this one sample.
text=$(head -c 64 "$work/text.txt" | tr '\n' ' ')
printf '%s' "$text" >"$work/sample.txt"
echo "{\"text\": \"$text\"}" >"$work/text.jsonl"
validate="{data_processor: text_bytes, path: $work/sample.txt, sequence_length: 63, batch_size: 1}"
"$csengine" eval "$work/text.yaml" --set "validate.val_dataloader=$validate" --json \
    >"$work/evaluated" 2>"$work/err"
cat >"$work/questions.jsonl" <<'END'
{"context": "the quick brown ", "choices": ["dog", "fox"], "answer": 1}

{"context": "jumps over the ", "choices": ["lazy", "quick"], "answer": 0}
{"context": "the lazy ", "choices": ["fox jumps", "dog; the "], "answer": 0}
END
"$csengine" eval "$work/text.yaml" --json --tasks "$work/text.jsonl" \
    --tasks "$work/questions.jsonl" >"$work/measured" 2>"$work/err" ||
    fail "tasks: $(cat "$work/err")"
python3 - "$work" <<'CHECK' || fail "tasks: $(cat "$work/measured" "$work/evaluated")"
import json, math, sys
work = sys.argv[1]
text, questions = [json.loads(line) for line in open(f"{work}/measured")]
evaluated = [json.loads(line) for line in open(f"{work}/evaluated")]
loss = next(e["metrics"]["loss"] for e in evaluated if "loss" in (e.get("metrics") or {}))
assert abs(math.log(text["perplexity"]) - loss) < 1e-5, (text, loss)
assert text["tokens"] == text["bytes"] == 63 and text["texts"] == 1, text
assert abs(text["bits_per_byte"] * math.log(2) - loss) < 1e-5
assert questions["questions"] == 3 and abs(questions["acc"] - 2 / 3) < 1e-9, questions
assert abs(questions["acc_stderr"] - math.sqrt(2 / 9 / 2)) < 1e-6, questions
CHECK

# ---- mistakes ----

refused() { # exit code, part of the message, arguments...
    code=$1 part=$2
    shift 2
    "$csengine" "$@" >"$work/out" 2>"$work/err" </dev/null
    got=$?
    [ $got -eq "$code" ] && grep -q -e "$part" "$work/err" ||
        fail "$*: exit code $got, $(cat "$work/err")"
}
echo '{"text": "the quick brown fox"}' >"$work/rows.jsonl"
# Parquet is read by a program in Python; in its place one that takes the rows out of the marks.
printf '#!/bin/sh\nsed -e 1d -e %s "$4" >"$5"\n' "'\$d'" >"$work/reader"
chmod 755 "$work/reader"
{ echo PAR1; cat "$work/rows.jsonl"; printf PAR1; } >"$work/rows.parquet"
export CSENGINE_PYTHON="$work/reader" XDG_CACHE_HOME="$work/cache"
for tasks in lambada_openai=$work/rows $work/rows; do
    for kind in jsonl parquet; do
        "$csengine" eval "$work/text.yaml" --tasks "$tasks.$kind" --json 2>"$work/err" |
            sed "s/rows.$kind/rows/" >"$work/of_$kind"
        grep -q likelihood "$work/of_$kind" || fail "$tasks.$kind: $(cat "$work/err")"
    done
    cmp "$work/of_jsonl" "$work/of_parquet" || fail "$tasks: Parquet measures something else"
done
refused 65 'rows.parquet: row 1: its member goal is no text' eval "$work/text.yaml" \
    --tasks piqa="$work/rows.parquet"
printf 'PAR1\nno object\nPAR1' >"$work/wrong.parquet"
refused 65 'wrong.parquet: row 1: it is no JSON object; accepted: ' eval "$work/text.yaml" \
    --tasks "$work/wrong.parquet"
unset CSENGINE_PYTHON
refused 64 'there is no task squad; accepted: arc_challenge' eval "$work/text.yaml" \
    --tasks squad="$work/rows.jsonl"
refused 64 'fewshot_data piqa=FILE' eval "$work/text.yaml" --tasks piqa="$work/rows.jsonl" \
    --num_fewshot 2
refused 65 'line 1: its member goal is no text; a row of piqa has' eval "$work/text.yaml" \
    --tasks piqa="$work/rows.jsonl"
refused 66 'nothing.jsonl: cannot be opened' eval "$work/text.yaml" \
    --tasks piqa="$work/nothing.jsonl"
refused 74 'cannot be read: Is a directory' eval "$work/text.yaml" --tasks piqa="$work"
printf '{"question": "q", "choices": ["a", "b", "c", "d"], "answer": 0, "subject": "%128s"}\n' \
    long >"$work/long.jsonl"
refused 65 'line 1: its subject is longer than 127 bytes' eval "$work/text.yaml" \
    --tasks mmlu="$work/long.jsonl"
"$csengine" eval "$work/text.yaml" --tasks lambada_openai="$work/rows.jsonl" --json >"$work/out" \
    2>"$work/err" || fail "lambada: $(cat "$work/err")"
grep -q '"acc":1.0,' "$work/out" || fail "the last word: $(cat "$work/out")"
refused 64 'greedy has no effect in beam search' generate "$work/text.yaml" -p x --num_beams 2 \
    --greedy
refused 64 'length_penalty has an effect in beam search alone' generate "$work/text.yaml" -p x \
    --length_penalty 2
refused 64 '2 beams give no more than 2' generate "$work/text.yaml" -p x --num_beams 2 \
    --num_return_sequences 3
refused 64 'stop is empty' generate "$work/text.yaml" -p x --stop ''
refused 64 'early_stopping' generate "$work/text.yaml" -p x --num_beams 2 --early_stopping maybe
refused 64 'give fewer beams' generate "$work/text.yaml" -p x --num_beams 200
refused 64 'min_p' generate "$work/text.yaml" -p x --min_p 2
refused 64 'there is no prompt' generate "$work/text.yaml"
refused 64 'is empty' generate "$work/text.yaml" -p ''
refused 65 'max_position_embeddings' generate "$work/text.yaml" -p hello --max_new_tokens 60
refused 65 'and 1 more' generate "$work/text.yaml" -p "$(printf '%064d' 0)"
refused 64 'temperature' generate "$work/text.yaml" -p hello --temperature -1
refused 66 'train first' generate "$work/text.yaml" -p hello --model_dir "$work/nothing"
refused 64 'accepted: model.fc_layers.0' predict "$work/classes.yaml" --output model.nothing
refused 64 'the data have 300' predict "$work/classes.yaml" --first 299 --samples 2
refused 64 'needs --file' predict "$work/classes.yaml" --format npy
refused 73 'cannot be created' predict "$work/classes.yaml" --format npy --file "$work/no/x.npy"
echo '{"context": "a", "choices": ["b"], "answer": 0}' >"$work/bad.jsonl"
refused 65 'line 1: it is neither' eval "$work/text.yaml" --tasks "$work/bad.jsonl"
echo 'text' >"$work/bad.jsonl"
refused 65 'line 1: it is no JSON' eval "$work/text.yaml" --tasks "$work/bad.jsonl"
refused 66 'cannot be opened' eval "$work/text.yaml" --tasks "$work/nothing.jsonl"
ls "$work"/*.tmp 2>/dev/null && fail "a draft of a file stayed"
exit $failed
