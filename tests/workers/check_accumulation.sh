#!/bin/sh
# Emulated accumulation in whole runs: one digest for any number of replicas, in each format and
# with stochastic rounding; a level without emulation changes nothing, emulation does.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
config=${top_srcdir:-.}/configs/synthetic.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $1"
    failed=1
}

# digest NAME REPLICAS SETTINGS...
digest() {
    name=$1
    replicas=$2
    shift 2
    options=''
    for setting in "$@"; do
        options="$options --set precision.$setting"
    done
    # shellcheck disable=SC2086
    "$csengine" start "$config" --model_dir "$work/$name-$replicas" --num_csx "$replicas" \
        --compile_dir "$work/compiled" --set precision.graphamp.preset=mp2 \
        --set precision.tile_length=4 --num_steps 6 $options 2>"$work/err" |
        sed -n 's/^Weights digest: //p' >"$work/digest"
    cat "$work/digest" "$work/err" | head -n 1
}

# Name, then settings.
while read -r name settings; do
    # shellcheck disable=SC2086
    first=$(digest "$name" 1 $settings)
    echo "$first" | grep -qE '^[0-9a-f]{16,}$' || fail "$name: $first"
    eval "digest_$name=\$first"
    for replicas in 2 3 4; do
        # shellcheck disable=SC2086
        other=$(digest "$name" $replicas $settings)
        [ "$other" = "$first" ] || fail "$name: $first with 1 replica, $other with $replicas"
    done
done <<'END'
bf16 fp16_type=bfloat16 emulate_accumulation=true
fp16 fp16_type=float16 emulate_accumulation=true
cb16 fp16_type=cbfloat16 loss_scaling_factor=dynamic emulate_accumulation=true
bf16sr fp16_type=bfloat16 tiling_accum=bf16sr emulate_accumulation=true
level2 fp16_type=bfloat16 precision_opt_level=2 emulate_accumulation=true
END

[ "$digest_bf16" != "$digest_bf16sr" ] || fail "stochastic rounding changes nothing"
permitted=$(digest permitted 1 fp16_type=bfloat16)
[ "$(digest level0 1 fp16_type=bfloat16 precision_opt_level=0)" = "$permitted" ] ||
    fail "a permission changed the numbers"
[ "$permitted" != "$digest_bf16" ] || fail "emulation changes nothing"
exit "$failed"
