#!/bin/sh
# The formats of gradient sums and of weights, from the command line: each gives different weights,
# which are the same for any number of replicas and weight servers, and for an interrupted run.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
config=${top_srcdir:-.}/configs/synthetic.yaml

fail() {
    echo "FAIL: $1"
    failed=1
}

train() { # model directory, settings...: prints the digest of the weights
    model=$1
    shift
    "$csengine" start "$config" --model_dir "$work/$model" --compile_dir "$work/compiled" "$@" \
        >"$work/out" 2>&1 || fail "$model: $(tail -n 5 "$work/out")"
    sed -n 's/^Weights digest: //p' "$work/out"
}

# Each of the settings VALUES of NAME gives other weights, and each the same for any cluster.
ways() { # NAME VALUES
    name=$1
    values=$2
    all=''
    for value in $values; do
        alone=$(train "$value" --set precision.$name=$value --num_steps 20)
        [ -n "$alone" ] || fail "no digest with $name $value"
        for replicas in 2 3 4; do
            shared=$(train "$value-$replicas" --set precision.$name=$value --num_steps 20 \
                --num_csx $replicas --max_wgt_servers $((replicas % 3)))
            [ "$shared" = "$alone" ] || fail "$name $value: other weights with $replicas replicas"
        done
        all="$all$alone
"
    done
    [ "$(printf '%s' "$all" | sort -u | grep -c .)" -eq "$(echo "$values" | wc -w)" ] ||
        fail "$name: equal weights among: $all"
}
ways weight_grad_reduce 'fp32 bf16 bf16sr fp16 cb16'
ways weight_update 'fp32 bf16 bf16sr bf16_kahan'

# A run in two halves ends where the whole run does; another seed rounds otherwise.
for settings in weight_grad_reduce=bf16sr weight_update=bf16sr weight_update=bf16_kahan; do
    given="--set precision.$settings --set optimizer.SGD.momentum=0.5 --seed 9"
    whole=$(train "whole-$settings" $given --num_steps 20)
    train "halves-$settings" $given --max_steps 7 >/dev/null
    checkpoint=$(find "$work/halves-$settings" -name 'checkpoint_7*' | head -n 1)
    [ -n "$checkpoint" ] || fail "no checkpoint: $(find "$work/halves-$settings")"
    halves=$(train "halves-$settings" $given --max_steps 20 --num_csx 3 \
        --checkpoint_path "$checkpoint")
    [ "$whole" = "$halves" ] || fail "$settings: other weights after a checkpoint"
    other=$(train "other-$settings" $given --num_steps 20 --seed 10)
    [ "$whole" != "$other" ] || fail "$settings: the seed changes nothing"
done
exit "$failed"
