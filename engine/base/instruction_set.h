/* The instruction sets that code is chosen by at run time, in one place: what the processor has,
 * what CSE_ISA in the environment allows, and what an artefact was compiled for.
 *
 * CSE_ISA=baseline|avx2|avx512|avx512_bf16|amx makes every choice as on a processor that has no
 * more than that. It serves tests and comparisons; the artefact of a step records the level it was
 * compiled for, and the processes that open it choose by that level, wherever they were started. */
#ifndef CSE_BASE_INSTRUCTION_SET_H
#define CSE_BASE_INSTRUCTION_SET_H

#include <stdbool.h>

#include "csengine/status.h"

/* Ordered: a processor of a level has all lower ones.
 *
 *   avx2          AVX2 and FMA and F16C
 *   avx512        with the extensions F, BW, DQ, VL and CD
 *   avx512_bf16   dot products of bfloat16 pairs (VDPBF16PS)
 *   amx           matrix units for bfloat16 */
typedef enum cse_isa {
    CSE_ISA_BASELINE,
    CSE_ISA_AVX2,
    CSE_ISA_AVX512,
    CSE_ISA_AVX512_BF16,
    CSE_ISA_AMX,
    CSE_ISA_COUNT
} cse_isa;

const char *cse_isa_name(cse_isa isa);

/* CSE_ISA_COUNT for a name that is none. */
cse_isa cse_isa_from_name(const char *name);

/* The level of the processor, whatever the environment allows. */
cse_isa cse_isa_of_processor(void);

/* The level that choices are made by. */
cse_isa cse_isa_of_host(void);

/* Whether code of a level may be chosen. */
static inline bool cse_isa_runs(cse_isa isa)
{
    return cse_isa_of_host() >= isa;
}

/* CSE_CONFIG where CSE_ISA is no name of a level. */
cse_status cse_isa_check(void);

/* From now on no choice goes beyond `isa`, nor beyond the processor. CSE_ISA_COUNT takes back an
 * earlier limit. */
void cse_isa_limit(cse_isa isa);

#endif
