/* Each loop runs over fixed blocks of 16 elements, which the compiler vectorises, and is compiled
 * for three instruction sets. */
#include "workers/arena/reduce_loops.h"

#include <stddef.h>

#include "engine/base/random.h"
#include "engine/base/types/narrow.h"
#include "engine/base/vector_clones.h"

#define FOR_EACH(i, n, statement)                   \
    do {                                            \
        int64_t block = 0;                          \
        for (; block + 16 <= (n); block += 16)      \
            for (int lane = 0; lane < 16; lane++) { \
                const int64_t i = block + lane;     \
                statement;                          \
            }                                       \
        for (int64_t i = block; i < (n); i++)       \
            statement;                              \
    } while (0)

CSE_VECTOR_CLONES(void, add_exact, (float *restrict y, const float *restrict x, int64_t n),
                  (y, x, n))
{
    FOR_EACH(i, n, y[i] += x[i]);
}

void cse_add_exact(float *restrict y, const float *restrict x, int64_t n)
{
    add_exact(y, x, n);
}

static inline uint32_t drawn(cse_draw draw, int64_t i)
{
    return cse_hash_bits(draw.key, draw.first + (uint32_t)i);
}

/* STORE(x, draw, i): the 16 bits of x. */
#define BFLOAT16(x, draw, i) ((void)(draw), cse_store_bfloat16(x))
#define BFLOAT16_STOCHASTIC(x, draw, i) cse_store_bfloat16_stochastic((x), drawn((draw), (i)))
#define FLOAT16(x, draw, i) ((void)(draw), cse_store_float16(x))
#define CBFLOAT16(x, draw, i) ((void)(draw), cse_store_cbfloat16(x))

#define LOOPS(name, STORE, load)                                                                   \
    CSE_VECTOR_CLONES(void, name##_pack,                                                           \
                      (uint16_t *restrict y, const float *restrict x, int64_t n, cse_draw y_draw), \
                      (y, x, n, y_draw))                                                           \
    {                                                                                              \
        FOR_EACH(i, n, y[i] = STORE(x[i], y_draw, i));                                             \
    }                                                                                              \
    CSE_VECTOR_CLONES(void, name##_unpack,                                                         \
                      (float *restrict y, const uint16_t *restrict x, int64_t n), (y, x, n))       \
    {                                                                                              \
        FOR_EACH(i, n, y[i] = load(x[i]));                                                         \
    }                                                                                              \
    CSE_VECTOR_CLONES(                                                                             \
        void, name##_add_packed,                                                                   \
        (uint16_t *restrict y, const uint16_t *restrict x, int64_t n, cse_draw y_draw),            \
        (y, x, n, y_draw))                                                                         \
    {                                                                                              \
        FOR_EACH(i, n, y[i] = STORE(load(y[i]) + load(x[i]), y_draw, i));                          \
    }                                                                                              \
    CSE_VECTOR_CLONES(void, name##_add_gradient,                                                   \
                      (uint16_t *restrict y, const float *restrict x, int64_t n, cse_draw y_draw,  \
                       cse_draw x_draw),                                                           \
                      (y, x, n, y_draw, x_draw))                                                   \
    {                                                                                              \
        FOR_EACH(i, n, y[i] = STORE(load(y[i]) + load(STORE(x[i], x_draw, i)), y_draw, i));        \
    }                                                                                              \
    CSE_VECTOR_CLONES(void, name##_add_unpacked,                                                   \
                      (float *restrict y, const uint16_t *restrict x, int64_t n, cse_draw y_draw), \
                      (y, x, n, y_draw))                                                           \
    {                                                                                              \
        FOR_EACH(i, n, y[i] = load(STORE(y[i] + load(x[i]), y_draw, i)));                          \
    }                                                                                              \
    CSE_VECTOR_CLONES(void, name##_add_rounded,                                                    \
                      (float *restrict y, const float *restrict x, int64_t n, cse_draw y_draw),    \
                      (y, x, n, y_draw))                                                           \
    {                                                                                              \
        FOR_EACH(i, n, y[i] = load(STORE(y[i] + x[i], y_draw, i)));                                \
    }                                                                                              \
    static const cse_reduce_loops name##_loops = { name##_pack,         name##_unpack,             \
                                                   name##_add_packed,   name##_add_gradient,       \
                                                   name##_add_unpacked, name##_add_rounded }

LOOPS(bf16, BFLOAT16, cse_load_bfloat16);
LOOPS(bf16sr, BFLOAT16_STOCHASTIC, cse_load_bfloat16);
LOOPS(fp16, FLOAT16, cse_load_float16);
LOOPS(cb16, CBFLOAT16, cse_load_cbfloat16);

const cse_reduce_loops *cse_reduce_loops_for(cse_rounding rounding)
{
    switch (rounding.format) {
    case CSE_BFLOAT16:
        return rounding.stochastic ? &bf16sr_loops : &bf16_loops;
    case CSE_FLOAT16:
        return rounding.stochastic ? NULL : &fp16_loops;
    case CSE_CBFLOAT16:
        return rounding.stochastic ? NULL : &cb16_loops;
    default:
        return NULL;
    }
}
