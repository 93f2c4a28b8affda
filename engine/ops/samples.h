/* Short forms for the samples of ops: inputs of a shape, and attributes that are integers. */
#ifndef CSE_OPS_SAMPLES_H
#define CSE_OPS_SAMPLES_H

#include "engine/graph/op.h"

#define CSE_COUNT_OF(...) (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

/* An input of rank 1 or more, whose sizes follow the bounds: float32 in [low, high], int32 in
 * [low, high), or bools. */
#define CSE_FLOATS(low, high, ...)                                                 \
    {                                                                              \
        { CSE_COUNT_OF(__VA_ARGS__), { __VA_ARGS__ } }, CSE_FLOAT32, (low), (high) \
    }
#define CSE_INTEGERS(low, high, ...)                                             \
    {                                                                            \
        { CSE_COUNT_OF(__VA_ARGS__), { __VA_ARGS__ } }, CSE_INT32, (low), (high) \
    }
#define CSE_BOOLS(...)                                                 \
    {                                                                  \
        { CSE_COUNT_OF(__VA_ARGS__), { __VA_ARGS__ } }, CSE_BOOL, 0, 2 \
    }

/* Attributes of a sample: integers only. */
#define CSE_WITH_INTEGERS(...) \
    .attributes = { .integer_count = CSE_COUNT_OF(__VA_ARGS__), .integers = { __VA_ARGS__ } }

#endif
