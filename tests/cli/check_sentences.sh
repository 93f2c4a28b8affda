#!/bin/sh
# Texts with a class: a classifier is trained from a table and from JSON lines to the same bits,
# says of files of text and of rows without a class what it says of the same texts in the data, and
# settings that do not fit the data are told before a run begins.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
cd "$work" || exit 1

fail() {
    echo "FAIL: $*"
    failed=1
}

# Sentences of which one word decides.
awk 'BEGIN {
    srand(3)
    split("the a this that film book very rather , was is", filler, " ")
    split("good great fine", good, " ")
    split("bad dull poor", bad, " ")
    print "text,label" >"train.csv"
    for (i = 0; i < 192; i++) {
        word = i % 2 ? good[1 + int(3 * rand())] : bad[1 + int(3 * rand())]
        line = "The"
        for (k = 0; k < 6; k++)
            line = line " " (k == i % 6 ? word : filler[1 + int(11 * rand())])
        class = i % 2 ? "yes" : "no"
        printf "\"%s \"\"%s\"\".\",%s\n", line, word, class >"train.csv"
        printf "{\"class\": \"%s\", \"words\": \"%s \\\"%s\\\".\"}\n", class, line, word \
            >"train.jsonl"
    }
}'
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' the a this that film book very rather , was is \
    good great fine bad du '##ll' poor . '"' >vocab.txt
config() { # NAME DATA
    cat >"$1.yaml" <<END
trainer:
  init:
    model_dir: run_$1
    backend: {compile_dir: compiled}
    model: {name: bert/classifier, num_labels: 2, vocab_size: 24, hidden_size: 16,
      num_hidden_layers: 1, num_heads: 2, filter_size: 32, max_position_embeddings: 16,
      dropout_rate: 0.0, task_dropout: 0.0}
    optimizer:
      Adam: {lr: 0.02}
    loop: {num_epochs: 5}
    seed: 1
  fit:
    train_dataloader: &data {data_processor: sentences, $2, class_names: [no, yes],
      vocabulary: vocab.txt, max_sequence_length: 16, batch_size: 16, micro_batch_size: 8}
    val_dataloader: *data
END
}
config table 'path: train.csv'
config lines 'path: train.jsonl, text: words, label: class'
for name in table lines; do
    "$csengine" start $name.yaml --no_dashboard >$name.out 2>&1 || fail "$name: $(cat $name.out)"
    grep -q '^accuracy: 1.0000' $name.out || fail "$name: $(grep accuracy $name.out)"
done
[ "$(grep '^Weights digest' table.out)" = "$(grep '^Weights digest' lines.out)" ] ||
    fail 'a table and lines of the same texts give other weights'

# The same texts as rows, as files, and as rows without a class.
"$csengine" predict table.yaml --samples 3 --json >rows 2>err || fail "rows: $(cat err)"
for i in 1 2 3; do
    sed -n "$((i + 1))p" train.csv | sed 's/^"//; s/",[a-z]*$//; s/""/"/g' >"$i.txt"
done
{ echo text; sed -n '2,4s/,[a-z]*$//p' train.csv; } >asked.csv
"$csengine" predict table.yaml 1.txt 2.txt 3.txt --json >files 2>err || fail "files: $(cat err)"
"$csengine" predict table.yaml asked.csv --json >asked 2>err || fail "without a class: $(cat err)"
grep -q '"label":0.*"name":"no"' rows || fail "labels and names: $(cat rows)"
for part in rows files asked; do
    sed 's/.*"classes"//; s/\].*//' $part >$part.classes
done
[ -s rows.classes ] && cmp rows.classes files.classes && cmp rows.classes asked.classes ||
    fail "other predictions: $(cat rows files asked)"
grep -q '"place":"2.txt"' files || fail "places: $(cat files)"
! grep -q '"label"' files asked || fail 'a text without a class has one'
"$csengine" predict table.yaml 1.txt 2.txt >shown 2>err || fail "a table: $(cat err)"
grep -q '^0  *1.txt  *-  *no (' shown || fail "a table: $(cat shown)"

refused() { # EXIT_CODE WORDS ARGUMENTS...
    code=$1 part=$2
    shift 2
    "$csengine" "$@" >out 2>err </dev/null
    got=$?
    [ $got -eq "$code" ] && grep -q -e "$part" err || fail "$*: exit code $got, $(cat err)"
}
refused 66 'nothing.txt' predict table.yaml nothing.txt
refused 64 'given by name' predict table.yaml 1.txt --samples 1
refused 65 'which is no class; accepted are those of class_names' start table.yaml --no_dashboard \
    --model_dir other --set 'fit.train_dataloader.class_names=[yes, maybe]'
refused 65 'its columns are: text, label' start table.yaml --no_dashboard --model_dir other \
    --set fit.train_dataloader.text=sentence
# A template of a tokenizer whose special tokens leave no room, or are tokens that it does not have.
template() { # NUMBERS OF TOKENS BEFORE A SINGLE TEXT
    cat >tokenizer.json <<END
{"model": {"type": "WordLevel", "unk_token": "the", "vocab": {"the": 0}},
 "pre_tokenizer": {"type": "WhitespaceSplit"},
 "post_processor": {"type": "TemplateProcessing",
  "single": [{"SpecialToken": {"id": "S", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
  "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
  "special_tokens": {"S": {"id": "S", "ids": [$1], "tokens": ["the"]}}}}
END
}
for case in '0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0:puts 17 special tokens around a text' \
    '7:names the token 7; the tokenizer has the tokens 0 to 0'; do
    template "${case%%:*}"
    refused 65 "${case#*:}" start table.yaml --no_dashboard --model_dir other \
        --set fit.train_dataloader.vocabulary=tokenizer.json
done

# Numbers, and several classes at once: the loss is that of PyTorch's formulas, of the values that
# predict shows; labels of another kind than the model's problem are refused.
numbers() { # NAME PROBLEM OUTPUTS LABEL_TYPE
    cat >"$1.yaml" <<END
trainer:
  init:
    model_dir: run_$1
    backend: {compile_dir: compiled}
    model: {name: bert/classifier, num_labels: $3, problem_type: $2, vocab_size: 24,
      hidden_size: 16, num_hidden_layers: 1, num_heads: 2, filter_size: 32,
      max_position_embeddings: 16}
    optimizer:
      Adam: {lr: 0.02}
    loop: {num_steps: 3, eval_steps: null}
  fit:
    train_dataloader: &data {data_processor: sentences, path: $1.csv, $4,
      vocabulary: vocab.txt, max_sequence_length: 16, batch_size: 2, shuffle: false}
    val_dataloader: *data
END
}
printf 'text,label\nthe film was good,1.5\na bad book,-2\nvery dull,0.25\ngreat,4\n' >regression.csv
printf 'text,label\nthe film was good,2|0\na bad book,[1]\nvery dull,\ngreat,0;1;2\n' >several.csv
numbers regression regression 1 'label_type: numbers'
numbers several multi_label_classification 3 'label_type: classes, num_labels: 3'
for name in regression several; do
    "$csengine" start $name.yaml --no_dashboard >out 2>&1 || fail "$name: $(cat out)"
    "$csengine" eval $name.yaml --json >out 2>err || fail "eval $name: $(cat err)"
    loss=$(sed -n 's/.*"loss": *\([0-9.e-]*\).*/\1/p' out | tail -n 1)
    "$csengine" predict $name.yaml --samples 4 --json >out 2>err || fail "$name: $(cat err)"
    sed 's/.*"values":\[\([^]]*\)\].*/\1/; s/,/ /g' out | awk -v kind=$name -v loss="$loss" '
        BEGIN {
            split(kind == "regression" ? "1.5 -2 0.25 4" : "1 0 1 0 1 0 0 0 0 1 1 1", wanted, " ")
        }
        { for (i = 1; i <= NF; i++) {
            y = wanted[++count]
            if (kind == "regression")
                sum += ($i - y) ^ 2
            else
                sum += ($i > 0 ? $i : 0) - $i * y + log(1 + exp($i > 0 ? -$i : $i))
        } }
        END {
            difference = loss - sum / count
            exit !(count == (kind == "regression" ? 4 : 12) && loss != "" &&
                difference < 1e-4 && difference > -1e-4)
        }' || fail "$name: the loss $loss is not that of $(cat out)"
done
sed 's/label_type: numbers,/label_type: class,/; s/regression.csv/whole.csv/' regression.yaml \
    >wrong.yaml
printf 'text,label\nthe film was good,1\na bad book,0\n' >whole.csv
"$csengine" start wrong.yaml --no_dashboard --model_dir wrong >out 2>&1 &&
    fail 'a regression takes classes'
grep -q 'problem_type regression takes labels of numbers' out || fail "not told why: $(cat out)"
sed 's/problem_type: regression/problem_type: single_label_classification/' wrong.yaml >single.yaml
"$csengine" start single.yaml --no_dashboard --model_dir wrong >out 2>&1 && fail 'a single class'
grep -q 'set problem_type to regression' out || fail "not told why: $(cat out)"

exit $failed
