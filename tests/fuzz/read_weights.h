/* Reads all that a file of weights says is there: the begin and the end of each tensor. */
#ifndef CSE_TESTS_FUZZ_READ_WEIGHTS_H
#define CSE_TESTS_FUZZ_READ_WEIGHTS_H

#include <stdlib.h>

#include "engine/formats/weights/weights.h"

enum { MOST_BYTES_READ = 1 << 16 };

/* What may not be readable although its size is known (a chunk that is damaged, an entry of an
 * archive whose checksum differs) is refused with a message; `sure`: all else must be readable. */
static inline void read_weights(cse_weights *weights, bool sure)
{
    unsigned char *block = malloc(MOST_BYTES_READ);
    for (int i = 0; i < weights->count; i++) {
        const uint64_t bytes = cse_weight_bytes(&weights->list[i]);
        const size_t some = bytes < MOST_BYTES_READ ? (size_t)bytes : MOST_BYTES_READ;
        if (cse_weights_find(weights, weights->list[i].name) != i)
            abort();
        if ((cse_weights_read(weights, i, 0, some, block) != CSE_OK ||
             cse_weights_read(weights, i, bytes - some, some, block) != CSE_OK) &&
            ((sure && weights->list[i].span == NULL) || *cse_error_message() == '\0'))
            abort();
    }
    free(block);
}

#endif
