/* Weights with the names of transformers, and adapters of PEFT added to them: a weight W of an
 * adapted module reads as
 *
 *   W + s B A           LoRA
 *   m (W + s B A) / n   DoRA, with n the norms of the rows of W + s B A
 *
 * in float32, row by row; parameters that an adapter trained as they are take the place of those
 * of the model. Several adapters are added with a weight each, as PEFT's add_weighted_adapter does:
 * `cat` adds their products, `linear` makes one adapter of sums of their factors, each times the
 * square root of its weight and scale. */
#ifndef CSE_WEIGHTS_PEFT_MERGED_H
#define CSE_WEIGHTS_PEFT_MERGED_H

#include "engine/formats/weights/map.h"
#include "engine/formats/weights/peft/folder.h"

typedef struct cse_peft_set {
    cse_peft_folder **folders;
    double *weights; /* of each */
    int count;
    bool is_linear; /* else cat */
} cse_peft_set;

/* Opens the folders. CSE_DATA: two of them cannot be added. cse_peft_set_close(), always. */
cse_status cse_peft_set_open(const cse_weights_adapters *adapters, cse_peft_set *set);
void cse_peft_set_close(cse_peft_set *set);

/* Replaces weights by those with the adapters, which own them and the set. `map` says which weights
 * lie the other way round; NULL: the adapters do. CSE_DATA, with names: a module or a parameter of
 * an adapter that the weights have not, or of another shape; then both stay the caller's. */
cse_status cse_peft_merge(cse_weights **weights, const cse_map *map, cse_peft_set *set);

#endif
