/* Each loop keeps more independent sums than an instruction's latency times the instructions that
 * start in a cycle (24 vectors, or 4 tiles), so that only the units' throughput limits it. Empty
 * assembly keeps the compiler from dropping or joining operations.
 *
 *   float32   24 sums += x * y in vectors of 512 bits (256 with AVX2, 128 elsewhere)
 *   dots      24 sums of 16 lanes, each += the products of two pairs of bfloat16
 *   tiles     4 tile sums += 2 x 2 tiles, the shape that products use */
#include "run/measure/register_peak.h"

#include <stddef.h>
#include <stdint.h>

#include "engine/base/clock.h"

enum { VECTORS = 24, VECTOR_STEPS = 10000, TILE_STEPS = 20000 };

/* Some iterations of a loop; returns its operations. */
typedef double peak_loop(void);

static double float32_plain(void)
{
    typedef float four __attribute__((vector_size(16)));
    four sums[8], x = { 0.999F, 0.999F, 0.999F, 0.999F }, y = { 0.001F, 0.001F, 0.001F, 0.001F };
    for (int i = 0; i < 8; i++)
        sums[i] = y * (float)i;
    for (int step = 0; step < VECTOR_STEPS; step++) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
            sums[i] = sums[i] * x + y;
    }
    for (int i = 0; i < 8; i++)
        __asm__ volatile("" : : "m"(sums[i]));
    return 2.0 * 4 * 8 * VECTOR_STEPS;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include "engine/code/kernels/matmul_narrow.h"

__attribute__((target("avx512f"))) static double float32_avx512(void)
{
    __m512 sums[VECTORS], x = _mm512_set1_ps(0.999F), y = _mm512_set1_ps(0.001F);
#pragma GCC unroll 24
    for (int i = 0; i < VECTORS; i++)
        sums[i] = _mm512_set1_ps((float)i);
    for (int step = 0; step < VECTOR_STEPS; step++) {
#pragma GCC unroll 24
        for (int i = 0; i < VECTORS; i++) {
            sums[i] = _mm512_fmadd_ps(sums[i], x, y);
            __asm__ volatile("" : "+v"(sums[i]));
        }
    }
    return 2.0 * 16 * VECTORS * VECTOR_STEPS;
}

enum { NARROW_VECTORS = 12 }; /* of 16 registers */

__attribute__((target("avx2,fma"))) static double float32_avx2(void)
{
    __m256 sums[NARROW_VECTORS], x = _mm256_set1_ps(0.999F), y = _mm256_set1_ps(0.001F);
#pragma GCC unroll 12
    for (int i = 0; i < NARROW_VECTORS; i++)
        sums[i] = _mm256_set1_ps((float)i);
    for (int step = 0; step < VECTOR_STEPS; step++) {
#pragma GCC unroll 12
        for (int i = 0; i < NARROW_VECTORS; i++) {
            sums[i] = _mm256_fmadd_ps(sums[i], x, y);
            __asm__ volatile("" : "+v"(sums[i]));
        }
    }
    return 2.0 * 8 * NARROW_VECTORS * VECTOR_STEPS;
}

__attribute__((target("avx512f,avx512bf16"))) static double dots(void)
{
    __m512 sums[VECTORS];
    /* 2^-100 in each lane: no sum grows beyond its type, and none is subnormal. */
    __m512bh x = (__m512bh)_mm512_set1_epi16(0x0d80), y = (__m512bh)_mm512_set1_epi16(0x3f80);
#pragma GCC unroll 24
    for (int i = 0; i < VECTORS; i++)
        sums[i] = _mm512_set1_ps((float)i);
    for (int step = 0; step < VECTOR_STEPS; step++) {
#pragma GCC unroll 24
        for (int i = 0; i < VECTORS; i++) {
            sums[i] = _mm512_dpbf16_ps(sums[i], x, y);
            __asm__ volatile("" : "+v"(sums[i]));
        }
    }
    return 2.0 * 32 * VECTORS * VECTOR_STEPS;
}

__attribute__((target("amx-tile,amx-bf16"), noinline)) static double tiles(void)
{
    static const unsigned char zeroes[1024] __attribute__((aligned(64)));
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config __attribute__((aligned(64))) = { .palette = 1 };
    for (int tile = 0; tile < 8; tile++) {
        config.row_bytes[tile] = 64;
        config.rows[tile] = 16;
    }
    _tile_loadconfig(&config);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_loadd(4, zeroes, 64);
    _tile_loadd(5, zeroes, 64);
    _tile_loadd(6, zeroes, 64);
    _tile_loadd(7, zeroes, 64);
    for (int step = 0; step < TILE_STEPS; step++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_release();
    return 2.0 * 16 * 16 * 32 * 4 * TILE_STEPS;
}

static peak_loop *loop_of(cse_peak peak)
{
    switch (peak) {
    case CSE_PEAK_FLOAT32:
        if (__builtin_cpu_supports("avx512f"))
            return float32_avx512;
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? float32_avx2
                                                                               : float32_plain;
    case CSE_PEAK_BFLOAT16_DOTS:
        return __builtin_cpu_supports("avx512bf16") ? dots : NULL;
    case CSE_PEAK_BFLOAT16_TILES:
        return cse_narrow_amx.runs_here() ? tiles : NULL;
    default:
        return NULL;
    }
}
#else
static peak_loop *loop_of(cse_peak peak)
{
    return peak == CSE_PEAK_FLOAT32 ? float32_plain : NULL;
}
#endif

const char *cse_peak_name(cse_peak peak)
{
    static const char *const names[CSE_PEAK_COUNT] = { "float32 FMA", "VDPBF16PS", "AMX bf16" };
    return names[peak];
}

bool cse_peak_is_here(cse_peak peak)
{
    return loop_of(peak) != NULL;
}

double cse_peak_measure(cse_peak peak)
{
    peak_loop *loop = loop_of(peak);
    if (loop == NULL)
        return 0;
    const int64_t start_ns = cse_clock_ns();
    const double operations = loop();
    const int64_t taken_ns = cse_clock_ns() - start_ns;
    return operations / (double)(taken_ns > 0 ? taken_ns : 1);
}
