/* Weight sparsity: parameters whose elements are zero where a mask is.
 *
 * The mask is a state, float32 `sparsity.PARAMETER.mask` of zeros and ones. It is made when the
 * parameter has its first values, and changed by the updates of the optimizer that it was
 * configured for. A step that is traced takes the following from here, in this order: gradients as
 * the masks leave them, the masks after the step, and what they leave of values. */
#ifndef CSE_ENGINE_NN_UPDATE_SPARSITY_H
#define CSE_ENGINE_NN_UPDATE_SPARSITY_H

#include "engine/base/config/sparsity_settings.h"
#include "engine/nn/configured.h"

/* Of one parameter. */
typedef struct cse_sparse {
    cse_state *parameter, *mask;
    const cse_sparsity_group *group;
    const cse_optimizer *optimizer; /* whose updates change the mask */
    cse_state *clock;               /* its updates so far */
    /* `derived`: the mask was made of the parameter's values; `settled`: they are zero where it is;
     * `settling`: that is being seen to. */
    bool derived, settled, settling;
    /* Of the step that is traced: its number among those of the network, the sums of the gradients
     * over the batch before they are masked (NULL: none was taken), and the sparsity aimed at. */
    uint64_t trace;
    cse_tensor *dense, *target;
} cse_sparse;

/* cse_configure_sparsity; `tree` is the section of a configuration. */
void cse_configured_sparsity(cse_optimizer *optimizer, cse_yaml_node *tree);

/* Masks the gradients of an optimizer's parameters, in their order, with the masks before the step;
 * NULL entries stay. Keeps what RigL ranks. */
void cse_sparsity_mask_gradients(const cse_optimizer *optimizer, cse_tensor *gradients[]);

/* The numbers that the masks of an optimizer depend on, for all its parameters. */
typedef struct cse_sparsity_clock {
    cse_tensor *steps;  /* int32 scalar: updates so far; NULL: nothing is sparse */
    cse_tensor *finite; /* NULL: every update is done */
} cse_sparsity_clock;
cse_sparsity_clock cse_sparsity_clock_read(const cse_optimizer *optimizer, cse_tensor *finite);
/* Moves the clock on. */
void cse_sparsity_clock_move(const cse_optimizer *optimizer, const cse_sparsity_clock *clock);

/* Traces the parameter's mask after the step and assigns it; masks a gradient that was not masked
 * yet. Returns a bool of the parameter's shape, or NULL for one that is dense. */
cse_tensor *cse_sparsity_next_mask(const cse_sparsity_clock *clock, const cse_optimizer *optimizer,
                                   cse_state *parameter, cse_tensor **gradient);

/* x where the mask holds, else 0; x itself where `kept` is NULL. */
cse_tensor *cse_sparsity_apply(cse_tensor *kept, cse_tensor *x);

#endif
