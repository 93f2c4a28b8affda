/* Parameters that stay packed in memory, as they lie in the file that they come from.
 *
 * Such a parameter is not trained. Its state is int32 [rows, words]
 * (base/types/packed/packed_rows.h) and has the name of the parameter with that of the type behind
 * it, "model.head.weight.Q4_1", which tells a checkpoint's readers what it is; to read it gives the
 * unpacked matrix (unpack_weight), of which products and look-ups make no copy. */
#ifndef CSE_ENGINE_NN_PACKED_PARAMETERS_H
#define CSE_ENGINE_NN_PACKED_PARAMETERS_H

#include "csengine/model.h"
#include "engine/base/arena.h"
#include "engine/base/types/packed/packed.h"

typedef struct cse_packed_parameter {
    const char *name; /* without "model." */
    const cse_packed_type *type;
    cse_shape shape; /* [rows, columns], whole blocks */
} cse_packed_parameter;

typedef struct cse_packed_parameters {
    cse_packed_parameter *list;
    int count, capacity;
    bool all;    /* those that could be trained, too: nothing is */
    bool halves; /* those that lie in the file in 16 bits, too */
    int kept;    /* of them, in the models that were made */
    /* Of a weight that is packed in the file and was unpacked: the first, why, and how many. */
    const char *unpacked, *why;
    int unpacked_count;
} cse_packed_parameters;

/* Packed weights of a run, which live in the arena. */
cse_packed_parameters *cse_packed_parameters_new(cse_arena *arena);
/* `parameter->name` must live as long as they. */
void cse_packed_parameters_add(cse_packed_parameters *packed,
                               const cse_packed_parameter *parameter);
/* Notes one that lies packed in the file and does not stay so. */
void cse_packed_parameters_unpack(cse_packed_parameters *packed, const char *name, const char *why);
/* Frees what lies outside of the arena. */
void cse_packed_parameters_clear(cse_packed_parameters *packed);

/* The type that a parameter of the model that is built stays packed as; NULL: none. */
const cse_packed_type *cse_packed_parameters_take(cse_packed_parameters *packed, const char *name,
                                                  cse_shape shape, bool trained);

#endif
