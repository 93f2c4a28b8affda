/* What is made of a picture, for a decoder that can leave out what is not used. */
#ifndef CSE_DATALOADER_PICTURES_PICTURE_USE_H
#define CSE_DATALOADER_PICTURES_PICTURE_USE_H

#include "dataloader/pictures/image.h"

typedef struct cse_picture_use {
    /* Of a picture of that size, 2, 4 or 8 where a picture of so many times fewer pixels in each
     * direction is good enough, else 1. NULL: 1. */
    int (*reduction)(void *self, int width, int height);
    /* The part that is used of a picture of that size. */
    cse_image_window (*part)(void *self, int width, int height);
    void *self;
} cse_picture_use;

#endif
