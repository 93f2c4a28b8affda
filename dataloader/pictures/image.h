/* The pixels of a picture, and how many there may be. */
#ifndef CSE_DATALOADER_PICTURES_IMAGE_H
#define CSE_DATALOADER_PICTURES_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

enum { CSE_IMAGE_MOST_SIDE = 1 << 15, CSE_IMAGE_MOST_PIXELS = 1 << 26, CSE_IMAGE_CHANNELS = 3 };

/* A rectangle of a picture. */
typedef struct cse_image_window {
    int left, top, width, height;
} cse_image_window;

/* [height, width, 3], red first. Start from a zeroed struct; its memory is used again. */
typedef struct cse_image {
    int width, height;
    unsigned char *pixels;
    size_t capacity;
} cse_image;

/* CSE_DATA for sides beyond the limits. */
cse_status cse_image_check_size(int64_t width, int64_t height);
/* Memory for the pixels; CSE_DATA for sides beyond the limits. */
cse_status cse_image_make_room(cse_image *image, int64_t width, int64_t height);
void cse_image_clear(cse_image *image);

#endif
