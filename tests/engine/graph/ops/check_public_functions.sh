#!/bin/sh
# No public function of csengine/generated/ops.h is without values of PyTorch: it is an op of
# tests/reference/op_values*.h, it is called in check_function_values.c, or it stands here with the
# test of its values.
set -eu
top_srcdir=${top_srcdir:-.}
tests=$top_srcdir/tests/engine/graph/ops
failed=0

# Random ones are compared with Philox in Python, the others with sums by hand.
held_by() {
    case $1 in
    bernoulli | bernoulli_like | random_normal | random_normal_like | random_uniform | \
        random_uniform_like | random_key | dropout | step_number | sample_index)
        echo engine/graph/ops/check_op_values.c
        ;;
    cross_entropy_sums) echo engine/graph/ops/check_loss_ratio.c ;;
    reshape | broadcast_to | cast) echo engine/graph/ops/check_op_values.c ;;
    stochastic_round) echo engine/base/types/check_stochastic_rounding.c ;;
    constant_int | full) echo run/session/check_session.c ;;
    largest_magnitudes) echo run/check_sparsity.c ;;
    unpack_weight | packed_linear | packed_embedding)
        echo engine/code/kernels/check_packed_weight.c
        ;;
    *) return 1 ;;
    esac
}

functions=$(grep -o '^CSE_API [a-z_ ]*\*\{0,1\}cse_[a-z0-9_]*' \
    "$top_srcdir/include/csengine/generated/ops.h" | grep -o 'cse_[a-z0-9_]*$')
[ "$(echo "$functions" | wc -l)" -gt 140 ] || { echo 'FAIL: the header is read wrongly'; exit 1; }
for function in $functions; do
    name=${function#cse_}
    grep -qh "^{ \"$name\"\|^    { \"$name\"" "$top_srcdir"/tests/reference/op_values*.h && continue
    grep -qw "$function" "$tests/check_function_values.c" && continue
    test=$(held_by "$name") && [ -f "$top_srcdir/tests/$test" ] && continue
    echo "FAIL: $function has no values of PyTorch (tests/reference/make_function_values.py)"
    failed=1
done
exit "$failed"
