#!/bin/sh
# Parameters that a configuration does not train, by expressions of their names: they keep their
# values and have no states of an optimizer; the others are trained, with one digest for any number
# of replicas and for a run that is resumed. What matches nothing is refused with the nearest name.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
reference=$(cd "${top_srcdir:-.}" && pwd)/tests/reference/weights
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cd "$work" || exit 1

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

must() { # ARGUMENTS...
    "$csengine" "$@" >out 2>&1 || fail "$*: $(cat out)"
}

"$csengine" checkpoint convert "$reference/llama" base.mdl --print_model >model.yaml 2>err ||
    fail "print_model: $(cat err)"
configuration() { # LINES OF trainer.init...
    cat model.yaml
    for line in "$@"; do
        printf '    %s\n' "$line"
    done
    cat <<YAML
    model_dir: ./run
    backend: {compile_dir: ./compiled}
    optimizer: {AdamW: {learning_rate: 0.02}}
    loop: {num_steps: 4}
    checkpoint: {steps: 2}
  fit:
    train_dataloader:
      {data_processor: text_bytes, path: text.bin, sequence_length: 4, batch_size: 4,
       micro_batch_size: 2}
YAML
}
awk 'BEGIN { for (i = 0; i < 200; i++) printf "%c", (i * 7 + int(i / 5)) % 11 + 1 }' >text.bin
must checkpoint convert base.mdl base.npz --all

trained() { # FOLDER EXPRESSION: of the parameters that are trained, and of no others
    must checkpoint convert "$1/checkpoint_4.mdl" "$1.npz" --all
    "${PYTHON:-python3}" - "$1" "$2" <<'EOP' || fail "$1 trained other parameters than $2"
import re, sys, zipfile
run, base = zipfile.ZipFile(sys.argv[1] + ".npz"), zipfile.ZipFile("base.npz")
names = [n for n in run.namelist() if n.startswith("model.")]
changed = {n for n in names if run.read(n) != base.read(n)}
assert changed == {n for n in names if re.search(sys.argv[2], n)}, sorted(changed)
moments = {n for n in run.namelist() if n.startswith("optimizer.") and "exp_avg" in n}
assert {"model." + n.split(".", 1)[1].rsplit(".", 1)[0] for n in moments}, moments
assert len(moments) % len(changed) == 0 and all(re.search(sys.argv[2], n) for n in moments), moments
EOP
}

configuration "freeze: [word_embeddings, '\\blayers\\.0\\.', norm]" >freeze.yaml
configuration "trainable: ['layers\\.\\d+\\.ffn']" "freeze: [glu]" >part.yaml
must start freeze.yaml --weights "$reference/llama" --no_dashboard --model_dir one
must start freeze.yaml --weights "$reference/llama" --no_dashboard --model_dir two --num_csx 2
must start freeze.yaml --weights "$reference/llama" --no_dashboard --model_dir three --num_steps 2
must start freeze.yaml --no_dashboard --model_dir three
must start part.yaml --weights "$reference/llama" --no_dashboard --model_dir part
trained one 'layers\.1\.(self_attn|ffn)|lm_head'
trained part 'ffn\.\d\.linear_layer\.'
for other in two three; do
    first=$("$csengine" checkpoint digest one/checkpoint_4.mdl)
    second=$("$csengine" checkpoint digest $other/checkpoint_4.mdl)
    [ "${first%% *}" = "${second%% *}" ] || fail "one and $other differ: $first, $second"
done

refused() { # WORDS LINES...
    words=$1
    shift
    configuration "$@" >wrong.yaml
    "$csengine" start wrong.yaml --weights "$reference/llama" --no_dashboard --model_dir wrong \
        >out 2>&1
    code=$?
    [ "$code" -eq 78 ] || fail "$*: exit code $code, not 78: $(cat out)"
    grep -q -e "$words" out || fail "$*: not told \"$words\": $(cat out)"
    ! grep -q 'Step=' out || fail "$*: training began"
}
refused 'did you mean "word_embeddings"' 'freeze: [word_embedings]'
refused 'trainable: no parameter of the model has "layers.7" in its name' 'trainable: [layers.7]'
refused 'freeze: "(" is no regular expression' 'freeze: ["("]'
refused 'freeze: adapters train nothing of the model' 'freeze: [norm]' 'adapters: {a: {r: 2}}'
refused 'no list' 'freeze: norm'

[ "$failures" -eq 0 ] || exit 1
