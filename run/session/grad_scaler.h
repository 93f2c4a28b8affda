/* What the other files of the session ask of a gradient scaler. */
#ifndef CSE_RUN_SESSION_GRAD_SCALER_H
#define CSE_RUN_SESSION_GRAD_SCALER_H

#include "run/session/configured.h"

/* The scaler that a call means: NULL stands for that of the session's precision. NULL where the
 * loss is not scaled. */
cse_grad_scaler *cse_grad_scaler_meant(const cse_session *session, cse_grad_scaler *scaler);

bool cse_grad_scaler_is_dynamic(const cse_grad_scaler *scaler);

/* The norm that it clips gradients to which the step does not clip otherwise; 0: none. */
double cse_grad_scaler_norm(const cse_grad_scaler *scaler);

/* The gradients of an optimizer, clipped to that norm of all that were unscaled in this step,
 * unless the step clips them itself. */
cse_tensor *const *cse_grad_scaler_clip(cse_grad_scaler *scaler, const cse_optimizer *optimizer,
                                        cse_tensor *const gradients[]);

/* A new value for a state, unless gradients are not finite; `finite` NULL: always. */
void cse_assign_if(cse_tensor *finite, cse_state *state, cse_tensor *next);

#endif
