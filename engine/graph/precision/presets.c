/* The presets: which ops are in allow, infer and deny.
 *
 * An op's descriptor names its precision family, and a preset is a column of the small table family
 * x preset. So each op is in exactly one set of each preset by construction. */
#include "engine/base/config/precision_settings.h"
#include "engine/graph/precision/graphamp.h"

/* Rows are families, columns mp0 to mp4. */
static const cse_precision_class classes[CSE_FAMILY_COUNT][CSE_PRESET_COUNT] = {
    [CSE_FAMILY_STRUCTURAL] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY },
    [CSE_FAMILY_CAST] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY },
    [CSE_FAMILY_FLOAT32] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY },
    [CSE_FAMILY_PRODUCT] = { CSE_DENY, CSE_ALLOW, CSE_ALLOW, CSE_ALLOW, CSE_ALLOW },
    [CSE_FAMILY_MOVEMENT] = { CSE_DENY, CSE_INFER, CSE_INFER, CSE_INFER, CSE_INFER },
    [CSE_FAMILY_NEUTRAL] = { CSE_DENY, CSE_DENY, CSE_INFER, CSE_INFER, CSE_INFER },
    [CSE_FAMILY_SENSITIVE] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_INFER },
    [CSE_FAMILY_REDUCTION] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_INFER },
    [CSE_FAMILY_SOFTMAX] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_ALLOW },
    [CSE_FAMILY_NORM] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_ALLOW },
    [CSE_FAMILY_LOSS] = { CSE_DENY, CSE_DENY, CSE_DENY, CSE_DENY, CSE_ALLOW },
};

const char *cse_preset_name(int preset)
{
#define CSE_PRESET_NAME(name, number) [number] = #name,
    static const char *const names[CSE_PRESET_COUNT] = { CSE_PRESETS(CSE_PRESET_NAME,
                                                                     CSE_PRESET_NAME) };
#undef CSE_PRESET_NAME
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
    return classes[op->precision][preset];
}

cse_precision_class cse_precision_class_of(const cse_precision *precision, const cse_op *op)
{
    for (int i = 0; i < precision->override_count; i++)
        if (precision->overrides[i].op == op)
            return precision->overrides[i].precision_class;
    return cse_preset_class(op, precision->preset);
}

/* An allow op must be able to read 16 bits and write float32. Ops that copy bytes, or whose code is
 * written for one type, cannot. */
cse_status cse_precision_class_possible(const cse_op *op, cse_precision_class wanted)
{
    cse_precision_family family = op->precision;
    if (wanted == CSE_DENY)
        return CSE_OK;
    if (family == CSE_FAMILY_STRUCTURAL || family == CSE_FAMILY_CAST ||
        family == CSE_FAMILY_FLOAT32)
        return cse_fail(CSE_CONFIG, "the types of %s are fixed: it is in deny", op->name);
    bool one_type = family == CSE_FAMILY_MOVEMENT || op->kind == CSE_OP_BLOCK;
    if (wanted == CSE_ALLOW && one_type)
        return cse_fail(CSE_CONFIG, "%s reads and writes one type; accepted: infer, deny",
                        op->name);
    return CSE_OK;
}

bool cse_precision_stores_low(const cse_precision *precision, const cse_op *op)
{
    cse_precision_family family = op->precision;
    if (op->kind != CSE_OP_COMPOSITE)
        return false;
    return (family == CSE_FAMILY_NORM && precision->low_norms) ||
           (family == CSE_FAMILY_SOFTMAX && precision->low_softmax);
}

cse_status cse_presets_check(void)
{
    for (int i = 0; cse_ops[i] != NULL; i++)
        if (cse_ops[i]->precision == CSE_FAMILY_STRUCTURAL)
            return cse_fail(CSE_INTERNAL, "presets: op '%s' names no precision family",
                            cse_ops[i]->name);
    for (int preset = 0; preset < CSE_PRESET_COUNT; preset++)
        for (int i = 0; cse_ops[i] != NULL; i++)
            if (cse_precision_class_possible(cse_ops[i], cse_preset_class(cse_ops[i], preset)) !=
                CSE_OK)
                return cse_fail_within(CSE_INTERNAL, "presets: %s: ", cse_preset_name(preset));
    return CSE_OK;
}
