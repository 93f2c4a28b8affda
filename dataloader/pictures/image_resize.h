/* Pictures in another size: bilinear or bicubic, with the filter as wide as the pixels of the
 * result, so that nothing is skipped where a picture becomes smaller. Each value is the one that
 * Pillow's Image.resize gives where it resizes the width first, as this does; for some tall
 * pictures Pillow 13 begins with the height, which changes values by at most 1. */
#ifndef CSE_DATALOADER_PICTURES_IMAGE_RESIZE_H
#define CSE_DATALOADER_PICTURES_IMAGE_RESIZE_H

#include <stddef.h>

#include "dataloader/pictures/image.h"

/* A part of a picture [height, width, 3]. */
typedef struct cse_image_part {
    const unsigned char *pixels; /* of its first row */
    int width, height;
    size_t row_bytes; /* from a row to the next */
} cse_image_part;

/* The filter: bilinear unless set; bicubic is Keys' (1981) with a = -1/2. */
typedef enum cse_resize_filter { CSE_RESIZE_BILINEAR, CSE_RESIZE_BICUBIC } cse_resize_filter;

/* Memory that is used again from one picture to the next. Start from a zeroed struct. */
typedef struct cse_resizer {
    cse_resize_filter filter;
    unsigned char *between; /* resized in width alone */
    size_t between_capacity;
    int *weights, *begins; /* of one axis: [size, most], [size, 2] */
    size_t weight_capacity, begin_capacity;
} cse_resizer;

/* `to` [height, width, 3]. */
void cse_resize(cse_resizer *resizer, const cse_image_part *from, int width, int height,
                unsigned char *to);
/* The window alone of the result, whose whole size would be [width, height]: `to` [window height,
 * window width, 3]. */
void cse_resize_part(cse_resizer *resizer, const cse_image_part *from, const int size[2],
                     const cse_image_window *window, unsigned char *to);
/* The part of the picture of which that window is made. */
typedef struct cse_resize_sizes {
    int from_width, from_height, width, height;
} cse_resize_sizes;
void cse_resize_needs(const cse_resizer *resizer, const cse_resize_sizes *sizes,
                      const cse_image_window *window, cse_image_window *needed);
void cse_resizer_clear(cse_resizer *resizer);

#endif
