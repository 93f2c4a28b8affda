/* Rotary positions (Su et al. 2021) as the ModelZoo's settings describe them. */
#ifndef CSE_MODELS_ROTARY_H
#define CSE_MODELS_ROTARY_H

#include "csengine/modules.h"

/* Reads rotary_dim (not given: a quarter of `head`, the channels of a head) and rope_theta.
 * CSE_CONFIG when so many channels cannot be rotated in pairs. */
cse_status cse_rotary_read(const cse_settings *settings, int64_t head, cse_rotary_options *rotary);

#endif
