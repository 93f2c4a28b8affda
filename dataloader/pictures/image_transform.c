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

cse_status cse_image_transform_open(const cse_settings *settings, cse_image_transform *t)
{
    *t = (cse_image_transform){
        .channels = (int)cse_settings_integer(settings, "channels"),
        .crops_by_chance = cse_settings_bool(settings, "random_resized_crop"),
        .flips_by_chance = cse_settings_bool(settings, "horizontal_flip"),
        .turns = cse_settings_bool(settings, "exif_transpose"),
        .reduces = cse_settings_bool(settings, "reduced_decoding"),
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

/* A part of the share crop_scale whose sides are 3:4 to 4:3; the largest such part in the middle
 * where chance finds none that fits. */
static cse_image_window crop_by_chance(const cse_image_transform *t, const int size[2],
                                       int64_t epoch, int64_t sample)
{
    const double all = (double)size[0] * size[1], widest = log(4.0 / 3.0);
    for (uint32_t number = 1; number <= CROP_TRIES; number++) {
        double u[4];
        draw(t, epoch, sample, number, u);
        const double area = all * (t->crop_scale[0] + u[0] * (t->crop_scale[1] - t->crop_scale[0]));
        const double ratio = exp((2 * u[1] - 1) * widest);
        const int width = (int)lround(sqrt(area * ratio)), height = (int)lround(sqrt(area / ratio));
        if (width >= 1 && height >= 1 && width <= size[0] && height <= size[1])
            return (cse_image_window){ .left = (int)(u[2] * (size[0] - width + 1)),
                                       .top = (int)(u[3] * (size[1] - height + 1)),
                                       .width = width,
                                       .height = height };
    }
    cse_image_window middle = { .width = size[0], .height = size[1] };
    if (3 * middle.width > 4 * middle.height)
        middle.width = (int)lround(middle.height * 4.0 / 3.0);
    else if (3 * middle.height > 4 * middle.width)
        middle.height = (int)lround(middle.width * 4.0 / 3.0);
    middle.left = (size[0] - middle.width) / 2;
    middle.top = (size[1] - middle.height) / 2;
    return middle;
}

/* ---- what is made of a picture ---- */

/* The part `cut` of the picture becomes `size` (width, height), whose window is the sample. */
typedef struct making {
    cse_image_window cut;
    int size[2];
    cse_image_window window;
} making;

static cse_status plan(const cse_image_transform *t, const int from[2], int64_t epoch,
                       int64_t sample, making *m)
{
    *m = (making){ .cut = { .width = from[0], .height = from[1] },
                   .size = { t->width, t->height },
                   .window = { .width = t->width, .height = t->height } };
    if (t->crops_by_chance)
        m->cut = crop_by_chance(t, from, epoch, sample);
    if (t->resize == 0 || t->crops_by_chance)
        return CSE_OK;
    const int short_axis = from[0] < from[1] ? 0 : 1, long_axis = 1 - short_axis;
    const int64_t longer = (int64_t)t->resize * from[long_axis] / from[short_axis];
    if (longer * t->resize > CSE_IMAGE_MOST_PIXELS)
        return cse_fail(CSE_DATA, "the picture is so narrow that it would have %lld x %lld pixels",
                        (long long)(short_axis == 0 ? t->resize : longer),
                        (long long)(short_axis == 0 ? longer : t->resize));
    m->size[short_axis] = t->resize;
    m->size[long_axis] = (int)longer;
    m->window.left = (int)nearbyint((m->size[0] - t->width) / 2.0);
    m->window.top = (int)nearbyint((m->size[1] - t->height) / 2.0);
    return CSE_OK;
}

typedef struct asking {
    const cse_image_transform *transform;
    int64_t epoch, sample;
} asking;

/* The greatest that leaves no fewer pixels than the sample is made of. */
static int reduction_of(void *self, int width, int height)
{
    const asking *a = self;
    making m;
    int times = 8;
    if (!a->transform->reduces ||
        plan(a->transform, (const int[]){ width, height }, a->epoch, a->sample, &m) != CSE_OK)
        return 1;
    while (times > 1 && (m.cut.width < times * m.size[0] || m.cut.height < times * m.size[1]))
        times /= 2;
    return times;
}

static cse_image_window part_of(void *self, int width, int height)
{
    const asking *a = self;
    making m;
    cse_image_window part = { .width = width, .height = height };
    if (plan(a->transform, (const int[]){ width, height }, a->epoch, a->sample, &m) != CSE_OK)
        return part;
    const cse_resize_sizes sizes = { m.cut.width, m.cut.height, m.size[0], m.size[1] };
    cse_resize_needs(&a->transform->resizer, &sizes, &m.window, &part);
    part.left += m.cut.left;
    part.top += m.cut.top;
    return part;
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

static unsigned char grey_of(const unsigned char *pixel)
{
    return (unsigned char)((19595 * pixel[0] + 38470 * pixel[1] + 7471 * pixel[2] + 32768) >> 16);
}

static void store_grey(const cse_image_transform *t, const unsigned char *pixel, int step,
                       float *to)
{
    for (int x = 0; x < t->width; x++, pixel += step)
        to[x] = t->value_of_byte[0][grey_of(pixel)];
}

/* From the first pixel of a row on, or, with a step of -3, from its last one back. */
static void store_colours(const cse_image_transform *t, const unsigned char *pixel, int step,
                          float *to)
{
    const int64_t plane = (int64_t)t->height * t->width;
    float *const red = to, *const green = to + plane, *const blue = green + plane;
    for (int x = 0; x < t->width; x++, pixel += step) {
        red[x] = t->value_of_byte[0][pixel[0]];
        green[x] = t->value_of_byte[1][pixel[1]];
        blue[x] = t->value_of_byte[2][pixel[2]];
    }
}

static void store(const cse_image_transform *t, const cse_image_part *part, bool mirrored,
                  float *values)
{
    for (int y = 0; y < t->height; y++) {
        const unsigned char *row = part->pixels + (size_t)y * part->row_bytes;
        float *to = values + (int64_t)y * t->width;
        if (mirrored)
            row += 3 * (t->width - 1);
        if (t->channels == 1)
            store_grey(t, row, mirrored ? -3 : 3, to);
        else
            store_colours(t, row, mirrored ? -3 : 3, to);
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

/* The sample's pixels, without its flip. */
static cse_status make_pixels(cse_image_transform *t, const cse_image *image, int64_t epoch,
                              int64_t sample, cse_image_part *part)
{
    making m;
    CSE_TRY(plan(t, (const int[]){ image->width, image->height }, epoch, sample, &m));
    const size_t row_bytes = (size_t)image->width * 3;
    const cse_image_part cut = { .pixels = image->pixels + (size_t)m.cut.top * row_bytes +
                                           (size_t)m.cut.left * 3,
                                 .width = m.cut.width,
                                 .height = m.cut.height,
                                 .row_bytes = row_bytes };
    if (cut.width == m.size[0] && cut.height == m.size[1]) {
        *part = cut;
        part->pixels += (size_t)m.window.top * row_bytes + (size_t)m.window.left * 3;
        return CSE_OK;
    }
    unsigned char *pixels = room_for(t, t->width, t->height);
    cse_resize_part(&t->resizer, &cut, m.size, &m.window, pixels);
    *part = (cse_image_part){ pixels, t->width, t->height, (size_t)t->width * 3 };
    return CSE_OK;
}

static cse_status apply(cse_image_transform *t, const cse_image *image, int64_t epoch,
                        int64_t sample, float *values)
{
    cse_image_part part;
    double u[4] = { 1 };
    CSE_TRY(make_pixels(t, image, epoch, sample, &part));
    if (t->flips_by_chance)
        draw(t, epoch, sample, 0, u);
    const bool mirrored = u[0] < 0.5, changes = t->augmented != NULL;
    if (changes)
        part = augmented(t, &part, mirrored, epoch, sample);
    store(t, &part, mirrored && !changes, values);
    cse_augment_values(&t->augmentations, epoch, sample,
                       (const int[3]){ t->channels, t->height, t->width }, values);
    return CSE_OK;
}

cse_status cse_image_transform_read(cse_image_transform *t, const cse_picture_source *source,
                                    int64_t epoch, int64_t sample, float *values)
{
    asking asked = { t, epoch, sample };
    const cse_picture_use use = { reduction_of, part_of, &asked };
    CSE_TRY(
        cse_image_decode_part(source->decoder, source->bytes, source->size, &use, source->image));
    return apply(t, source->image, epoch, sample, values);
}
