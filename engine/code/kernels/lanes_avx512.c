/* What is written for lanes of either width (lanes.h), for AVX-512. */
#define CSE_LANE_COUNT 16

#include "engine/code/kernels/lanes.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include "engine/code/kernels/convert_in_lanes.h"
#include "engine/code/kernels/matmul_in_lanes.h"
#include "engine/code/kernels/matmul_tiles_in_lanes.h"
#include "engine/code/kernels/packed_few_rows_in_lanes.h"

#else

#include "engine/code/kernels/matmul_narrow.h"
#include "engine/code/kernels/packed_few_rows.h"

static bool runs_here(void)
{
    return false;
}

const cse_narrow_way cse_narrow_avx512 = { .name = "avx512", .runs_here = runs_here };

/* Never called: cse_isa_runs says no. */
void cse_packed_few_rows_avx512(const cse_few_rows *few)
{
    (void)few;
}

#endif
