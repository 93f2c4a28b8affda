/* Functions that are compiled for several instruction sets; the loader selects the widest one that
 * the processor supports. */
#ifndef CSE_BASE_VECTOR_CLONES_H
#define CSE_BASE_VECTOR_CLONES_H

/* Not with sanitizers: they would instrument the function that selects, which runs before they are
 * initialized. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#if __GNUC__ >= 12
#define CSE_VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define CSE_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define CSE_VECTOR_CLONES
#endif
#define CSE_VECTOR_INLINE static inline __attribute__((always_inline))

#endif
