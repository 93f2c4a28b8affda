/* Loss scaling and gradient clipping, as traced tensor operations. */
#ifndef CSE_PRECISION_PRECISION_H
#define CSE_PRECISION_PRECISION_H

#include "csengine/extend.h"
#include "csengine/train.h"

/* Settings of a gradient scaler, resolved. Defaults as in the reference: loss_scale 1; dynamic:
 * 2^15 (2^31 with cbfloat16) at first and at most, at least 2^-14, doubled after 2000 steps,
 * tolerance 0. */
typedef struct cse_scaler_settings {
    bool dynamic;
    double loss_scale; /* static; or the first one */
    double min_loss_scale, max_loss_scale, overflow_tolerance;
    double max_gradient_norm; /* 0: none */
    int64_t steps_per_increase;
} cse_scaler_settings;

extern const cse_setting cse_scaler_setting_table[];

/* `low`: the format that parts of the step are computed in, or CSE_FLOAT32.
 * CSE_CONFIG for a loss_scale that is neither `dynamic` nor a positive number, and for bounds that
 * contradict one another. */
cse_status cse_scaler_settings_read(const cse_settings *settings, cse_dtype low,
                                    cse_scaler_settings *scaler);

/* States of the scaler, before or after a step. */
typedef struct cse_scaler_values {
    cse_tensor *loss_scale;                                                        /* float32 */
    cse_tensor *steps_since_rescale, *overflows_since_rescale, *num_skipped_steps; /* int32 */
} cse_scaler_values;

/* The states after a step whose gradients were `finite` (bool scalar). `exhausted` receives an
 * int32 that is 1 when the scale would have to fall below its minimum: nothing can make such
 * gradients finite. A static scale counts the skipped steps alone. */
cse_scaler_values cse_scaler_next(const cse_scaler_settings *scaler, cse_scaler_values now,
                                  cse_tensor *finite, cse_tensor **exhausted);

/* Sum of squares over all elements of all gradients, a float32 scalar; `each` receives each
 * gradient's. */
cse_tensor *cse_sum_of_squares(cse_tensor *const gradients[], int count, cse_tensor *each[]);

/* min(1, max_norm / (norm + 1e-6)), as PyTorch's clip_grad_norm_. */
cse_tensor *cse_clip_factor(cse_tensor *sum_of_squares, double max_norm);

/* Each element in [-max_value, max_value]. */
cse_tensor *cse_clip_to_value(cse_tensor *gradient, double max_value);

#endif
