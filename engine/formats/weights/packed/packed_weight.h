/* Weights whose elements lie in a file as blocks of a packed type: they are read as float32, block
 * by block. */
#ifndef CSE_WEIGHTS_PACKED_WEIGHT_H
#define CSE_WEIGHTS_PACKED_WEIGHT_H

#include "csengine/status.h"
#include "csengine/tensor.h"
#include "engine/base/types/packed/packed.h"

/* Whether rows of that shape are whole blocks of the type. */
bool cse_packed_fits(const cse_packed_type *type, cse_shape shape);
/* Bytes of so many elements, which are whole blocks. */
uint64_t cse_packed_bytes(const cse_packed_type *type, uint64_t elements);

/* Where the blocks of a weight lie. */
typedef struct cse_packed_place {
    const cse_packed_type *type;
    int descriptor;
    const char *path, *name; /* for messages */
    uint64_t offset;
} cse_packed_place;

/* Bytes [first, first + bytes) of its float32 values. CSE_IO. */
cse_status cse_packed_read(const cse_packed_place *place, uint64_t first, size_t bytes, void *to);

/* Packs so many values, which are whole blocks. */
void cse_packed_pack(const cse_packed_type *type, const float *values, size_t count,
                     unsigned char *to);

#endif
