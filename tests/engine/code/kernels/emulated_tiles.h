/* The instructions of engine/code/kernels/tile_instructions.h in C, after Intel's description
 * (Software Developer's Manual, volume 2: TILELOADD, TILESTORED, TILEZERO, TDPBF16PS), so that the
 * product which uses them is tested on machines without matrix units. To be included before it. */
#ifndef CSE_KERNELS_TILE_INSTRUCTIONS_H
#define CSE_KERNELS_TILE_INSTRUCTIONS_H

#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TILE_ROWS = 16, TILE_ROW_BYTES = 64 };

typedef union tile {
    unsigned char rows[TILE_ROWS][TILE_ROW_BYTES];
    float sums[TILE_ROWS][TILE_ROW_BYTES / 4];
    uint16_t pairs[TILE_ROWS][TILE_ROW_BYTES / 4][2];
} tile;

static tile registers[8];
static bool tiles_configured;

static void load_tile(tile *to, const void *from, int64_t stride)
{
    if (!tiles_configured)
        abort();
    for (int i = 0; i < TILE_ROWS; i++)
        memcpy(to->rows[i], (const char *)from + i * stride, TILE_ROW_BYTES);
}

static void store_tile_at(const tile *from, void *to, int64_t stride)
{
    for (int i = 0; i < TILE_ROWS; i++)
        memcpy((char *)to + i * stride, from->rows[i], TILE_ROW_BYTES);
}

static float widened(uint16_t bits)
{
    const uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* Subnormal numbers are 0, whatever the mode of the process. Processors with AVX-512, without which
 * nothing of this runs, have the instruction of fmaf, too. */
__attribute__((target("fma"))) static void multiply_tiles(tile *sums, const tile *rows,
                                                          const tile *columns)
{
    const unsigned mode = _mm_getcsr();
    _mm_setcsr(0x9fc0);
    for (int m = 0; m < TILE_ROWS; m++)
        for (int n = 0; n < TILE_ROW_BYTES / 4; n++) {
            volatile float even = 0, odd = 0;
            for (int k = 0; k < TILE_ROWS; k++) {
                even = fmaf(widened(rows->pairs[m][k][0]), widened(columns->pairs[k][n][0]), even);
                odd = fmaf(widened(rows->pairs[m][k][1]), widened(columns->pairs[k][n][1]), odd);
            }
            volatile float pair = even + odd, before = sums->sums[m][n];
            sums->sums[m][n] = before + pair;
        }
    _mm_setcsr(mode);
}

#define CSE_TILE_TARGET target("avx512f,avx512vl,avx512bw,avx512dq")
#define CSE_TILES __attribute__((CSE_TILE_TARGET))
#define CSE_TILE_LANES static inline __attribute__((CSE_TILE_TARGET, always_inline))
#define CSE_TILE_LOAD(register, from, stride) load_tile(&registers[register], from, stride)
#define CSE_TILE_STORE(register, to, stride) store_tile_at(&registers[register], to, stride)
#define CSE_TILE_ZERO(register) memset(&registers[register], 0, sizeof(tile))
#define CSE_TILE_MULTIPLY(sums, rows, columns) \
    multiply_tiles(&registers[sums], &registers[rows], &registers[columns])

static void cse_tiles_configure(void)
{
    tiles_configured = true;
}

static void cse_tiles_release(void)
{
    tiles_configured = false;
}

#endif
