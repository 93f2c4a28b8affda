/* What is kept in blocks is told by the state's type: all other states of optimizers are floats. */
#include "engine/nn/update/moments.h"

#include <stdio.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/base/config/settings.h"
#include "engine/graph/ops/blockwise.h"
#include "engine/nn/update/grad_scaler.h"

static bool is(const cse_settings *settings, const char *name, const char *value)
{
    return strcmp(cse_settings_text(settings, name), value) == 0;
}

/* Whether a parameter has any under these settings. */
static bool keeps_moments(const cse_optimizer_descriptor *optimizer, const cse_settings *settings)
{
    cse_declared_state declared[CSE_MAX_DECLARED_STATES];
    const int count = optimizer->states(settings, cse_shape_of(2, 2), declared);
    bool any = false;
    for (int s = 0; s < count; s++)
        any = any || declared[s].moment != CSE_NO_MOMENT;
    return any;
}

cse_status cse_moments_check(const cse_optimizer_descriptor *optimizer,
                             const cse_settings *settings)
{
    if (!cse_setting_table_has(optimizer->settings, "moments"))
        return CSE_OK;
    if (!is(settings, "moments", "bfloat16") && cse_settings_has(settings, "moments_rounding"))
        return cse_fail(CSE_CONFIG,
                        "optimizer %s: moments_rounding (%s) is for moments: bfloat16, and "
                        "moments is %s: leave moments_rounding out",
                        optimizer->name, cse_settings_origin(settings, "moments_rounding"),
                        cse_settings_text(settings, "moments"));
    if (!is(settings, "moments", "float32") && !keeps_moments(optimizer, settings))
        return cse_fail(CSE_CONFIG,
                        "optimizer %s: moments (%s) is %s, but it keeps none with these settings: "
                        "leave it out, or give the optimizer a momentum (beta1 of Adafactor)",
                        optimizer->name, cse_settings_origin(settings, "moments"),
                        cse_settings_text(settings, "moments"));
    return CSE_OK;
}

cse_status cse_moment_options(const cse_optimizer_descriptor *optimizer,
                              const cse_settings *settings, const cse_declared_state *declared,
                              cse_state_options *options)
{
    const int64_t elements = cse_shape_elements(options->shape);
    options->dtype = CSE_FLOAT32;
    if (declared->moment == CSE_NO_MOMENT || !cse_setting_table_has(optimizer->settings, "moments"))
        return CSE_OK;
    if (is(settings, "moments", "bfloat16"))
        options->dtype = CSE_BFLOAT16;
    if (!is(settings, "moments", "int8_blocks") || elements < CSE_MOMENT_LEAST)
        return CSE_OK;
    if (declared->initial != 0)
        return cse_fail(CSE_CONFIG,
                        "optimizer %s: moments (%s) is int8_blocks, which begin at 0, but %s "
                        "begins at %g: take bfloat16 or float32",
                        optimizer->name, cse_settings_origin(settings, "moments"), declared->name,
                        declared->initial);
    options->dtype = CSE_INT32;
    options->shape = cse_shape_of(cse_block_count(elements), CSE_BLOCK_WORDS);
    return CSE_OK;
}

static bool may_be_negative(const cse_optimized *one, int state)
{
    return (one->positive_states >> state & 1U) == 0;
}

cse_tensor *cse_moment_read(const cse_optimized *one, int state)
{
    cse_state *kept = one->states[state];
    cse_tensor *value = cse_read(kept);
    if (kept->dtype == CSE_BFLOAT16)
        return cse_cast(value, CSE_FLOAT32);
    if (kept->dtype == CSE_INT32)
        return cse_dequantize_blockwise(value, may_be_negative(one, state), one->parameter->shape);
    return value;
}

void cse_moment_assign(const cse_optimized *one, int state, const cse_settings *settings,
                       cse_tensor *finite, cse_tensor *next)
{
    cse_state *kept = one->states[state];
    char stream[600];
    if (kept->dtype == CSE_INT32) {
        cse_assign(kept, cse_quantize_blockwise(next, may_be_negative(one, state), finite,
                                                finite != NULL ? cse_read(kept) : NULL));
        return;
    }
    if (kept->dtype == CSE_BFLOAT16) {
        snprintf(stream, sizeof stream, "%s.rounding", kept->name);
        if (!cse_settings_has(settings, "moments_rounding") ||
            is(settings, "moments_rounding", "stochastic"))
            next = cse_stochastic_round(next, CSE_BFLOAT16, stream);
        next = cse_cast(next, CSE_BFLOAT16);
    }
    cse_assign_if(finite, kept, next);
}
