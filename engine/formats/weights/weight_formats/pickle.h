/* The part of Python's pickle that a file of tensors needs: what torch.load(weights_only=True)
 * accepts. Anything else, which could call code, is refused by its opcode and place. */
#ifndef CSE_WEIGHT_FORMATS_PICKLE_H
#define CSE_WEIGHT_FORMATS_PICKLE_H

#include "engine/formats/weights/weights.h"

typedef enum cse_pickle_kind {
    CSE_PICKLE_OTHER, /* none, a boolean, a number without use, a type */
    CSE_PICKLE_INTEGER,
    CSE_PICKLE_TEXT,
    CSE_PICKLE_LIST, /* or a tuple */
    CSE_PICKLE_DICT, /* items: key, value, key, value, ... */
    CSE_PICKLE_NAME, /* of something that may be called, or of a storage's type */
    CSE_PICKLE_STORAGE,
    CSE_PICKLE_TENSOR,
    CSE_PICKLE_MARK
} cse_pickle_kind;

typedef struct cse_pickle_value cse_pickle_value;
struct cse_pickle_value {
    cse_pickle_kind kind;
    int count, capacity;      /* of items */
    cse_pickle_value **items; /* storage: the key; tensor: storage, offset, shape, strides */
    int64_t integer;          /* storage: its elements' type */
    const char *text;
};

/* Reads a pickle; the value lives in the arena. CSE_DATA, with `source` and the place. */
cse_status cse_pickle_read(cse_arena *arena, const char *source, const unsigned char *bytes,
                           size_t size, cse_pickle_value **value);

#endif
