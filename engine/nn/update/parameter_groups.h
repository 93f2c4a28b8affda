/* The parameters of an optimizer, in groups of equal settings. */
#ifndef CSE_ENGINE_NN_UPDATE_PARAMETER_GROUPS_H
#define CSE_ENGINE_NN_UPDATE_PARAMETER_GROUPS_H

#include "engine/nn/configured.h"

typedef struct cse_state_list {
    cse_state *const *states;
    int count;
} cse_state_list;

/* Divides the parameters into the groups that the optimizer's setting `params` describes, and the
 * last one for all others. Declares the states of each. */
cse_status cse_optimizer_divide(cse_network *network, cse_optimizer *optimizer,
                                cse_state_list parameters);

/* Whether the group's learning rate is the same in every step; then `rate` receives it. */
bool cse_group_constant_rate(const cse_optimizer *optimizer, const cse_parameter_group *group,
                             double *rate);

/* Whether the group has the tag; `tag` NULL: whether it has none. */
bool cse_group_has_tag(const cse_parameter_group *group, const char *tag);

#endif
