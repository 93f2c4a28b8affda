/* Static and dynamic loss scaling.
 *
 * The loss is multiplied by the scale before gradients are taken, and gradients are divided by it
 * after they are summed, so that small ones do not underflow in a format with few exponent bits.
 * The dynamic scale is halved when more than the tolerated fraction of steps overflowed, doubled
 * after a number of steps without overflow, and kept within bounds; this is computed inside the
 * step. */
#include "engine/graph/precision/precision.h"

#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"

static const double default_max = 32768;          /* 2^15 */
static const double cbfloat16_max = 2147483648.0; /* 2^31: the format's range is twice as wide */
static const double least_min = 6.103515625e-5;   /* 2^-14 */

const cse_setting cse_scaler_setting_table[] = {
    { "loss_scale", CSE_SETTING_TEXT, "0.0", 0, 0, NULL,
      "`dynamic`, or the number the loss is multiplied by; 0: no loss scaling", NULL },
    { "init_scale", CSE_SETTING_NUMBER, "null", 6.103515625e-5, 1e30, NULL,
      "first dynamic scale; null: the maximum", NULL },
    { "steps_per_increase", CSE_SETTING_INTEGER, "2000", 1, 2147483647, NULL,
      "steps without overflow after which the scale is doubled", NULL },
    { "min_loss_scale", CSE_SETTING_NUMBER, "null", 6.103515625e-5, 1e30, NULL,
      "least dynamic scale; null: 2^-14", NULL },
    { "max_loss_scale", CSE_SETTING_NUMBER, "null", 6.103515625e-5, 1e30, NULL,
      "greatest dynamic scale; null: 2^15, and 2^31 when the step computes in cbfloat16", NULL },
    { "overflow_tolerance", CSE_SETTING_NUMBER, "0.0", 0, 1, NULL,
      "fraction of steps that may overflow before the scale is halved", NULL },
    { "max_gradient_norm", CSE_SETTING_NUMBER, "null", 0, 1e30, NULL,
      "with a dynamic scale: norm that gradients are clipped to where the step does not clip them; "
      "null: none",
      NULL },
    { 0 },
};

static double number_or(const cse_settings *settings, const char *name, double otherwise)
{
    return cse_settings_has(settings, name) ? cse_settings_number(settings, name) : otherwise;
}

cse_status cse_scaler_settings_read(const cse_settings *settings, cse_dtype low,
                                    cse_scaler_settings *scaler)
{
    const char *text = cse_settings_text(settings, "loss_scale");
    *scaler = (cse_scaler_settings){
        .dynamic = text != NULL && strcmp(text, "dynamic") == 0,
        .min_loss_scale = number_or(settings, "min_loss_scale", least_min),
        .max_loss_scale = number_or(settings, "max_loss_scale",
                                    low == CSE_CBFLOAT16 ? cbfloat16_max : default_max),
        .max_gradient_norm = number_or(settings, "max_gradient_norm", 0),
        .overflow_tolerance = cse_settings_number(settings, "overflow_tolerance"),
        .steps_per_increase = cse_settings_integer(settings, "steps_per_increase"),
    };
    if (scaler->dynamic) {
        scaler->loss_scale = number_or(settings, "init_scale", scaler->max_loss_scale);
        if (scaler->min_loss_scale > scaler->loss_scale ||
            scaler->loss_scale > scaler->max_loss_scale)
            return cse_fail(CSE_CONFIG,
                            "grad_scaler: min_loss_scale %g, init_scale %g and max_loss_scale %g "
                            "must be in ascending order",
                            scaler->min_loss_scale, scaler->loss_scale, scaler->max_loss_scale);
        return CSE_OK;
    }
    char *end = NULL;
    scaler->loss_scale = text != NULL ? strtod(text, &end) : 0;
    if (text == NULL || end == text || *end != '\0' || !(scaler->loss_scale >= 0) ||
        scaler->loss_scale > 1e30)
        return cse_fail(CSE_CONFIG,
                        "grad_scaler: loss_scale (%s) is '%s'; accepted: `dynamic`, a number "
                        "above 0, or 0 for none",
                        cse_settings_origin(settings, "loss_scale"), text ? text : "null");
    return CSE_OK;
}

static cse_tensor *increment(cse_tensor *counter)
{
    return cse_add(counter, cse_constant_int(1));
}

cse_scaler_values cse_scaler_next(const cse_scaler_settings *scaler, cse_scaler_values now,
                                  cse_tensor *finite, cse_tensor **exhausted)
{
    cse_tensor *zero = cse_constant_int(0), *half = cse_constant(0.5), *two = cse_constant(2);
    cse_scaler_values next = now;
    *exhausted = NULL;
    next.num_skipped_steps =
        cse_where(finite, now.num_skipped_steps, increment(now.num_skipped_steps));
    if (!scaler->dynamic)
        return next;
    cse_tensor *steps = increment(now.steps_since_rescale);
    cse_tensor *overflows =
        cse_where(finite, now.overflows_since_rescale, increment(now.overflows_since_rescale));
    cse_tensor *fraction = cse_div(cse_cast(overflows, CSE_FLOAT32), cse_cast(steps, CSE_FLOAT32));
    cse_tensor *halve = cse_greater(fraction, cse_constant(scaler->overflow_tolerance));
    cse_tensor *scale = cse_where(halve, cse_mul(now.loss_scale, half), now.loss_scale);
    steps = cse_where(halve, zero, steps);
    overflows = cse_where(halve, zero, overflows);
    cse_tensor *twice =
        cse_greater_equal(steps, cse_constant_int((int32_t)scaler->steps_per_increase));
    scale = cse_where(twice, cse_mul(scale, two), scale);
    scale = cse_minimum(scale, cse_constant(scaler->max_loss_scale));
    cse_tensor *least = cse_constant(scaler->min_loss_scale);
    *exhausted = cse_cast(cse_less(scale, least), CSE_INT32);
    next.loss_scale = cse_maximum(scale, least);
    next.steps_since_rescale = cse_where(twice, zero, steps);
    next.overflows_since_rescale = cse_where(twice, zero, overflows);
    return next;
}
