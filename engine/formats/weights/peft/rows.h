/* Rows of factors go through the rules of the map as those of the weights beside them: B and the
 * magnitudes have the rows of their weight, which a rotation puts in another order and a module of
 * theirs has one behind the other; A has its columns, which none does. */
#ifndef CSE_WEIGHTS_PEFT_ROWS_H
#define CSE_WEIGHTS_PEFT_ROWS_H

#include "engine/formats/weights/map.h"

/* Of weights that have the names of those beside them, in part; each result owns `*from`, which
 * stays the caller's after a failure. CSE_DATA: one of them is no matrix of its own there. */
cse_status cse_peft_rows_to_theirs(const cse_map *map, const json_t *facts, cse_weights **from,
                                   cse_weights **to);
cse_status cse_peft_rows_to_ours(const cse_map *map, const json_t *facts, cse_weights **from,
                                 cse_weights **to);

#endif
