#!/bin/sh
# `csengine data`: a text becomes a vocabulary and samples that a model trains on; what it shows;
# what it refuses; and nothing is left behind.
set -eu
engine=$CSENGINE_EXECUTABLE
reference=$(cd "${top_srcdir:-.}" && pwd)/tests/reference
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "check_data.sh: $*" >&2; exit 1; }
expect() { # text, pattern
    printf '%s\n' "$1" | grep -qE "$2" || fail "'$2' is not in: $1"
}
refuses() { # exit code, pattern, command...
    code=$1 pattern=$2
    shift 2
    got=0
    "$@" >"$work/out" 2>"$work/err" || got=$?
    [ "$got" = "$code" ] || fail "$*: exit code $got, expected $code: $(cat "$work/err")"
    grep -qE "$pattern" "$work/err" || fail "$*: '$pattern' is not in: $(cat "$work/err")"
}
cd "$work"
awk 'BEGIN {
    for (i = 0; i < 400; i++)
        print "the cat", i, "sat on the mat, and " i * 7 % 100 " cats did not."
}' >cats.txt

made=$("$engine" data tokenize cats.txt --train_tokenizer 400 --sequence_length 32 --to tokens)
expect "$made" \
    'tokens: 1 documents, [0-9]+ tokens of [0-9]+, [0-9]+ samples of 32, 1 files'
"$engine" data tokenize cats.txt --tokenizer tokens --sequence_length 32 --to again --jobs 3 \
    --json | grep -q '"num_documents": *1' || fail 'no JSON'
cmp tokens/data-00000.h5 again/data-00000.h5 || fail 'another number of jobs gives other bytes'
cat >config.yaml <<'END'
trainer:
  init:
    model_dir: run
    model: {name: gpt2, hidden_size: 16, num_layers: 1, num_heads: 2, vocab_size: 400,
      max_position_embeddings: 32, dropout: 0.0}
    optimizer: {AdamW: {lr: 0.01}}
    loop: {num_steps: 4}
    seed: 1
  fit:
    train_dataloader: {data_processor: hdf5_lm, data_dir: tokens, batch_size: 8,
      micro_batch_size: 4, shuffle: true}
END
train() { # options: the digest of the weights
    "$engine" start config.yaml --no_dashboard "$@" 2>&1 | sed -n 's/^Weights digest: //p'
}
# The tokenizer stays with the tokens, and from there with the model: `generate` is given none.
cmp tokens/tokenizer.json again/tokenizer.json || fail 'the tokenizer is not with the tokens'
"$engine" start config.yaml --no_dashboard --model_dir talks >/dev/null 2>&1
cmp tokens/tokenizer.json talks/tokenizer.json || fail 'the tokenizer is not with the model'
expect "$("$engine" generate config.yaml --model_dir talks --prompt 'the cat' --greedy \
    --max_new_tokens 4 2>&1)" '^the cat'
# So does one of two files.
mkdir pair
cp "$reference/tokenizer_vocab.json" pair/vocab.json
cp "$reference/tokenizer_merges.txt" pair/merges.txt
"$engine" data tokenize cats.txt --tokenizer pair --end_of_text none --sequence_length 32 \
    --to of_pair >/dev/null
cmp pair/vocab.json of_pair/vocab.json && cmp pair/merges.txt of_pair/merges.txt ||
    fail 'a tokenizer of two files is not with the tokens'
sed 's/vocab_size: 400/vocab_size: 420/; s/data_dir: tokens/data_dir: of_pair/' \
    config.yaml >of_pair.yaml
"$engine" start of_pair.yaml --no_dashboard --model_dir talks_too >/dev/null 2>&1
expect "$("$engine" generate of_pair.yaml --model_dir talks_too --prompt 'the cat' --greedy \
    --max_new_tokens 4 2>&1)" '^the cat'

# The same samples in the same order for any number of processes, and after a stop.
whole=$(train --model_dir whole)
[ -n "$whole" ] || fail 'the training failed'
[ "$whole" = "$(train --model_dir more --num_csx 2 --num_workers_per_csx 2)" ] ||
    fail 'the number of processes shows'
train --model_dir parts_of_run --num_steps 2 >first
[ "$whole" = "$(train --model_dir parts_of_run --num_steps 2)" ] || fail 'a stop shows'
expect "$("$engine" data inspect tokens)" 'begins_with +the cat 0 sat on the mat'
expect "$("$engine" data inspect tokens/data-00000.h5 --json)" '"shape": *\[[0-9]+, *3, *32\]'
"$engine" data samples config.yaml --step 2 --json >one.json
"$engine" data samples config.yaml --step 2 \
    --set fit.train_dataloader.micro_batch_size=2 --json >two.json
of_step() { tr -d ' \n' <"$1" | grep -o '"samples":\[[0-9,]*\]' | tr -cd '0-9,\n' | tr '\n' ',' ; }
[ "$(of_step one.json)" = "$(of_step two.json)" ] ||
    fail 'the microbatch changes which samples a step takes'
expect "$(cat one.json)" 'data-00000.h5: row'

# Bytes that are no UTF-8 are told, with the first of the files.
printf 'caf\303\251\n' >utf8.txt
printf 'caf\351\n' >latin.txt
printf '\377\376c\000a\000' >windows.txt
"$engine" data tokenize utf8.txt latin.txt windows.txt --tokenizer tokens --sequence_length 4 \
    --to mixed >/dev/null 2>err
grep -q '2 documents have bytes that are no UTF-8.*latin.txt' err || fail "not told: $(cat err)"
grep -q '"num_not_utf8": 2' mixed/data_params.json || fail 'not counted'
"$engine" data tokenize utf8.txt --tokenizer tokens --sequence_length 4 --to plain >/dev/null 2>err
[ ! -s err ] || fail "UTF-8 is warned of: $(cat err)"

awk 'BEGIN { for (i = 0; i < 1000; i++) print "{\"text\": \"line " i "\"}" }' >lines.jsonl
expect "$("$engine" data split lines.jsonl --to parts --fractions 8,2)" \
    'train.jsonl: [78][0-9]+ lines'
cat parts/train.jsonl parts/validation.jsonl | sort >all
sort lines.jsonl | cmp - all || fail 'a split loses lines'

for i in 1 2 3; do echo $i >$i.cls; done
tar cf t.tar 1.cls 2.cls 3.cls
expect "$("$engine" data index t.tar)" 't.tar.idx: 3 files'
expect "$(cat t.tar.idx)" '^512 2 1.cls$'
refuses 65 'offset 0: ' "$engine" data index cats.txt
[ ! -e cats.txt.idx ] && [ ! -e cats.txt.idx.partial ] || fail 'an index of what is no archive'

refuses 64 'give either --tokenizer' "$engine" data tokenize cats.txt --to new
refuses 73 'is there already' \
    "$engine" data tokenize cats.txt --tokenizer tokens --to tokens
refuses 66 'cannot open the file' "$engine" data tokenize none.txt --tokenizer tokens --to new
refuses 64 'no token .no-such.' \
    "$engine" data tokenize cats.txt --tokenizer tokens --end_of_text no-such \
    --to new
printf '{"text": "a"}\n{"txt": "b"}\n' >bad.jsonl
refuses 65 'bad.jsonl:2: no text in member' \
    "$engine" data tokenize bad.jsonl --tokenizer tokens --to new
made=$("$engine" data tokenize bad.jsonl --tokenizer tokens --on_bad_record skip --to skipped)
expect "$made" \
    '1 documents were left out, the first: bad.jsonl:2'
refuses 73 'train.jsonl' "$engine" data split lines.jsonl --to parts
[ ! -e new ] && [ ! -e new.partial ] || fail 'something is left behind'
