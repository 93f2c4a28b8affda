/* Functions that are compiled for several instruction sets, of which each call takes the widest one
 * that the processor has and that instruction_set.h allows.
 *
 * The bits of a result do not depend on which one runs: the loops are elementwise or integer, and
 * no multiplication is contracted with an addition. */
#ifndef CSE_BASE_VECTOR_CLONES_H
#define CSE_BASE_VECTOR_CLONES_H

#include "engine/base/instruction_set.h"

#define CSE_VECTOR_INLINE static inline __attribute__((always_inline))

/* CSE_VECTOR_CLONES(int, sum, (const int *x, int count), (x, count)) { ... } defines the static
 * function `sum`; its body follows. */
#if defined(__x86_64__) && defined(__GNUC__)
#define CSE_VECTOR_CLONES(type, name, parameters, arguments)                                \
    CSE_VECTOR_INLINE type name##_in_vectors parameters;                                    \
    __attribute__((                                                                         \
        target("avx512f,avx512vl,avx512bw,avx512dq"))) static type name##_avx512 parameters \
    {                                                                                       \
        return name##_in_vectors arguments;                                                 \
    }                                                                                       \
    __attribute__((target("avx2"))) static type name##_avx2 parameters                      \
    {                                                                                       \
        return name##_in_vectors arguments;                                                 \
    }                                                                                       \
    static type name##_baseline parameters                                                  \
    {                                                                                       \
        return name##_in_vectors arguments;                                                 \
    }                                                                                       \
    static type name parameters                                                             \
    {                                                                                       \
        return cse_isa_runs(CSE_ISA_AVX512) ? name##_avx512 arguments                       \
               : cse_isa_runs(CSE_ISA_AVX2) ? name##_avx2 arguments                         \
                                            : name##_baseline arguments;                    \
    }                                                                                       \
    CSE_VECTOR_INLINE type name##_in_vectors parameters
#else
#define CSE_VECTOR_CLONES(type, name, parameters, arguments) static type name parameters
#endif

#endif
