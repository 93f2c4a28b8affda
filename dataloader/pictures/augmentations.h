/* Augmentations of pictures beyond crops and flips: RandAugment (Cubuk et al. 2020), colour jitter,
 * and random erasing (Zhong et al. 2020), with torchvision's parameters and defaults. They come in
 * this order: the first two work on bytes, erasing on the numbers of the sample.
 *
 * What chance decides is a pure function of (seed, epoch, sample). */
#ifndef CSE_DATALOADER_PICTURES_AUGMENTATIONS_H
#define CSE_DATALOADER_PICTURES_AUGMENTATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "csengine/extend.h"
#include "dataloader/pictures/pixel_ops.h"

/* Rows for the settings of an input function. */
#define CSE_AUGMENTATION_SETTINGS                                                                 \
    { .name = "rand_augment",                                                                     \
      .type = CSE_SETTING_ANY,                                                                    \
      .default_value = "null",                                                                    \
      .doc = "{num_ops: 2, magnitude: 9, num_magnitude_bins: 31}: so many of 14 operations, "     \
             "chosen by chance" },                                                                \
        { .name = "color_jitter",                                                                 \
          .type = CSE_SETTING_ANY,                                                                \
          .default_value = "null",                                                                \
          .doc = "{brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1}, each from 1 - x "  \
                 "to 1 + x, the hue from -x to x, in a random order" },                           \
    {                                                                                             \
        .name = "random_erasing", .type = CSE_SETTING_ANY, .default_value = "null",               \
        .doc = "{p: 0.5, scale: [0.02, 0.33], ratio: [0.3, 3.3], value: 0}: a rectangle becomes " \
               "`value`, or random numbers"                                                       \
    }

typedef struct cse_augmentations {
    uint64_t seed;
    int num_ops, magnitude, bins; /* num_ops 0: no RandAugment */
    double brightness, contrast, saturation, hue;
    bool jitters, erases, fills_by_chance;
    double probability, scale[2], ratio[2], value; /* of erasing */
} cse_augmentations;

/* Reads CSE_AUGMENTATION_SETTINGS. */
cse_status cse_augmentations_read(const cse_settings *settings, uint64_t seed,
                                  cse_augmentations *augmentations);
bool cse_augmentations_change_pixels(const cse_augmentations *augmentations);
void cse_augment_pixels(const cse_augmentations *augmentations, int64_t epoch, int64_t sample,
                        cse_pixels *pixels);
/* Erases of values [channels, height, width]. */
void cse_augment_values(const cse_augmentations *augmentations, int64_t epoch, int64_t sample,
                        const int shape[3], float *values);

/* ---- parts, for tests ---- */

enum { CSE_RAND_AUGMENT_OPS = 14 };
extern const char *const cse_rand_augment_names[CSE_RAND_AUGMENT_OPS];
/* Operation `op` of RandAugment with its magnitude; `negative`: to the other side. */
void cse_rand_augment_apply(int op, int magnitude, int bins, bool negative, cse_pixels *pixels);

#endif
