/* The presets: which ops are in allow, infer and deny.
 *
 * An op belongs to a family by what rounding its inputs does to it, and a preset is a row of the
 * small table family x preset. So each op is in exactly one set of each preset by construction;
 * what is left to check is that the list of families names each op once. An op that the list does
 * not name has the family of its descriptor's class. */
#include <string.h>

#include "engine/precision/graphamp.h"

typedef enum family {
    STRUCTURAL, /* where values come from and go to: types are part of the engine's contract */
    WRITTEN,    /* a cast: the types it is written with are its meaning */
    MADE,       /* makes float32 numbers: of no floats, or by additions into a table */
    PRODUCT,    /* sums of products, which are exact in float32 */
    MOVEMENT,   /* no arithmetic: commutes with rounding */
    NEUTRAL,    /* at most one rounding, or a choice of values */
    STEEP,      /* the range changes steeply: powers, logarithms, quotients */
    REDUCTION,  /* long sums */
    SOFTMAX,
    NORM,
    LOSS,
    FAMILY_COUNT,
} family;

/* Rows are families, columns mp0 to mp4. */
static const cse_precision_class classes[FAMILY_COUNT][CSE_PRESET_COUNT] = {
    [STRUCTURAL] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY },
    [WRITTEN] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY },
    [MADE] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY },
    [PRODUCT] = { CSE_DENY, CSE_ALLOW, CSE_ALLOW, CSE_ALLOW, CSE_ALLOW },
    [MOVEMENT] = { CSE_DENY, CSE_INFER, CSE_INFER, CSE_INFER, CSE_INFER },
    [NEUTRAL] = { CSE_DENY, CSE_DENY, CSE_INFER, CSE_INFER, CSE_INFER },
    [STEEP] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_INFER },
    [REDUCTION] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_INFER },
    [SOFTMAX] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_ALLOW },
    [NORM] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_ALLOW },
    [LOSS] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_ALLOW },
};

static const struct {
    const char *op;
    family family;
} rows[] = {
    { "abs", NEUTRAL },
    { "add", NEUTRAL },
    { "argmax", NEUTRAL },
    { "avg_pool2d", NEUTRAL },
    { "avg_pool2d_gradient", NEUTRAL },
    { "bernoulli", MADE },
    { "broadcast_to", MOVEMENT },
    { "cast", WRITTEN },
    { "causal_mask", STEEP },
    { "concat", MOVEMENT },
    { "conv2d", PRODUCT },
    { "conv2d_gradient_input", PRODUCT },
    { "conv2d_gradient_weight", PRODUCT },
    { "cos", STEEP },
    { "cross_entropy", LOSS },
    { "div", STEEP },
    { "dropout", NEUTRAL },
    { "embedding", MOVEMENT },
    { "equal", NEUTRAL },
    { "erf", STEEP },
    { "exp", STEEP },
    { "gather", MOVEMENT },
    { "gelu", NEUTRAL },
    { "greater", NEUTRAL },
    { "greater_equal", NEUTRAL },
    { "is_finite", NEUTRAL },
    { "layer_norm", NORM },
    { "less", NEUTRAL },
    { "less_equal", NEUTRAL },
    { "log", STEEP },
    { "log_softmax", LOSS },
    { "logical_and", NEUTRAL },
    { "logical_not", NEUTRAL },
    { "logical_or", NEUTRAL },
    { "matmul", PRODUCT },
    { "max", NEUTRAL },
    { "max_pool2d", NEUTRAL },
    { "max_pool2d_gradient", NEUTRAL },
    { "maximum", NEUTRAL },
    { "minimum", NEUTRAL },
    { "mul", NEUTRAL },
    { "neg", NEUTRAL },
    { "not_equal", NEUTRAL },
    { "one_hot", MADE },
    { "pad", MOVEMENT },
    { "pow", STEEP },
    { "random_key", MADE },
    { "random_normal", MADE },
    { "random_uniform", MADE },
    { "reciprocal", STEEP },
    { "relu", NEUTRAL },
    { "reshape", MOVEMENT },
    { "rsqrt", STEEP },
    { "scaled_dot_product_attention", PRODUCT },
    { "scatter_add", MADE },
    { "sigmoid", NEUTRAL },
    { "sign", NEUTRAL },
    { "silu", NEUTRAL },
    { "sin", STEEP },
    { "slice", MOVEMENT },
    { "softmax", SOFTMAX },
    { "sqrt", STEEP },
    { "square", STEEP },
    { "stochastic_round", WRITTEN },
    { "sub", NEUTRAL },
    { "sum", REDUCTION },
    { "tanh", NEUTRAL },
    { "transpose", MOVEMENT },
    { "where", NEUTRAL },
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static const cse_op *const structural[] = {
    &cse_op_input,        &cse_op_constant, &cse_op_state,       &cse_op_step_number,
    &cse_op_sample_index, &cse_op_gradient, &cse_op_batch_sum,   &cse_op_partial,
    &cse_op_assign,       &cse_op_fetch,    &cse_op_materialize,
};

enum { STRUCTURAL_COUNT = sizeof structural / sizeof structural[0] };

static bool is_structural(const cse_op *op)
{
    bool found = false;
    for (int i = 0; i < STRUCTURAL_COUNT; i++)
        found = found || structural[i] == op;
    return found;
}

static family family_of(const cse_op *op)
{
    if (is_structural(op))
        return STRUCTURAL;
    for (int i = 0; i < ROW_COUNT; i++)
        if (strcmp(rows[i].op, op->name) == 0)
            return rows[i].family;
    if (op->kind == CSE_OP_BROADCAST || op->kind == CSE_OP_RESHAPE)
        return MOVEMENT;
    return op->precision == CSE_ALLOW ? PRODUCT : op->precision == CSE_INFER ? NEUTRAL : STEEP;
}

const char *cse_preset_name(int preset)
{
    static const char *const names[CSE_PRESET_COUNT] = { "mp0", "mp1", "mp2", "mp3", "mp4" };
    return names[preset];
}

const char *cse_precision_class_name(cse_precision_class precision_class)
{
    static const char *const names[] = {
        [CSE_DENY] = "deny", [CSE_INFER] = "infer", [CSE_ALLOW] = "allow"
    };
    return names[precision_class];
}

cse_precision_class cse_preset_class(const cse_op *op, int preset)
{
    return classes[family_of(op)][preset];
}

cse_precision_class cse_precision_class_of(const cse_precision *precision, const cse_op *op)
{
    for (int i = 0; i < precision->override_count; i++)
        if (precision->overrides[i].op == op)
            return precision->overrides[i].precision_class;
    return cse_preset_class(op, precision->preset);
}

/* An allow op may read 16 bits and write float32: ops that copy bytes, or whose code is written for
 * one type, cannot. */
cse_status cse_precision_class_possible(const cse_op *op, cse_precision_class wanted)
{
    family kin = family_of(op);
    if (wanted == CSE_DENY)
        return CSE_OK;
    if (kin == STRUCTURAL || kin == WRITTEN || kin == MADE)
        return cse_fail(CSE_CONFIG, "the types of %s are fixed: it is in deny", op->name);
    bool one_type = kin == MOVEMENT || op->kind == CSE_OP_BLOCK;
    if (wanted == CSE_ALLOW && one_type)
        return cse_fail(CSE_CONFIG, "%s reads and writes one type; accepted: infer, deny",
                        op->name);
    return CSE_OK;
}

bool cse_precision_stores_low(const cse_precision *precision, const cse_op *op)
{
    family kin = family_of(op);
    if (op->kind != CSE_OP_COMPOSITE)
        return false;
    return (kin == NORM && precision->low_norms) || (kin == SOFTMAX && precision->low_softmax);
}

bool cse_precision_is_product(const cse_op *op)
{
    return family_of(op) == PRODUCT;
}

bool cse_precision_is_movement(const cse_op *op)
{
    return family_of(op) == MOVEMENT;
}

bool cse_precision_is_reduction(const cse_op *op)
{
    return family_of(op) == REDUCTION;
}

bool cse_precision_is_softmax(const cse_op *op)
{
    return family_of(op) == SOFTMAX;
}

bool cse_precision_is_norm(const cse_op *op)
{
    return family_of(op) == NORM;
}

/* How many rows name the op. */
static int rows_of(const char *name)
{
    int count = 0;
    for (int i = 0; i < ROW_COUNT; i++)
        count += strcmp(rows[i].op, name) == 0;
    return count;
}

cse_status cse_presets_check(void)
{
    for (int i = 0; i < ROW_COUNT; i++) {
        const cse_op *op = cse_op_find(rows[i].op);
        if (op == NULL || is_structural(op))
            return cse_fail(CSE_INTERNAL, "presets: there is no op '%s'", rows[i].op);
        if (rows_of(rows[i].op) != 1)
            return cse_fail(CSE_INTERNAL, "presets: op '%s' stands twice", rows[i].op);
    }
    for (int preset = 0; preset < CSE_PRESET_COUNT; preset++)
        for (int i = 0; cse_ops[i] != NULL; i++)
            if (cse_precision_class_possible(cse_ops[i], cse_preset_class(cse_ops[i], preset)) !=
                CSE_OK)
                return cse_fail_within(CSE_INTERNAL, "presets: %s: ", cse_preset_name(preset));
    return CSE_OK;
}
