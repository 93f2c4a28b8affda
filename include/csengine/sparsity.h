/* Sparsity of updates that a program writes itself; cse_configure_sparsity (csengine/train.h) is
 * that of the engine's optimizers. */
#ifndef CSENGINE_SPARSITY_H
#define CSENGINE_SPARSITY_H

#include "csengine/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cse_sparsity cse_sparsity;

/* Makes parameters sparse that an update of your own changes, before the first step; `settings` as
 * those of cse_configure_sparsity. NULL after a failure, which the session keeps. */
CSE_API cse_sparsity *cse_sparsity_new(cse_state *const parameters[], int count,
                                       const char *settings);

/* In a step, before the update: moves the masks on, and sets to zero what they leave out of the
 * gradients, one a parameter in the order of cse_sparsity_new; NULL: it is not updated.
 *   finite   a bool scalar, without which nothing changes (cse_grad_scaler_finite); NULL: always
 *   kept     set to bools of the parameters' shapes, NULL for one that is dense: parameter and
 *            states are to be zero where it is false, before your update and after it. */
CSE_API void cse_sparsity_step(cse_sparsity *sparsity, cse_tensor *finite, cse_tensor *gradients[],
                               cse_tensor *kept[]);

#ifdef __cplusplus
}
#endif

#ifndef CSE_BUILDING_LIBRARY
#define cse_sparsity_step(...) (cse_at(__FILE__, __LINE__), cse_sparsity_step(__VA_ARGS__))
#endif

#endif
