/* Moments of an optimizer in fewer bits than float32: the setting `moments`.
 *
 *   bfloat16      16 bits; rounded stochastically, or to nearest with `moments_rounding: nearest`
 *   int8_blocks   8 bits and a magnitude for each block of 256 (engine/graph/ops/blockwise.h), for
 *                 parameters of at least CSE_MOMENT_LEAST elements; those of others are float32
 *
 * The rule of an optimizer sees float32 and computes in it: a moment is widened before, and what is
 * kept of the new one is rounded after the update has used it. Random bits are those of the state's
 * name, the step and the element, so that they are the same for any number of processes. */
#ifndef CSE_ENGINE_NN_UPDATE_MOMENTS_H
#define CSE_ENGINE_NN_UPDATE_MOMENTS_H

#include "engine/nn/network.h"

enum { CSE_MOMENT_LEAST = 4096 };

/* Whether the settings of an optimizer, or of a group of it, agree. CSE_CONFIG. */
cse_status cse_moments_check(const cse_optimizer_descriptor *optimizer,
                             const cse_settings *settings);

/* How a state that was declared so is kept: sets its type, and its shape, which was that in
 * float32. CSE_CONFIG where it cannot be. */
cse_status cse_moment_options(const cse_optimizer_descriptor *optimizer,
                              const cse_settings *settings, const cse_declared_state *declared,
                              cse_state_options *options);

/* In a step: the values of a state of an optimizer, and its new ones; `finite` NULL: always. */
cse_tensor *cse_moment_read(const cse_optimized *one, int state);
void cse_moment_assign(const cse_optimized *one, int state, const cse_settings *settings,
                       cse_tensor *finite, cse_tensor *next);

#endif
