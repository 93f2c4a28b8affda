/* Each augmentation has random numbers of its own, so that one more of them changes no other. */
#include "dataloader/pictures/augmentations.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/config/settings.h"
#include "engine/base/random.h"

enum { RAND_AUGMENT_STREAM = 0x72617567, JITTER_STREAM = 0x6a697474, ERASING_STREAM = 0x65726173 };
enum { MOST_OPS = 16, ERASING_TRIES = 10 };

/* ---- settings ---- */

static const cse_setting rand_augment_table[] = {
    { .name = "num_ops",
      .type = CSE_SETTING_INTEGER,
      .default_value = "2",
      .min = 1,
      .max = MOST_OPS,
      .doc = "operations one after the other" },
    { .name = "magnitude",
      .type = CSE_SETTING_INTEGER,
      .default_value = "9",
      .min = 0,
      .max = 999,
      .doc = "how strong they are, below num_magnitude_bins" },
    { .name = "num_magnitude_bins",
      .type = CSE_SETTING_INTEGER,
      .default_value = "31",
      .min = 2,
      .max = 1000,
      .doc = "steps of magnitude" },
    { 0 },
};

#define JITTER_ROW(row, most, what)                                                     \
    {                                                                                   \
        .name = (row), .type = CSE_SETTING_NUMBER, .default_value = "0", .max = (most), \
        .doc = (what)                                                                   \
    }
static const cse_setting jitter_table[] = {
    JITTER_ROW("brightness", 100, "factors from max(0, 1 - x) to 1 + x"),
    JITTER_ROW("contrast", 100, "the same"),
    JITTER_ROW("saturation", 100, "the same"),
    JITTER_ROW("hue", 0.5, "turned by -x to x of a circle"),
    { 0 },
};

static const cse_setting erasing_table[] = {
    { .name = "p",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.5",
      .max = 1,
      .doc = "the probability" },
    { .name = "scale",
      .type = CSE_SETTING_NUMBER_LIST,
      .default_value = "[0.02, 0.33]",
      .doc = "the least and the greatest share of the picture" },
    { .name = "ratio",
      .type = CSE_SETTING_NUMBER_LIST,
      .default_value = "[0.3, 3.3]",
      .doc = "the least and the greatest ratio of height to width" },
    { .name = "value",
      .type = CSE_SETTING_ANY,
      .default_value = "0",
      .doc = "what is there then, after mean and std; random: normal numbers" },
    { 0 },
};

static cse_status wrong(const cse_settings *s, const char *setting, const char *name,
                        const char *accepted)
{
    const cse_error error = { .status = CSE_CONFIG,
                              .context = "data loader: ",
                              .place = cse_settings_place(s, name),
                              .accepted = accepted };
    return cse_fail_at(&error, "%s: %s", setting, name);
}

static cse_status read_range(const cse_settings *s, const char *name, double most, double range[2])
{
    for (int i = 0; cse_settings_count(s, name) == 2 && i < 2; i++)
        range[i] = cse_settings_number_at(s, name, i);
    return cse_settings_count(s, name) == 2 && range[0] > 0 && range[0] <= range[1] &&
                   range[1] <= most
               ? CSE_OK
               : wrong(s, "random_erasing", name,
                       "accepted: two numbers above 0, the smaller first; shares up to 1");
}

static cse_status read_erasing(const cse_settings *s, cse_augmentations *a)
{
    cse_yaml_node *value = cse_settings_node(s, "value");
    value->read = true;
    a->erases = true;
    a->probability = cse_settings_number(s, "p");
    a->fills_by_chance = value->kind == CSE_YAML_SCALAR && strcmp(value->text, "random") == 0;
    if (!a->fills_by_chance &&
        (value->kind != CSE_YAML_SCALAR || !cse_setting_number_read(value->text, &a->value)))
        return wrong(s, "random_erasing", "value", "accepted: a number, or random");
    CSE_TRY(read_range(s, "scale", 1, a->scale));
    return read_range(s, "ratio", 1000, a->ratio);
}

static cse_status read_rand_augment(const cse_settings *s, cse_augmentations *a)
{
    a->num_ops = (int)cse_settings_integer(s, "num_ops");
    a->magnitude = (int)cse_settings_integer(s, "magnitude");
    a->bins = (int)cse_settings_integer(s, "num_magnitude_bins");
    return a->magnitude < a->bins
               ? CSE_OK
               : wrong(s, "rand_augment", "magnitude", "accepted: 0 to num_magnitude_bins - 1");
}

static cse_status read_jitter(const cse_settings *s, cse_augmentations *a)
{
    a->jitters = true;
    a->brightness = cse_settings_number(s, "brightness");
    a->contrast = cse_settings_number(s, "contrast");
    a->saturation = cse_settings_number(s, "saturation");
    a->hue = cse_settings_number(s, "hue");
    return CSE_OK;
}

static const struct {
    const char *name;
    const cse_setting *table;
    cse_status (*read)(const cse_settings *settings, cse_augmentations *augmentations);
} kinds[] = {
    { "rand_augment", rand_augment_table, read_rand_augment },
    { "color_jitter", jitter_table, read_jitter },
    { "random_erasing", erasing_table, read_erasing },
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static cse_status read_one(int kind, cse_yaml_node *node, cse_augmentations *a)
{
    char subject[64];
    cse_settings *s = NULL;
    snprintf(subject, sizeof subject, "data loader: %s", kinds[kind].name);
    const cse_settings_expected expected = { .table = kinds[kind].table, .subject = subject };
    cse_arena *arena = cse_arena_new();
    node->read = true;
    cse_status status = cse_settings_check(arena, &expected, node, &s);
    if (status == CSE_OK)
        status = kinds[kind].read(s, a);
    cse_arena_destroy(&arena);
    return status;
}

cse_status cse_augmentations_read(const cse_settings *settings, uint64_t seed, cse_augmentations *a)
{
    *a = (cse_augmentations){ .seed = seed };
    for (int kind = 0; kind < KINDS; kind++)
        if (cse_settings_has(settings, kinds[kind].name))
            CSE_TRY(read_one(kind, cse_settings_node(settings, kinds[kind].name), a));
    return CSE_OK;
}

/* ---- chance ---- */

/* A picture in an epoch. */
typedef struct place {
    int64_t epoch, sample;
} place;

/* Four numbers in [0, 1), the `number`-th four of a stream. */
static void draw(const cse_augmentations *a, uint32_t stream, place at, uint32_t number,
                 double u[4])
{
    const int64_t epoch = at.epoch, sample = at.sample;
    const uint32_t counter[4] = { (uint32_t)sample, (uint32_t)epoch,
                                  (uint32_t)((uint64_t)epoch >> 32), stream + number };
    uint32_t words[4];
    cse_philox(a->seed ^ (uint64_t)sample >> 32, counter, words);
    for (int i = 0; i < 4; i++)
        u[i] = words[i] / 4294967296.0;
}

/* ---- RandAugment ---- */

enum op {
    IDENTITY,
    SHEAR_X,
    SHEAR_Y,
    TRANSLATE_X,
    TRANSLATE_Y,
    ROTATE,
    BRIGHTNESS,
    COLOR,
    CONTRAST,
    SHARPNESS,
    POSTERIZE,
    SOLARIZE,
    AUTO_CONTRAST,
    EQUALIZE
};
const char *const cse_rand_augment_names[CSE_RAND_AUGMENT_OPS] = {
    "Identity", "ShearX",   "ShearY",    "TranslateX", "TranslateY", "Rotate",       "Brightness",
    "Color",    "Contrast", "Sharpness", "Posterize",  "Solarize",   "AutoContrast", "Equalize",
};

/* The magnitude in float32, as in a tensor of steps from 0 to `most`. */
static double step_of(double most, int magnitude, int bins)
{
    return (double)(float)(most * magnitude / (bins - 1));
}

void cse_rand_augment_apply(int op, int magnitude, int bins, bool negative, cse_pixels *p)
{
    const double sign = negative ? -1 : 1;
    const double slope = sign * step_of(0.3, magnitude, bins);
    const double factor = 1 + sign * step_of(0.9, magnitude, bins);
    const double shift = 150.0 / 331.0 * sign;
    switch ((enum op)op) {
    case IDENTITY:
        break;
    case SHEAR_X:
        cse_pixels_shear(p, slope, 0);
        break;
    case SHEAR_Y:
        cse_pixels_shear(p, 0, slope);
        break;
    case TRANSLATE_X:
        cse_pixels_translate(p, (int)step_of(shift * p->width, magnitude, bins), 0);
        break;
    case TRANSLATE_Y:
        cse_pixels_translate(p, 0, (int)step_of(shift * p->height, magnitude, bins));
        break;
    case ROTATE:
        cse_pixels_rotate(p, sign * step_of(30, magnitude, bins));
        break;
    case BRIGHTNESS:
        cse_pixels_brightness(p, factor);
        break;
    case COLOR:
        cse_pixels_saturation(p, factor);
        break;
    case CONTRAST:
        cse_pixels_contrast(p, factor);
        break;
    case SHARPNESS:
        cse_pixels_sharpness(p, factor);
        break;
    case POSTERIZE:
        cse_pixels_posterize(p, 8 - (int)nearbyint(magnitude / ((bins - 1) / 4.0)));
        break;
    case SOLARIZE:
        cse_pixels_solarize(p, 255 - step_of(255, magnitude, bins));
        break;
    case AUTO_CONTRAST:
        cse_pixels_autocontrast(p);
        break;
    case EQUALIZE:
        cse_pixels_equalize(p);
        break;
    }
}

/* ---- a picture ---- */

static void jitter_one(const cse_augmentations *a, int part, double u, cse_pixels *p)
{
    const double x = part == 0 ? a->brightness : part == 1 ? a->contrast : a->saturation;
    const double low = x < 1 ? 1 - x : 0, factor = low + u * (1 + x - low);
    if (part == 3 && a->hue > 0)
        cse_pixels_hue(p, (2 * u - 1) * a->hue);
    else if (part == 0 && x > 0)
        cse_pixels_brightness(p, factor);
    else if (part == 1 && x > 0)
        cse_pixels_contrast(p, factor);
    else if (part == 2 && x > 0)
        cse_pixels_saturation(p, factor);
}

/* The four parts in a random order: each place takes one of those that are left. */
static void jitter(const cse_augmentations *a, place at, cse_pixels *p)
{
    int left[4] = { 0, 1, 2, 3 };
    double order[4], u[4];
    draw(a, JITTER_STREAM, at, 0, order);
    draw(a, JITTER_STREAM, at, 1, u);
    for (int count = 4; count > 0; count--) {
        const int chosen = (int)(order[count - 1] * count), part = left[chosen];
        left[chosen] = left[count - 1];
        jitter_one(a, part, u[part], p);
    }
}

bool cse_augmentations_change_pixels(const cse_augmentations *a)
{
    return a->num_ops > 0 || a->jitters;
}

void cse_augment_pixels(const cse_augmentations *a, int64_t epoch, int64_t sample, cse_pixels *p)
{
    const place at = { epoch, sample };
    for (int i = 0; i < a->num_ops; i++) {
        double u[4];
        draw(a, RAND_AUGMENT_STREAM, at, (uint32_t)i, u);
        cse_rand_augment_apply((int)(u[0] * CSE_RAND_AUGMENT_OPS), a->magnitude, a->bins,
                               u[1] < 0.5, p);
    }
    if (a->jitters)
        jitter(a, at, p);
}

/* ---- erasing ---- */

typedef struct rectangle {
    int top, left, height, width;
} rectangle;

static bool find_rectangle(const cse_augmentations *a, place at, const int shape[3],
                           rectangle *found)
{
    const double area = (double)shape[1] * shape[2];
    const double low = log(a->ratio[0]), high = log(a->ratio[1]);
    for (uint32_t number = 1; number <= ERASING_TRIES; number++) {
        double u[4];
        draw(a, ERASING_STREAM, at, number, u);
        const double part = area * (a->scale[0] + u[0] * (a->scale[1] - a->scale[0]));
        const double ratio = exp(low + u[1] * (high - low));
        const double height = nearbyint(sqrt(part * ratio)), width = nearbyint(sqrt(part / ratio));
        if (height >= shape[1] || width >= shape[2])
            continue;
        *found = (rectangle){ .height = (int)height,
                              .width = (int)width,
                              .top = (int)(u[2] * (shape[1] - height + 1)),
                              .left = (int)(u[3] * (shape[2] - width + 1)) };
        return true;
    }
    return false;
}

/* A normal number for each value of the sample, by its place. */
static float normal_at(const cse_augmentations *a, int64_t epoch, int64_t sample, uint32_t element)
{
    uint32_t words[4];
    const uint32_t counter[4] = { (uint32_t)sample, (uint32_t)epoch, element,
                                  ERASING_STREAM + ERASING_TRIES + 1 };
    cse_philox(a->seed ^ (uint64_t)epoch >> 32, counter, words);
    return (float)cse_normal_from_bits(words[0], words[1]);
}

void cse_augment_values(const cse_augmentations *a, int64_t epoch, int64_t sample,
                        const int shape[3], float *values)
{
    const place at = { epoch, sample };
    rectangle r;
    double u[4];
    draw(a, ERASING_STREAM, at, 0, u);
    if (!a->erases || u[0] >= a->probability || !find_rectangle(a, at, shape, &r))
        return;
    for (int c = 0; c < shape[0]; c++)
        for (int y = r.top; y < r.top + r.height; y++)
            for (int x = r.left; x < r.left + r.width; x++) {
                const int64_t element = ((int64_t)c * shape[1] + y) * shape[2] + x;
                values[element] = a->fills_by_chance
                                      ? normal_at(a, epoch, sample, (uint32_t)element)
                                      : (float)a->value;
            }
}
