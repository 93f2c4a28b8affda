/* One part of the picture is resized, so that no more pixels are made than are used. */
#include "dataloader/pictures/image_transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/random.h"

enum { AUGMENTATION_STREAM = 0x61756700, CROP_TRIES = 10 };

/* ---- settings ---- */

static cse_status wrong(const cse_settings *settings, const char *name, const char *what)
{
    return cse_fail(CSE_CONFIG, "data loader: %s: %s: accepted %s",
                    cse_settings_origin(settings, name), name, what);
}

/* One number for all channels, or one for each; three where one channel is asked for: the first. */
static double of_channel(const cse_settings *settings, const char *name, int channel)
{
    return cse_settings_number_at(settings, name,
                                  cse_settings_count(settings, name) == 1 ? 0 : channel);
}

static cse_status read_scale(const cse_settings *settings, cse_image_transform *t)
{
    static const char *const names[] = { "mean", "std" };
    for (int i = 0; i < 2; i++) {
        const int count = cse_settings_count(settings, names[i]);
        if (count != 1 && count != 3 && count != t->channels)
            return wrong(settings, names[i], "are 1 number, or one for each channel");
    }
    for (int c = 0; c < t->channels; c++) {
        const float mean = (float)of_channel(settings, "mean", c);
        const float std = (float)of_channel(settings, "std", c);
        if (!(std > 0))
            return wrong(settings, "std", "are numbers above 0");
        for (int byte = 0; byte < 256; byte++)
            t->value_of_byte[c][byte] = ((float)byte / 255.0f - mean) / std;
    }
    return CSE_OK;
}

cse_status cse_image_transform_read(const cse_settings *settings, cse_image_transform *t)
{
    *t = (cse_image_transform){
        .channels = (int)cse_settings_integer(settings, "channels"),
        .crops_by_chance = cse_settings_bool(settings, "random_resized_crop"),
        .flips_by_chance = cse_settings_bool(settings, "horizontal_flip"),
        .turns = cse_settings_bool(settings, "exif_transpose"),
        .seed = (uint64_t)cse_settings_integer(settings, "augmentation_seed"),
    };
    if (cse_settings_count(settings, "image_size") != 2)
        return wrong(settings, "image_size", "are two sizes, [height, width]");
    t->height = (int)cse_settings_integer_at(settings, "image_size", 0);
    t->width = (int)cse_settings_integer_at(settings, "image_size", 1);
    if (t->channels == 2)
        return wrong(settings, "channels", "are 1 and 3");
    if (cse_settings_has(settings, "resize"))
        t->resize = (int)cse_settings_integer(settings, "resize");
    if (t->resize > 0 && (t->resize < t->height || t->resize < t->width))
        return wrong(settings, "resize", "is at least each side of image_size");
    if (cse_settings_count(settings, "crop_scale") != 2)
        return wrong(settings, "crop_scale", "are two shares, as in [0.08, 1.0]");
    for (int i = 0; i < 2; i++)
        t->crop_scale[i] = cse_settings_number_at(settings, "crop_scale", i);
    if (!(t->crop_scale[0] > 0 && t->crop_scale[0] <= t->crop_scale[1] && t->crop_scale[1] <= 1))
        return wrong(settings, "crop_scale", "are shares above 0 and up to 1, the smaller first");
    CSE_TRY(cse_augmentations_read(settings, t->seed, &t->augmentations));
    CSE_TRY(read_scale(settings, t));
    if (cse_augmentations_change_pixels(&t->augmentations)) /* last: a failure releases nothing */
        t->augmented = cse_malloc((size_t)t->width * (size_t)t->height * 6);
    return CSE_OK;
}

void cse_image_transform_clear(cse_image_transform *transform)
{
    cse_resizer_clear(&transform->resizer);
    free(transform->pixels);
    free(transform->augmented);
    *transform = (cse_image_transform){ 0 };
}

void cse_image_transform_leave_chance(cse_image_transform *t)
{
    t->crops_by_chance = t->flips_by_chance = false;
    t->augmentations = (cse_augmentations){ 0 };
    free(t->augmented);
    t->augmented = NULL;
}

cse_shape cse_image_transform_shape(const cse_image_transform *t)
{
    return cse_shape_of(t->channels, t->height, t->width);
}

/* ---- chance ---- */

/* Four numbers in [0, 1) for try `number` on the sample. */
static void draw(const cse_image_transform *t, int64_t epoch, int64_t sample, uint32_t number,
                 double values[4])
{
    const uint32_t counter[4] = { (uint32_t)sample, (uint32_t)((uint64_t)sample >> 32),
                                  (uint32_t)epoch, AUGMENTATION_STREAM + number };
    uint32_t words[4];
    cse_philox(t->seed, counter, words);
    for (int i = 0; i < 4; i++)
        values[i] = words[i] / 4294967296.0;
}

typedef struct box {
    int left, top, width, height;
} box;

/* A part of the share crop_scale whose sides are 3:4 to 4:3; the largest such part in the middle
 * where chance finds none that fits. */
static box crop_by_chance(const cse_image_transform *t, const cse_image *image, int64_t epoch,
                          int64_t sample)
{
    const double all = (double)image->width * image->height, widest = log(4.0 / 3.0);
    for (uint32_t number = 1; number <= CROP_TRIES; number++) {
        double u[4];
        draw(t, epoch, sample, number, u);
        const double area = all * (t->crop_scale[0] + u[0] * (t->crop_scale[1] - t->crop_scale[0]));
        const double ratio = exp((2 * u[1] - 1) * widest);
        const int width = (int)lround(sqrt(area * ratio)), height = (int)lround(sqrt(area / ratio));
        if (width >= 1 && height >= 1 && width <= image->width && height <= image->height)
            return (box){ .left = (int)(u[2] * (image->width - width + 1)),
                          .top = (int)(u[3] * (image->height - height + 1)),
                          .width = width,
                          .height = height };
    }
    box middle = { .width = image->width, .height = image->height };
    if (3 * middle.width > 4 * middle.height)
        middle.width = (int)lround(middle.height * 4.0 / 3.0);
    else if (3 * middle.height > 4 * middle.width)
        middle.height = (int)lround(middle.width * 4.0 / 3.0);
    middle.left = (image->width - middle.width) / 2;
    middle.top = (image->height - middle.height) / 2;
    return middle;
}

/* ---- the picture ---- */

static unsigned char *room_for(cse_image_transform *t, int width, int height)
{
    const size_t bytes = (size_t)width * (size_t)height * 3;
    if (bytes > t->capacity) {
        free(t->pixels);
        t->pixels = cse_malloc(bytes);
        t->capacity = bytes;
    }
    return t->pixels;
}

/* Resized as a whole, with the middle of it as the sample. */
static cse_status resize_and_center(cse_image_transform *t, const cse_image_part *whole,
                                    cse_image_part *middle)
{
    int width = t->resize, height = t->resize;
    if (whole->width < whole->height)
        height = (int)((int64_t)t->resize * whole->height / whole->width);
    else
        width = (int)((int64_t)t->resize * whole->width / whole->height);
    if ((int64_t)width * height > CSE_IMAGE_MOST_PIXELS)
        return cse_fail(CSE_DATA, "the picture is so narrow that it would have %d x %d pixels",
                        width, height);
    unsigned char *pixels = room_for(t, width, height);
    cse_resize(&t->resizer, whole, width, height, pixels);
    const int top = (int)nearbyint((height - t->height) / 2.0);
    const int left = (int)nearbyint((width - t->width) / 2.0);
    *middle = (cse_image_part){ .pixels = pixels + ((size_t)top * (size_t)width + (size_t)left) * 3,
                                .width = t->width,
                                .height = t->height,
                                .row_bytes = (size_t)width * 3 };
    return CSE_OK;
}

static unsigned char grey_of(const unsigned char *pixel)
{
    return (unsigned char)((19595 * pixel[0] + 38470 * pixel[1] + 7471 * pixel[2] + 32768) >> 16);
}

static void store(const cse_image_transform *t, const cse_image_part *part, bool mirrored,
                  float *values)
{
    const int64_t plane = (int64_t)t->height * t->width;
    for (int y = 0; y < t->height; y++) {
        const unsigned char *row = part->pixels + (size_t)y * part->row_bytes;
        float *to = values + (int64_t)y * t->width;
        for (int x = 0; x < t->width; x++) {
            const unsigned char *pixel = row + 3 * (mirrored ? t->width - 1 - x : x);
            if (t->channels == 1) {
                to[x] = t->value_of_byte[0][grey_of(pixel)];
                continue;
            }
            for (int c = 0; c < 3; c++)
                to[c * plane + x] = t->value_of_byte[c][pixel[c]];
        }
    }
}

/* A copy of the part, mirrored where it is, whose bytes are augmented. */
static cse_image_part augmented(cse_image_transform *t, const cse_image_part *part, bool mirrored,
                                int64_t epoch, int64_t sample)
{
    const size_t row = (size_t)t->width * 3;
    cse_pixels pixels = { .bytes = t->augmented,
                          .width = t->width,
                          .height = t->height,
                          .other = t->augmented + row * (size_t)t->height };
    for (int y = 0; y < t->height; y++) {
        const unsigned char *from = part->pixels + (size_t)y * part->row_bytes;
        unsigned char *to = pixels.bytes + (size_t)y * row;
        for (int x = 0; x < t->width; x++)
            memcpy(to + 3 * x, from + 3 * (mirrored ? t->width - 1 - x : x), 3);
    }
    cse_augment_pixels(&t->augmentations, epoch, sample, &pixels);
    return (cse_image_part){ pixels.bytes, t->width, t->height, row };
}

cse_status cse_image_transform_apply(cse_image_transform *t, const cse_image *image, int64_t epoch,
                                     int64_t sample, float *values)
{
    box cut = { .width = image->width, .height = image->height };
    double u[4] = { 1 };
    if (t->crops_by_chance)
        cut = crop_by_chance(t, image, epoch, sample);
    if (t->flips_by_chance)
        draw(t, epoch, sample, 0, u);
    const size_t row_bytes = (size_t)image->width * 3;
    cse_image_part part = { .pixels =
                                image->pixels + (size_t)cut.top * row_bytes + (size_t)cut.left * 3,
                            .width = cut.width,
                            .height = cut.height,
                            .row_bytes = row_bytes };
    if (t->resize > 0 && !t->crops_by_chance) {
        CSE_TRY(resize_and_center(t, &part, &part));
    } else if (part.width != t->width || part.height != t->height) {
        unsigned char *pixels = room_for(t, t->width, t->height);
        cse_resize(&t->resizer, &part, t->width, t->height, pixels);
        part = (cse_image_part){ pixels, t->width, t->height, (size_t)t->width * 3 };
    }
    const bool mirrored = u[0] < 0.5, changes = t->augmented != NULL;
    if (changes)
        part = augmented(t, &part, mirrored, epoch, sample);
    store(t, &part, mirrored && !changes, values);
    cse_augment_values(&t->augmentations, epoch, sample,
                       (const int[3]){ t->channels, t->height, t->width }, values);
    return CSE_OK;
}
