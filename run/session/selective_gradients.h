/* Selective gradients: of some parameters only chosen elements are trained. */
#ifndef CSE_RUN_SESSION_SELECTIVE_GRADIENTS_H
#define CSE_RUN_SESSION_SELECTIVE_GRADIENTS_H

#include "run/session/session.h"

/* Gives the parameters of the optimizer that the tree chooses their masks: one mapping or a list of
 * them ({param_filter: ..., init_method: outlier}); null is none. */
cse_status cse_session_select_gradients(cse_optimizer *optimizer, cse_yaml_node *tree);

/* Computes the values of a mask from those of its parameter. */
void cse_selection_fill(cse_session *session, const struct cse_selection *selection,
                        int32_t mask[]);

/* Gives each mask that has no values the ones that its parameter's values make, before steps change
 * these. */
void cse_session_settle_selections(cse_session *session);

/* In a step. Where the parameter has no mask both give `x` and `chosen`. A tensor of another shape
 * than the parameter's stays as it is. */
cse_tensor *cse_selected_or_zero(const cse_optimized *one, cse_tensor *x);
cse_tensor *cse_selected_or(const cse_optimized *one, cse_tensor *chosen, cse_tensor *other);

#endif
