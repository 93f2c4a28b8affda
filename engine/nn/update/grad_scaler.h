/* What the other files of the session ask of a gradient scaler. */
#ifndef CSE_ENGINE_NN_UPDATE_GRAD_SCALER_H
#define CSE_ENGINE_NN_UPDATE_GRAD_SCALER_H

#include "engine/nn/configured.h"

/* The scaler that a call means: NULL stands for that of the session's precision. NULL where the
 * loss is not scaled. */
cse_grad_scaler *cse_grad_scaler_meant(const cse_network *network, cse_grad_scaler *scaler);

bool cse_grad_scaler_is_dynamic(const cse_grad_scaler *scaler);

/* Makes the scaler that `precision` asks for, before the first load, save or run. */
cse_status cse_network_settle_precision(cse_network *network);
/* Warns, once, of a format whose gradients need dynamic loss scaling; `dynamic`: they have it. */
void cse_network_warn_of_precision(cse_network *network, bool dynamic);

/* The norm that it clips gradients to which the step does not clip otherwise; 0: none. */
double cse_grad_scaler_norm(const cse_grad_scaler *scaler);

/* The gradients of an optimizer, clipped to that norm of all that were unscaled in this step,
 * unless the step clips them itself. */
cse_tensor *const *cse_grad_scaler_clip(cse_grad_scaler *scaler, const cse_optimizer *optimizer,
                                        cse_tensor *const gradients[]);

/* A new value for a state, unless gradients are not finite; `finite` NULL: always. */
void cse_assign_if(cse_tensor *finite, cse_state *state, cse_tensor *next);

#endif
