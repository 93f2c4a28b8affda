#!/bin/sh
# A GGUF file of each family, which tests/reference/gguf_families.py writes: it becomes the folder
# of that family, and the folder becomes a file that says and holds the same.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
reference=$(cd "${top_srcdir:-.}" && pwd)/tests/reference
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo 'there is no python3: skipped'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cd "$work" || exit 1
export PYTHONDONTWRITEBYTECODE=1

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

must() { # ARGUMENTS...
    "$csengine" "$@" >out 2>&1 || fail "$*: $(cat out)"
}

must_not() { # WORDS
    "$csengine" checkpoint convert odd.gguf never >out 2>&1
    code=$?
    [ "$code" -eq 65 ] && grep -q -e "$1" out || fail "not told \"$1\": exit code $code: $(cat out)"
    [ ! -e never ] || fail "something is left of odd.gguf"
}

changed() { # FAMILY FOLDER KEYS: its folder with these keys in config.json
    rm -rf "$2" && cp -r "$1" "$2"
    "$python" - "$2/config.json" "$3" <<'PYTHON' || fail "$1: $3"
import json, sys
with open(sys.argv[1]) as file:
    config = json.load(file)
with open(sys.argv[1], "w") as file:
    json.dump({**config, **json.loads(sys.argv[2])}, file)
PYTHON
}

refused() { # FAMILY KEYS WORDS: the folder with other settings makes no file
    changed "$1" changed "$2"
    if "$csengine" checkpoint convert changed never.gguf >out 2>&1; then
        fail "$1 with $2 is written"
    fi
    grep -q -e "$3" out || fail "$1 with $2: not told \"$3\": $(cat out)"
}

"$python" "$reference/gguf_families.py" write . >families || exit 1
while read -r family kind; do
    must checkpoint convert "$family.gguf" "$family"
    grep -q "\"model_type\": \"$kind\"" "$family/config.json" ||
        fail "$family: $(cat "$family/config.json")"
    must checkpoint convert "$family" "${family}_back.gguf"
    "$python" "$reference/gguf_families.py" same "$family.gguf" "${family}_back.gguf" ||
        fail "$family: another file comes back"
done <families
[ "$(wc -l <families)" -ge 19 ] || fail 'families are missing'

# What llama.cpp does not compute is refused by name.
window='"sliding_window": 8, "use_sliding_window": true'
refused qwen3 "{$window, \"layer_types\": [\"full_attention\", \"sliding_attention\"]}" \
    attention_window_layers
refused llama '{"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}' \
    'pos_scaling_type of the model is dynamic'
refused gemma2 '{"query_pre_attn_scalar": 20}' attention_logits_alpha
refused qwen2moe '{"norm_topk_prob": true}' expert_weighting_normalization
refused falcon '{"alibi": true}' 'alibi_type of the model is falcon'
refused smollm3 '{"no_rope_layers": [1, 0]}' 'rotary_layers of the model'

# A key, and a family, that nobody knows are refused by their names, and that of the file.
sed 's/llama.rope.freq_base/llama.rope.freq_bass/' llama.gguf >odd.gguf
must_not 'odd.gguf: the weights say llama.rope.freq_bass, which the map maps/gguf_llama.yaml'
sed 's/llama/lluma/g' llama.gguf >odd.gguf
must_not 'odd.gguf: there is no map for the general.architecture "lluma"; there are those for bert'

# A window that llama.cpp leaves out is told, and comes back.
changed llama windowed \
    '{"model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 8}'
must checkpoint convert windowed windowed.gguf
grep -q 'llama.attention.sliding_window is 8: llama.cpp has no windows' out ||
    fail "windows: $(cat out)"
must checkpoint convert windowed.gguf windowed_back
grep -q '"sliding_window": 8' windowed_back/config.json ||
    fail "no window comes back: $(cat windowed_back/config.json)"

[ "$failures" -eq 0 ]
