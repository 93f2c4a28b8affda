#!/bin/sh
# `csengine plan` of many cores: the file that a measurement writes plans the same step, a machine
# of 128 cores that is not there is planned and placed, and what is wrong or without effect is
# refused.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
config=${top_srcdir:-.}/configs/synthetic.yaml

fail() {
    echo "FAIL: $*"
    failed=1
}

plan() { # arguments...
    "$csengine" plan "$config" --model_dir "$work/model" --compile_dir "$work/compiled" "$@" \
        >"$work/out" 2>"$work/err"
}

plans() { # arguments...
    plan "$@" || fail "plan $*: $(cat "$work/err")"
}

refused() { # TEXT arguments...
    text=$1
    shift
    if plan "$@"; then
        fail "accepted: plan $*"
    elif ! grep -q -e "$text" "$work/err"; then
        fail "plan $*: no '$text' in $(cat "$work/err")"
    fi
}

here=$work/here.json
plans --measure_machine "$here" --steps 5
grep -q '"update_bytes_per_s": [1-9]' "$here" || fail "no rate of the update: $(cat "$here")"
plans --machine "$here" --replicas 1 --json
grep -q '"strong":1.0,' "$work/out" || fail "one replica, beside itself: $(cat "$work/out")"

# The same rates on two sockets with 64 cores each.
there=$work/there.json
sed 's/"topology": "[^"]*"/"topology": "pack:2 numa:4 l3:4 core:4 pu:1"/
    s/"link_bytes_per_s": [^,]*/"link_bytes_per_s": 1e11/' "$here" >"$there"
plans --machine "$there"
grep -q '128 processors, 128 cores, 32 last caches, 8 memories, 2 sockets' "$work/out" ||
    fail "another machine: $(cat "$work/out")"
grep -q '^128 ' "$work/out" || fail "no line for all cores: $(cat "$work/out")"
grep -q 'takes for granted' "$work/out" || fail "no assumptions"
plans --machine "$there" --placement --replicas 128 --json
[ "$(grep -o '"role":"replica"' "$work/out" | wc -l)" -eq 128 ] || fail "places: $(cat "$work/out")"
[ "$(grep -o '"processor":[0-9]*' "$work/out" | sort -u | wc -l)" -eq 128 ] ||
    fail "a processor twice: $(cat "$work/out")"
plans --machine "$there" --placement --replicas 2 --set backend.cluster_config.binding=cores
grep -q '^replica 1 .* 1$' "$work/out" || fail "the second is on another socket: $(cat "$work/out")"
plans --placement --set backend.cluster_config.binding=none
grep -q '^replica 0  *-' "$work/out" || fail "bound, with none: $(cat "$work/out")"
grep -q 'Huge pages: ' "$work/out" || fail "nothing of huge pages: $(cat "$work/out")"

refused 'binding.*auto.*cores.*none' --placement --set backend.cluster_config.binding=core
refused '--hosts has no effect with --machine' --machine "$here" --hosts 2
refused '--machine has no effect with --measure_machine' --measure_machine "$here" --machine "$here"
refused '--profile has no effect with --placement' --placement --profile "$here"
refused '--steps has no effect with --machine' --machine "$here" --steps 3
refused '--replicas 0: accepted' --machine "$here" --replicas 0
refused '--replicas 1..: accepted' --machine "$here" --replicas 1..
refused '129 replicas.*1 to 128' --machine "$there" --replicas 129
refused 'cannot be read' --machine "$work/none.json"
sed 's/pack:2 numa/packs:2 numa/' "$there" >"$work/wrong.json"
refused 'lstopo FILE.xml' --machine "$work/wrong.json"
refused 'product_bfloat16_flop_per_s' --machine "$here" --set precision.fp16_type=bfloat16 \
    --set precision.precision_opt_level=1
exit "$failed"
