#!/bin/sh
# GGUF files with packed weights and a tokenizer of their own, which tests/reference/gguf_files.py
# writes: they are opened as they are, become folders with the files of a tokenizer, and come back;
# texts are generated with their tokens, and what does not fit is refused with file and name.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
reference=$(cd "${top_srcdir:-.}" && pwd)/tests/reference
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo 'there is no python3: skipped'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cd "$work" || exit 1
PYTHONDONTWRITEBYTECODE=1 "$python" "$reference/gguf_files.py" . || exit 1

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

must() { # ARGUMENTS...
    "$csengine" "$@" >out 2>&1 || fail "$*: $(cat out)"
}

expect() { # EXIT_CODE WORDS ARGUMENTS...
    expected=$1
    words=$2
    shift 2
    "$csengine" "$@" >out 2>&1
    code=$?
    [ "$code" -eq "$expected" ] || fail "$*: exit code $code, not $expected: $(cat out)"
    grep -q -e "$words" out || fail "$*: not told \"$words\": $(cat out)"
}

# The tokenizers come as files, whose tokens have the same numbers, and go back into a file.
for kind in bytes pieces; do
    must checkpoint convert $kind.gguf $kind
    # Many folders have such a number, which 64 bits do not hold.
    sed -i 's/^{/{"model_max_length": 1000000000000000019884624838656,/' \
        $kind/tokenizer_config.json
    must checkpoint convert $kind back_$kind.gguf --dtype q8_0
    must checkpoint convert back_$kind.gguf back_$kind
    cmp $kind/tokenizer.json back_$kind/tokenizer.json || fail "$kind: another tokenizer comes back"
done
"$python" - <<'PYTHON' || fail 'the files of the tokenizers'
import json
tokens = json.load(open("tokens.json", encoding="utf-8"))
for kind in tokens:
    own = json.load(open(f"{kind}/tokenizer.json", encoding="utf-8"))
    assert own["model"]["vocab"] == {token: number for number, token in enumerate(tokens[kind])}
bytes_ = json.load(open("bytes/tokenizer.json", encoding="utf-8"))
steps = bytes_["pre_tokenizer"]["pretokenizers"]
assert [step["type"] for step in steps] == ["Digits", "ByteLevel"]
added = [(token["content"], token["special"]) for token in bytes_["added_tokens"]]
assert added == [("<|end|>", True), ("<tool>", False)]
config = json.load(open("bytes/tokenizer_config.json"))
assert config["chat_template"].startswith("{% for m") and config["eos_token"] == "<|end|>"
pieces = json.load(open("pieces/tokenizer.json", encoding="utf-8"))
# By the scores of what they make: " t", "he", " the", "is".
merges = pieces["model"]["merges"]
assert merges == [["▁", "t"], ["h", "e"], ["▁t", "he"], ["i", "s"]], merges
first = pieces["post_processor"]["single"][0]
assert pieces["model"]["byte_fallback"] and first == {"SpecialToken": {"id": "<s>", "type_id": 0}}
PYTHON

# Texts are generated with the tokens of the file, and with those of the folder made of it.
must checkpoint convert packed.gguf packed.mdl --print_model
cp out generate.yaml
cat >>generate.yaml <<YAML
    model_dir: ./run
    backend: {backend_type: CPU, compile_dir: ./compiled}
YAML
sed -i 's/max_position_embeddings: 64/max_position_embeddings: 16/' generate.yaml
must checkpoint convert packed.gguf packed
for weights in packed.gguf packed; do
    "$csengine" generate generate.yaml --checkpoint_path $weights --greedy --quiet \
        --prompt 'is the' --max_new_tokens 8 >$weights.txt 2>out || fail "generate: $(cat out)"
    head -c 6 $weights.txt | grep -q 'is the' || fail "$weights: $(cat $weights.txt)"
done
cmp packed.gguf.txt packed.txt || fail 'other texts with the folder of the file'

# Files of one model are opened together.
must checkpoint convert bytes.gguf whole.safetensors --map none
must checkpoint convert part-00001-of-00002.gguf parts.safetensors --map none
cmp whole.safetensors parts.safetensors || fail 'the parts hold other weights'

# Input from outside, told with file and name.
expect 66 'alone-00002-of-00002.gguf: cannot be opened' \
    checkpoint convert alone-00001-of-00002.gguf a
expect 65 'part-00002-of-00002.gguf: is one of 2 files' \
    checkpoint convert part-00002-of-00002.gguf a
expect 65 "fewer.gguf: tokenizer.ggml.tokens has 261 tokens, but 'token_embd.weight' has 262 rows" \
    checkpoint convert fewer.gguf a
expect 65 "other_size.gguf: llama.vocab_size is 9, but 'token_embd.weight' has 262 rows" \
    checkpoint convert other_size.gguf a
expect 65 'unknown_pre.gguf: tokenizer.ggml.pre is "of-nobody"' \
    checkpoint convert unknown_pre.gguf a
expect 65 'unknown_model.gguf: tokenizer.ggml.model is "of-nobody"' \
    generate generate.yaml --checkpoint_path unknown_model.gguf --prompt is
expect 64 'accepted: float32, bfloat16, float16, and for GGUF files' \
    checkpoint convert bytes.gguf a.gguf --dtype q2_k
expect 64 'is a packed type of GGUF, which safetensors does not hold' \
    checkpoint convert bytes.gguf a.safetensors --dtype q8_0
[ ! -e a ] && [ ! -e a.gguf ] || fail 'something is left of what was refused'

[ "$failures" -eq 0 ]
