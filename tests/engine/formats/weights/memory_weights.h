/* Weights in memory, to be written, and comparisons of what was read; shared by the tests. */
#ifndef CSE_TESTS_MEMORY_WEIGHTS_H
#define CSE_TESTS_MEMORY_WEIGHTS_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/formats/weights/open.h"
#include "engine/formats/weights/save.h"
#include "tests/engine/formats/checkpoint/fixture.h"

/* The bytes of a weight are a function of its position and the byte's. */
static inline unsigned char memory_byte(int index, uint64_t at, cse_element element)
{
    const uint64_t mixed = (at + 1) * 2654435761u + (uint64_t)index * 97;
    return element == CSE_ELEMENT_BOOL ? (unsigned char)(mixed >> 9 & 1)
                                       : (unsigned char)(mixed >> 11);
}

static inline cse_status memory_read(cse_weights *weights, int index, uint64_t first, size_t bytes,
                                     void *to)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)to)[i] = memory_byte(index, first + i, weights->list[index].element);
    return CSE_OK;
}

static inline cse_weights *memory_weights(void)
{
    cse_weights *weights = cse_weights_new("memory");
    weights->read = memory_read;
    return weights;
}

static inline void memory_add(cse_weights *weights, const char *name, cse_element element,
                              cse_shape shape)
{
    const cse_status status = cse_weights_add(
        weights, &(cse_weight){ .name = name, .element = element, .shape = shape, .file = -1 });
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

/* Whether both have the same weights with the same bits, in any order. */
static inline bool weights_equal(cse_weights *one, cse_weights *other)
{
    bool equal = one->count == other->count;
    for (int i = 0; equal && i < one->count; i++) {
        const int k = cse_weights_find(other, one->list[i].name);
        equal = k >= 0 && one->list[i].element == other->list[k].element &&
                cse_shape_equal(one->list[i].shape, other->list[k].shape);
        const size_t bytes = (size_t)cse_weight_bytes(&one->list[i]);
        unsigned char *a = calloc(bytes + 1, 1), *b = calloc(bytes + 1, 1);
        equal = equal && cse_weights_read(one, i, 0, bytes, a) == CSE_OK &&
                cse_weights_read(other, k, 0, bytes, b) == CSE_OK && memcmp(a, b, bytes) == 0;
        /* A part alone is the same as that part of the whole. */
        if (equal && bytes >= 16)
            equal = cse_weights_read(other, k, 8, 8, b) == CSE_OK && memcmp(a + 8, b, 8) == 0;
        free(a);
        free(b);
    }
    return equal;
}

#endif
