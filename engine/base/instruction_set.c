/* The processor is asked once. The level that choices are made by is one atomic number, so that
 * code in inner functions may ask for it. */
#include "engine/base/instruction_set.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

static const char *const names[CSE_ISA_COUNT] = { "baseline", "avx2", "avx512", "avx512_bf16",
                                                  "amx" };

const char *cse_isa_name(cse_isa isa)
{
    return isa < CSE_ISA_COUNT ? names[isa] : "unknown";
}

cse_isa cse_isa_from_name(const char *name)
{
    int isa = 0;
    while (isa < CSE_ISA_COUNT && strcmp(name, names[isa]) != 0)
        isa++;
    return (cse_isa)isa;
}

#if defined(__x86_64__) && defined(__GNUC__)

/* The matrix units' bits, which compilers before gcc 13 cannot ask for by name. */
static bool has_matrix_units(void)
{
    enum { AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24 };
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & AMX_BF16) != 0 && (d & AMX_TILE) != 0;
}

static bool has_half_floats(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}

static cse_isa ask_processor(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_half_floats())
        return CSE_ISA_BASELINE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512cd"))
        return CSE_ISA_AVX2;
    if (!__builtin_cpu_supports("avx512bf16"))
        return CSE_ISA_AVX512;
    return has_matrix_units() ? CSE_ISA_AMX : CSE_ISA_AVX512_BF16;
}

#else

static cse_isa ask_processor(void)
{
    return CSE_ISA_BASELINE;
}

#endif

/* Levels plus 1; 0: not known yet. Concurrent first calls write the same values. */
static _Atomic int processor, chosen;

cse_isa cse_isa_of_processor(void)
{
    int known = atomic_load_explicit(&processor, memory_order_relaxed);
    if (known == 0) {
        known = (int)ask_processor() + 1;
        atomic_store_explicit(&processor, known, memory_order_relaxed);
    }
    return (cse_isa)(known - 1);
}

static cse_isa allowed(void)
{
    const char *wanted = getenv("CSE_ISA");
    cse_isa isa = wanted != NULL ? cse_isa_from_name(wanted) : CSE_ISA_COUNT;
    return isa < cse_isa_of_processor() ? isa : cse_isa_of_processor();
}

cse_isa cse_isa_of_host(void)
{
    int known = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (known == 0) {
        known = (int)allowed() + 1;
        atomic_store_explicit(&chosen, known, memory_order_relaxed);
    }
    return (cse_isa)(known - 1);
}

cse_status cse_isa_check(void)
{
    const char *wanted = getenv("CSE_ISA");
    if (wanted == NULL || cse_isa_from_name(wanted) < CSE_ISA_COUNT)
        return CSE_OK;
    return cse_fail(CSE_CONFIG,
                    "CSE_ISA: '%s' is no instruction set; accepted: baseline, avx2, avx512, "
                    "avx512_bf16, amx, or unset it for all that the processor has",
                    wanted);
}

void cse_isa_limit(cse_isa isa)
{
    cse_isa most = isa == CSE_ISA_COUNT ? allowed() : cse_isa_of_processor();
    atomic_store_explicit(&chosen, (int)(isa < most ? isa : most) + 1, memory_order_relaxed);
}
