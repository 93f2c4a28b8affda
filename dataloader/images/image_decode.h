/* JPEG and PNG files as pixels, by libjpeg-turbo and libspng. What a file is, its content says. */
#ifndef CSE_DATALOADER_IMAGES_IMAGE_DECODE_H
#define CSE_DATALOADER_IMAGES_IMAGE_DECODE_H

#include <stddef.h>

#include "csengine/status.h"

enum { CSE_IMAGE_MOST_SIDE = 1 << 15, CSE_IMAGE_MOST_PIXELS = 1 << 26 };

/* [height, width, 3], red first. Start from a zeroed struct; its memory is used again. */
typedef struct cse_image {
    int width, height;
    unsigned char *pixels;
    size_t capacity;
} cse_image;

typedef struct cse_image_decoder cse_image_decoder;
cse_image_decoder *cse_image_decoder_new(void);
void cse_image_decoder_destroy(cse_image_decoder **decoder);

/* CSE_DATA, without a place, for bytes that are no whole picture of an accepted size. JPEG by the
 * accurate integer transform, whose results do not depend on the processor. */
cse_status cse_image_decode(cse_image_decoder *decoder, const unsigned char *bytes, size_t size,
                            cse_image *image);
void cse_image_clear(cse_image *image);

#endif
