/* Selective gradients: of some parameters only chosen elements are trained. */
#ifndef CSE_ENGINE_NN_UPDATE_SELECTIVE_GRADIENTS_H
#define CSE_ENGINE_NN_UPDATE_SELECTIVE_GRADIENTS_H

#include "engine/nn/network.h"

/* Gives the parameters of the optimizer that the tree chooses their masks: one mapping or a list of
 * them ({param_filter: ..., init_method: outlier}); null is none. */
cse_status cse_configured_selection(cse_optimizer *optimizer, cse_yaml_node *tree);

/* Gives each mask that has no values the ones that its parameter's values make, before steps change
 * these. */
void cse_network_settle_selections(cse_network *network);

/* In a step. Where the parameter has no mask both give `x` and `chosen`. A tensor of another shape
 * than the parameter's stays as it is. */
cse_tensor *cse_selected_or_zero(const cse_optimized *one, cse_tensor *x);
cse_tensor *cse_selected_or(const cse_optimized *one, cse_tensor *chosen, cse_tensor *other);

#endif
