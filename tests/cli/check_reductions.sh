#!/bin/sh
# How gradient sums are kept, from the command line: each payload gives weights of its own, which
# are the same for any number of replicas and weight servers, and after a run in two halves.
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

all=''
for payload in fp32 bf16 bf16sr fp16 cb16; do
    alone=$(train "$payload" --weight_grad_reduce $payload --num_steps 20)
    [ -n "$alone" ] || fail "no digest with $payload"
    for replicas in 2 3 4; do
        shared=$(train "$payload-$replicas" --weight_grad_reduce $payload --num_steps 20 \
            --num_csx $replicas --max_wgt_servers $((replicas % 3)))
        [ "$shared" = "$alone" ] || fail "$payload: other weights with $replicas replicas"
    done
    all="$all$alone
"
done
[ "$(printf '%s' "$all" | sort -u | grep -c .)" -eq 5 ] || fail "payloads give equal weights: $all"

whole=$(train whole --weight_grad_reduce bf16sr --num_steps 20 --seed 9)
train halves --weight_grad_reduce bf16sr --max_steps 7 --seed 9 >/dev/null
halves=$(train halves --weight_grad_reduce bf16sr --max_steps 20 --num_csx 3 --seed 9 \
    --checkpoint_path "$(find "$work/halves" -name '*.h5' -o -name '*.mdl' | sort | tail -n 1)")
[ "$whole" = "$halves" ] || fail "bf16sr: other weights after a checkpoint"
other=$(train other --weight_grad_reduce bf16sr --num_steps 20 --seed 10)
[ "$whole" != "$other" ] || fail "the seed changes nothing"
exit "$failed"
