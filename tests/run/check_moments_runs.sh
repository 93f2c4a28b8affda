#!/bin/sh
# Moments in bfloat16 and in blocks of 8 bits, in runs: the same weights and states with 1, 2 and 5
# processes, with weight servers, with states in a file, and after a stop; their form in a
# checkpoint; another form is refused when a run goes on.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
config=${top_srcdir:-.}/configs/synthetic.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

# train FOLDER REPLICAS MAX_STEPS OPTIMIZER [ARGUMENTS]: prints the digest of the weights.
train() {
    folder=$1 replicas=$2 steps=$3 optimizer=$4
    shift 4
    timeout 100 "$csengine" start "$config" --no_dashboard --json --model_dir "$work/$folder" \
        --compile_dir "$work/compiled" --num_csx "$replicas" --set loop.num_steps=null \
        --max_steps "$steps" --set fit.val_dataloader=null --set "optimizer={$optimizer}" \
        --set schedulers=null --set 'model.hidden_sizes=[270, 33]' "$@" 2>"$work/errors" |
        sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p'
}

plain=$(train plain 1 8 'AdamW: {lr: 0.01}')
[ -n "$plain" ] || fail "no digest: $(cat "$work/errors")"
for form in 'bfloat16' 'bfloat16, moments_rounding: nearest' 'int8_blocks'; do
    name=$(echo "$form" | tr -d ' ,:')
    optimizer="AdamW: {lr: 0.01, moments: $form}"
    one=$(train "one$name" 1 8 "$optimizer")
    [ -n "$one" ] || fail "$form: no digest: $(cat "$work/errors")"
    [ "$one" != "$plain" ] || fail "$form has no effect"
    for replicas in 2 5; do
        other=$(train "r$replicas$name" $replicas 8 "$optimizer")
        [ "$one" = "$other" ] || fail "$form: $one, with $replicas: $other $(cat "$work/errors")"
    done
    other=$(train "servers$name" 2 8 "$optimizer" --set backend.cluster_config.max_wgt_servers=2)
    [ "$one" = "$other" ] || fail "$form: $one, with servers: $other $(cat "$work/errors")"
    train "halves$name" 2 4 "$optimizer" >"$work/half"
    other=$(train "halves$name" 1 8 "$optimizer")
    [ "$one" = "$other" ] || fail "$form: $one, with a stop: $other $(cat "$work/errors")"
done

# Of another form bfloat16 becomes float32, which is exact; any other is refused.
[ -n "$(train onebfloat16 1 12 'AdamW: {lr: 0.01}')" ] ||
    fail "bfloat16 as float32: $(cat "$work/errors")"
train plain 1 12 'AdamW: {lr: 0.01, moments: bfloat16}' >"$work/out"
grep -q 'kept its moments otherwise' "$work/errors" && [ -z "$(cat "$work/out")" ] ||
    fail "float32 as bfloat16: $(cat "$work/errors")"
train oneint8_blocks 1 12 'AdamW: {lr: 0.01, moments: bfloat16}' >"$work/out"
grep -q 'kept its moments otherwise' "$work/errors" && [ -z "$(cat "$work/out")" ] ||
    fail "blocks as bfloat16: $(cat "$work/errors")"

[ $failed = 0 ] && echo "moments: three forms, the same bits for any number of processes"
exit $failed
