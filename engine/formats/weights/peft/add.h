/* Adapters of PEFT for weights of any origin. */
#ifndef CSE_WEIGHTS_PEFT_ADD_H
#define CSE_WEIGHTS_PEFT_ADD_H

#include "engine/formats/weights/map.h"

/* To weights with the names of transformers, by whose map they become ours. */
cse_status cse_peft_add(cse_weights **weights, const cse_map *map, const json_t *facts,
                        const cse_weights_adapters *adapters);
/* To weights of ours, which become those of transformers and ours again: what an adapter is beside,
 * a weight of several of ours as well, has the names and the layout of transformers. Factors that
 * they have themselves are added first. CSE_DATA: there is no map of transformers for the model. */
cse_status cse_peft_add_to_ours(cse_weights **weights, const cse_weights_adapters *adapters);

#endif
