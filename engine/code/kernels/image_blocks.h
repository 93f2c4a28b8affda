/* Images between their two layouts: planes [image, channel, pixel] and blocks [image, channel / 16,
 * pixel, channel % 16], in which convolutions compute. The last block of an image is filled up with
 * channels of zeros. */
#ifndef CSE_KERNELS_IMAGE_BLOCKS_H
#define CSE_KERNELS_IMAGE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "csengine/tensor.h"

enum { CSE_IMAGE_BLOCK = 16 };

typedef struct cse_images {
    int64_t count, channels, pixels;
    cse_dtype dtype; /* float32 or bfloat16 */
} cse_images;

/* Whether this machine has the vectors that the two functions below need. */
bool cse_images_run_here(void);

void cse_images_to_blocks(const cse_images *images, const void *planes, void *blocks);

/* With `relu` negative elements become 0; NaN and -0 stay. */
void cse_images_to_planes(const cse_images *images, const void *blocks, void *planes, bool relu);

#endif
