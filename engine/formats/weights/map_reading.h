/* Weights under other names, made of others when they are read. */
#ifndef CSE_WEIGHTS_MAP_READING_H
#define CSE_WEIGHTS_MAP_READING_H

#include "engine/base/types/packed/packed.h"
#include "engine/formats/weights/map.h"

/* How one weight is made. */
typedef struct cse_made_weight {
    const cse_map_rule *rule;
    int sources[CSE_MAP_PARTS]; /* of the other weights; to ours: the first alone */
    int *stack;                 /* of a stack, to ours: the source of each matrix, in the arena */
    int part;                   /* of theirs, to ours; of a stack, to theirs: the matrix */
    int64_t heads;              /* of a rotation; 0: none */
    int64_t rotated;            /* rows of a head that are rotated; 0: all */
    cse_fused fused;            /* of a fused rule */
    const float *factors;       /* without a rule: the elements; else NULL */
} cse_made_weight;

typedef struct cse_weight_mapping {
    cse_weights *from;
    bool to_theirs;
    cse_made_weight *list;
    int count, capacity;
    int kept;      /* -1: none */
    bool are_rows; /* what is kept are its packed rows, not its elements */
    unsigned char *elements;
} cse_weight_mapping;

/* The type of a weight that is made by moving whole rows of another one; else NULL. */
const cse_packed_type *cse_mapping_packed(const cse_weight_mapping *mapping,
                                          const cse_made_weight *made);
/* Makes them the weights of the view, which owns the mapping's list and `from`. */
void cse_mapping_open(cse_weight_mapping *mapping, cse_weights *view);

#endif
