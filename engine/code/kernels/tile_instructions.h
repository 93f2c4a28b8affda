/* The instructions of the processor's matrix units (AMX): eight tile registers of 16 rows of 64
 * bytes, and the product of bfloat16 pairs (TDPBF16PS).
 *
 * They name registers as literals; the barriers tell the compiler that memory is accessed. */
#ifndef CSE_KERNELS_TILE_INSTRUCTIONS_H
#define CSE_KERNELS_TILE_INSTRUCTIONS_H

#include <stdint.h>

/* For functions that use the registers, and the vector units between their instructions. The
 * second is of those that become part of such a function. */
#define CSE_TILE_TARGET target("amx-tile,amx-bf16,avx512f,avx512vl,avx512bw,avx512dq")
#define CSE_TILES __attribute__((CSE_TILE_TARGET, noinline))
#define CSE_TILE_LANES static inline __attribute__((CSE_TILE_TARGET, always_inline))

/* Rows are `stride` bytes apart in memory. */
#define CSE_TILE_LOAD(register, from, stride)                                                   \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #register ::"r"(from), "r"((int64_t)(stride)) \
                     : "memory")
#define CSE_TILE_STORE(register, to, stride)                                                      \
    __asm__ volatile("tilestored %%tmm" #register ", (%0,%1,1)" ::"r"(to), "r"((int64_t)(stride)) \
                     : "memory")
#define CSE_TILE_ZERO(register) __asm__ volatile("tilezero %%tmm" #register ::)
#define CSE_TILE_MULTIPLY(sums, rows, columns) \
    __asm__ volatile("tdpbf16ps %%tmm" #columns ", %%tmm" #rows ", %%tmm" #sums ::)

/* Configures all eight registers as 16 rows of 64 bytes. */
CSE_TILES static void cse_tiles_configure(void)
{
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } tiles __attribute__((aligned(64))) = { .palette = 1 };
    for (int i = 0; i < 8; i++) {
        tiles.row_bytes[i] = 64;
        tiles.rows[i] = 16;
    }
    __asm__ volatile("ldtilecfg %0" ::"m"(tiles));
}

CSE_TILES static void cse_tiles_release(void)
{
    __asm__ volatile("tilerelease" ::);
}

#endif
