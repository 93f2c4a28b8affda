/* Layouts of images; see image_blocks.h. Sixteen pixels of sixteen channels at a time are
 * transposed in registers. */
#include "engine/code/kernels/image_blocks.h"

#include <stddef.h>

#include "engine/code/kernels/lanes.h"

#if defined(__x86_64__) && defined(__GNUC__)

/* Elements as float32 without arithmetic, so that all bits stay. */
CSE_LANES __m512 load(cse_dtype dtype, const char *from, int64_t at, __mmask16 lanes)
{
    if (dtype == CSE_FLOAT32)
        return _mm512_maskz_loadu_ps(lanes, (const float *)(const void *)from + at);
    const uint16_t *bits = (const uint16_t *)(const void *)from + at;
    return cse_lanes_from_bfloat16(_mm256_maskz_loadu_epi16(lanes, bits));
}

CSE_LANES void store(cse_dtype dtype, char *to, int64_t at, __mmask16 lanes, __m512 x)
{
    if (dtype == CSE_FLOAT32) {
        _mm512_mask_storeu_ps((float *)(void *)to + at, lanes, x);
        return;
    }
    const __m512i bits = _mm512_srli_epi32(_mm512_castps_si512(x), 16);
    _mm256_mask_storeu_epi16((uint16_t *)(void *)to + at, lanes, _mm512_cvtepi32_epi16(bits));
}

/* What is copied in one step: up to 16 pixels of up to 16 channels. */
typedef struct tile {
    cse_dtype dtype;
    int64_t pixels; /* of a plane */
    int channels;   /* in this block */
    bool relu;
} tile;

CSE_LANES void tile_to_blocks(const tile *t, const char *planes, char *blocks, int64_t pixel)
{
    const int64_t left = t->pixels - pixel;
    const __mmask16 lanes = cse_lanes_of(left);
    __m512 x[CSE_LANE_COUNT];
    CSE_UNROLL for (int c = 0; c < CSE_LANE_COUNT; c++) x[c] =
        c < t->channels ? load(t->dtype, planes, c * t->pixels + pixel, lanes)
                        : _mm512_setzero_ps();
    cse_lanes_transpose(x);
    CSE_UNROLL for (int p = 0; p < CSE_LANE_COUNT; p++) if (p < left)
        store(t->dtype, blocks, (pixel + p) * CSE_IMAGE_BLOCK, 0xffff, x[p]);
}

CSE_LANES void tile_to_planes(const tile *t, const char *blocks, char *planes, int64_t pixel)
{
    const int64_t left = t->pixels - pixel;
    const __mmask16 lanes = cse_lanes_of(left);
    __m512 x[CSE_LANE_COUNT];
    CSE_UNROLL for (int p = 0; p < CSE_LANE_COUNT; p++) x[p] =
        p < left ? load(t->dtype, blocks, (pixel + p) * CSE_IMAGE_BLOCK, 0xffff)
                 : _mm512_setzero_ps();
    if (t->relu)
        CSE_UNROLL for (int p = 0; p < CSE_LANE_COUNT; p++)
        {
            const __mmask16 negative = _mm512_cmp_ps_mask(x[p], _mm512_setzero_ps(), _CMP_LT_OQ);
            x[p] = _mm512_mask_mov_ps(x[p], negative, _mm512_setzero_ps());
        }
    cse_lanes_transpose(x);
    CSE_UNROLL for (int c = 0; c < CSE_LANE_COUNT; c++) if (c < t->channels)
        store(t->dtype, planes, c * t->pixels + pixel, lanes, x[c]);
}

/* All blocks of all images, in either direction. The type and the direction are constants. */
CSE_LANES void copy(const cse_images *images, const char *from, char *to, tile t, bool to_blocks)
{
    const int64_t size = t.dtype == CSE_FLOAT32 ? 4 : 2;
    t.pixels = images->pixels;
    for (int64_t image = 0; image < images->count; image++)
        for (int64_t channel = 0; channel < images->channels; channel += CSE_IMAGE_BLOCK) {
            const int64_t left = images->channels - channel;
            t.channels = (int)(left < CSE_IMAGE_BLOCK ? left : CSE_IMAGE_BLOCK);
            const int64_t in_planes = t.channels * t.pixels * size;
            const int64_t in_blocks = CSE_IMAGE_BLOCK * t.pixels * size;
            for (int64_t pixel = 0; pixel < t.pixels; pixel += CSE_LANE_COUNT)
                (to_blocks ? tile_to_blocks : tile_to_planes)(&t, from, to, pixel);
            from += to_blocks ? in_planes : in_blocks;
            to += to_blocks ? in_blocks : in_planes;
        }
}

CSE_AVX512 void cse_images_to_blocks(const cse_images *images, const void *planes, void *blocks)
{
    if (images->dtype == CSE_FLOAT32)
        copy(images, planes, blocks, (tile){ .dtype = CSE_FLOAT32 }, true);
    else
        copy(images, planes, blocks, (tile){ .dtype = CSE_BFLOAT16 }, true);
}

CSE_AVX512 void cse_images_to_planes(const cse_images *images, const void *blocks, void *planes,
                                     bool relu)
{
    if (images->dtype == CSE_FLOAT32)
        copy(images, blocks, planes, (tile){ .dtype = CSE_FLOAT32, .relu = relu }, false);
    else
        copy(images, blocks, planes, (tile){ .dtype = CSE_BFLOAT16, .relu = relu }, false);
}

bool cse_images_run_here(void)
{
    return cse_lanes_run_here();
}

#else
#include <stdlib.h>

bool cse_images_run_here(void)
{
    return false;
}

void cse_images_to_blocks(const cse_images *images, const void *planes, void *blocks)
{
    (void)images, (void)planes, (void)blocks;
    abort();
}

void cse_images_to_planes(const cse_images *images, const void *blocks, void *planes, bool relu)
{
    (void)images, (void)planes, (void)blocks, (void)relu;
    abort();
}

#endif
