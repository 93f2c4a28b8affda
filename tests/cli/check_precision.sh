#!/bin/sh
# `csengine compile --print_precision`: the report of types as text and JSON; disabled mixed
# precision leaves the compiled step unchanged; a pattern that matches nothing is reported with its
# position; and mixed precision gives the same bits for any number of replicas.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
config=${top_srcdir:-.}/configs/synthetic.yaml
own=$work/own.yaml

fail() {
    echo "FAIL: $1"
    failed=1
}

compile() {
    "$csengine" compile "$config" --model_dir "$work/model" "$@" 2>"$work/err"
}

report=$(compile --set precision.fp16_type=bfloat16 --print_precision) || fail "$(cat "$work/err")"
for line in 'products: 5, 5 of them in 16 bits' \
    'matmul  *allow  bf16,bf16  *-> fp32  .*model.last_layer  # preset' \
    'cross_entropy  *deny  *fp32,int32' 'once a step: the update'; do
    echo "$report" | grep -q "$line" || fail "the report lacks: $line"
done

# What the policy permits and what this run executes are told apart, in text and in JSON.
for emulated in true false; do
    executed='fp32'
    [ "$emulated" = true ] && executed='fp32 in 8, bf16 across'
    set -- --set precision.fp16_type=bfloat16 --set precision.tile_length=8 --print_precision \
        --set precision.emulate_accumulation="$emulated"
    compile "$@" | grep -q "^matmul .* fp32 in 8, bf16 across  *$executed  *[0-9]* " ||
        fail "emulated $emulated: the report does not say what is executed"
    compile "$@" | grep -q 'sums: permitted  *sums: executed' || fail "no heads of the sums"
    compile "$@" --json |
        grep -qF "\"permitted\":\"fp32 in 8, bf16 across\",\"executed\":\"$executed\"" ||
        fail "emulated $emulated: the JSON does not say what is executed"
done

# The lines of the report, one a step, are JSON with the same totals.
compile --set precision.fp16_type=bfloat16 --print_precision --json >"$work/json"
grep -q '"products":5,.*"products_low":5[,}]' "$work/json" ||
    fail "JSON: $(cat "$work/json")"

plain=$(compile --print_after=memory_plan)
off=$(compile --print_after=memory_plan --set precision.fp16_type=float16 \
    --set precision.graphamp.preset=mp0)
[ "$plain" = "$off" ] || fail "mp0 changed the plan"

section='precision: {fp16_type: bfloat16, disable_graphamp: [model.haed*]}'
sed "s/^    loop:/    $section\n    loop:/" "$config" >"$own"
line=$(grep -n 'model.haed' "$own" | cut -d : -f 1)
column=$(grep 'model.haed' "$own" | sed 's/model.haed.*//' | tr -d '\n' | wc -c)
"$csengine" compile "$own" --model_dir "$work/model" >/dev/null 2>"$work/err" &&
    fail "a pattern that matches nothing is accepted"
grep -q "own.yaml:$line:$((column + 1)): the pattern \"model.haed\*\" matches no scope" \
    "$work/err" || fail "no place: $(cat "$work/err")"

# What only training has may be named all the same: an evaluation has no such scopes.
section='precision: {fp16_type: bfloat16, disable_graphamp: [loss*, optimizer*]}'
sed "s/^    loop:/    $section\n    loop:/" "$config" >"$own"
"$csengine" start "$own" --model_dir "$work/trained" --num_steps 2 >/dev/null 2>"$work/err" ||
    fail "patterns of training: $(cat "$work/err")"
"$csengine" eval "$own" --model_dir "$work/trained" >/dev/null 2>"$work/err" ||
    fail "an evaluation fails for patterns of training: $(cat "$work/err")"

# The plan's memory, and its ratio to the least that the order of work allows.
"$csengine" compile "$config" --model_dir "$work/model" >"$work/out" 2>/dev/null
grep -Eq '^Memory: [0-9.]+ MB of workspace a replica \([1-9]\.[0-9]{3} of what' "$work/out" ||
    fail "no memory: $(cat "$work/out")"

digests=''
for replicas in 1 3; do
    digest=$("$csengine" start "$config" --model_dir "$work/run$replicas" --num_csx "$replicas" \
        --set precision.fp16_type=bfloat16 --num_steps 10 2>&1 | sed -n 's/^Weights digest: //p')
    [ -n "$digest" ] || fail "no digest with $replicas replicas"
    digests="$digests $digest"
done
[ "$(echo "$digests" | tr ' ' '\n' | sort -u | grep -c .)" -eq 1 ] || fail "digests:$digests"
exit "$failed"
