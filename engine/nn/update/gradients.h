/* Gradients of a step that is traced, for the optimizers and the scaler of the session. */
#ifndef CSE_ENGINE_NN_UPDATE_GRADIENTS_H
#define CSE_ENGINE_NN_UPDATE_GRADIENTS_H

#include "engine/nn/network.h"

/* The gradient of `loss` with respect to a state, as cse_gradients gives it; zeros where no values
 * lead from the state to the loss. The same loss and state give the same tensor. */
cse_tensor *cse_gradient_of(cse_tensor *loss, cse_state *state);

/* The name of the state whose gradient the tensor is; NULL when it is none. */
const char *cse_gradient_name_view(const cse_tensor *gradient);

/* Whether a loss may be differentiated; else fails the step with a message that `caller` begins. */
bool cse_loss_is_differentiable(const char *caller, const cse_tensor *loss);
/* The same for what gradients are to be clipped to. */
bool cse_clip_is_valid(const char *caller, const cse_clip *clip);

/* model.fc.weight -> fc.weight */
const char *cse_short_name(const char *state);

#endif
