/* The ModelZoo's list `transforms`: what is done to a picture, one step after the other, as
 * torchvision does it to a picture of Pillow: resize, center_crop, random_resized_crop,
 * random_horizontal_flip, to_tensor, normalize.
 *
 * What chance decides is a pure function of (seed, epoch, sample). */
#ifndef CSE_DATALOADER_PICTURES_IMAGE_STEPS_H
#define CSE_DATALOADER_PICTURES_IMAGE_STEPS_H

#include "csengine/extend.h"
#include "csengine/tensor.h"
#include "dataloader/pictures/image_decode.h"
#include "dataloader/pictures/image_resize.h"

enum { CSE_IMAGE_STEPS = 16 };

typedef struct cse_image_step {
    int kind;
    int height, width; /* width 0: of the shorter side; the other keeps the picture's shape */
    cse_resize_filter filter;
    double scale[2], ratio[2], probability;
} cse_image_step;

/* Release with cse_image_steps_clear. */
typedef struct cse_image_steps {
    cse_image_step steps[CSE_IMAGE_STEPS];
    int count, height, width; /* of the result */
    uint64_t seed;
    float value_of_byte[3][256];
    cse_resizer resizer;
    cse_image images[2];       /* the picture between steps */
    const unsigned char *busy; /* the pixels of the one that holds it; NULL: neither */
    int64_t epoch, sample;     /* of the picture */
} cse_image_steps;

/* Reads the setting of this name, a list of {name: STEP, ...}, and the result's size [height,
 * width] of `size`, which the last step that changes the size must give. CSE_CONFIG for steps that
 * are not known. */
cse_status cse_image_steps_read(const cse_settings *settings, const char *name, const char *size,
                                cse_image_steps *steps);
void cse_image_steps_clear(cse_image_steps *steps);

/* `values` [3, height, width]. CSE_DATA for a picture that is too narrow or too small. */
cse_status cse_image_steps_apply(cse_image_steps *steps, const cse_image *image, int64_t epoch,
                                 int64_t sample, float *values);

#endif
