/* A table of steps: the settings of each, and what it does. */
#include "dataloader/images/image_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/config/settings.h"
#include "engine/base/random.h"

enum kind { RESIZE, CENTER_CROP, RESIZED_CROP, FLIP, TO_TENSOR, NORMALIZE, KINDS };
enum { AUGMENTATION_STREAM = 0x73746570, CROP_TRIES = 10, MOST_SIDE = 16384 };

/* ---- settings ---- */

#define NAME_ROW                                                       \
    {                                                                  \
        .name = "name", .type = CSE_SETTING_TEXT, .doc = "of the step" \
    }
#define SIZE_ROW                                                                         \
    {                                                                                    \
        .name = "size", .type = CSE_SETTING_ANY, .doc = "[height, width], or one number" \
    }
#define FILTER_ROW                                                                        \
    {                                                                                     \
        .name = "interpolation", .type = CSE_SETTING_CHOICE, .default_value = "bilinear", \
        .choices = "bilinear|bicubic", .doc = "the filter"                                \
    }

static const cse_setting resize_table[] = { NAME_ROW, SIZE_ROW, FILTER_ROW, { 0 } };
static const cse_setting center_table[] = { NAME_ROW, SIZE_ROW, { 0 } };
static const cse_setting crop_table[] = {
    NAME_ROW,
    SIZE_ROW,
    FILTER_ROW,
    { .name = "scale",
      .type = CSE_SETTING_NUMBER_LIST,
      .default_value = "[0.08, 1.0]",
      .doc = "the least and the greatest share of the picture" },
    { .name = "ratio",
      .type = CSE_SETTING_NUMBER_LIST,
      .default_value = "[0.75, 1.3333333333333333]",
      .doc = "the least and the greatest ratio of width to height" },
    { 0 },
};
static const cse_setting flip_table[] = {
    NAME_ROW,
    { .name = "p",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.5",
      .max = 1,
      .doc = "the probability" },
    { 0 },
};
static const cse_setting tensor_table[] = { NAME_ROW, { 0 } };
static const cse_setting normalize_table[] = {
    NAME_ROW,
    { .name = "mean",
      .type = CSE_SETTING_NUMBER_LIST,
      .doc = "subtracted from each channel after division by 255" },
    { .name = "std", .type = CSE_SETTING_NUMBER_LIST, .doc = "divides each channel after that" },
    { 0 },
};

static const struct {
    const char *name;
    const cse_setting *table;
} kinds[KINDS] = {
    [RESIZE] = { "resize", resize_table },
    [CENTER_CROP] = { "center_crop", center_table },
    [RESIZED_CROP] = { "random_resized_crop", crop_table },
    [FLIP] = { "random_horizontal_flip", flip_table },
    [TO_TENSOR] = { "to_tensor", tensor_table },
    [NORMALIZE] = { "normalize", normalize_table },
};

typedef struct reading {
    const char *name; /* of the setting */
    cse_arena *arena;
    cse_image_steps *steps;
    bool has_tensor;
} reading;

static cse_status wrong(const reading *r, cse_place place, const char *what)
{
    return cse_fail_at(CSE_ERROR_AT("data loader: ", place), "%s: %s", r->name, what);
}

static bool is_side(const cse_yaml_node *node, int *side)
{
    char *end;
    if (node->kind != CSE_YAML_SCALAR)
        return false;
    const long value = strtol(node->text, &end, 10);
    *side = (int)value;
    return end != node->text && *end == '\0' && value >= 1 && value <= MOST_SIDE;
}

static cse_status read_size(const reading *r, const cse_settings *s, cse_image_step *step)
{
    const cse_yaml_node *node = cse_settings_node(s, "size");
    if (node->kind == CSE_YAML_SEQUENCE && node->count == 2 &&
        is_side(node->children[0], &step->height) && is_side(node->children[1], &step->width))
        return CSE_OK;
    if (!is_side(node, &step->height))
        return wrong(r, node->place,
                     "size: accepted are [height, width] and one number, each "
                     "from 1 to 16384");
    step->width = step->kind == RESIZE ? 0 : step->height;
    return CSE_OK;
}

static cse_status read_range(const reading *r, const cse_settings *s, const char *name, double most,
                             double range[2])
{
    for (int i = 0; cse_settings_count(s, name) == 2 && i < 2; i++)
        range[i] = cse_settings_number_at(s, name, i);
    if (cse_settings_count(s, name) == 2 && range[0] > 0 && range[0] <= range[1] &&
        range[1] <= most)
        return CSE_OK;
    return wrong(r, cse_settings_place(s, name),
                 cse_arena_printf(r->arena,
                                  "%s: accepted are two numbers above 0, the smaller "
                                  "first, up to %g",
                                  name, most));
}

static cse_status read_scale(reading *r, const cse_settings *s)
{
    if (cse_settings_count(s, "mean") != 3 || cse_settings_count(s, "std") != 3)
        return wrong(r, cse_settings_place(s, "mean"),
                     "normalize: mean and std are three numbers each");
    for (int c = 0; c < 3; c++) {
        const float mean = (float)cse_settings_number_at(s, "mean", c);
        const float std = (float)cse_settings_number_at(s, "std", c);
        if (!(std > 0))
            return wrong(r, cse_settings_place(s, "std"), "normalize: std are numbers above 0");
        for (int byte = 0; byte < 256; byte++)
            r->steps->value_of_byte[c][byte] = ((float)byte / 255.0f - mean) / std;
    }
    return CSE_OK;
}

/* The steps before to_tensor work on bytes, those behind it on numbers. */
static cse_status check_order(const reading *r, int kind, cse_place place)
{
    if (kind == NORMALIZE && !r->has_tensor)
        return wrong(r, place, "normalize stands behind to_tensor");
    return kind < NORMALIZE && r->has_tensor
               ? wrong(r, place, "only normalize may stand behind to_tensor")
               : CSE_OK;
}

static cse_status read_values(reading *r, const cse_settings *s, cse_image_step *step)
{
    cse_settings_text(s, "name");
    if (step->kind <= RESIZED_CROP)
        CSE_TRY(read_size(r, s, step));
    if (step->kind == RESIZE || step->kind == RESIZED_CROP)
        step->filter = strcmp(cse_settings_text(s, "interpolation"), "bicubic") == 0
                           ? CSE_RESIZE_BICUBIC
                           : CSE_RESIZE_BILINEAR;
    if (step->kind == RESIZED_CROP) {
        CSE_TRY(read_range(r, s, "scale", 1, step->scale));
        CSE_TRY(read_range(r, s, "ratio", 1000, step->ratio));
    }
    if (step->kind == FLIP)
        step->probability = cse_settings_number(s, "p");
    return step->kind == NORMALIZE ? read_scale(r, s) : CSE_OK;
}

static int kind_of(const cse_yaml_node *name)
{
    int kind = 0;
    if (name == NULL || name->kind != CSE_YAML_SCALAR)
        return KINDS;
    while (kind < KINDS && strcmp(kinds[kind].name, name->text) != 0)
        kind++;
    return kind;
}

static cse_status read_step(reading *r, cse_yaml_node *node)
{
    cse_image_steps *steps = r->steps;
    cse_settings *s = NULL;
    cse_image_step step = { .kind = kind_of(cse_yaml_find(node, "name")) };
    if (step.kind == KINDS)
        return wrong(r, node->place,
                     "it is no step that is known; accepted: resize, center_crop, "
                     "random_resized_crop, random_horizontal_flip, to_tensor, normalize");
    const cse_settings_expected expected = {
        .table = kinds[step.kind].table,
        .subject = cse_arena_printf(r->arena, "data loader: %s: %s", r->name, kinds[step.kind].name)
    };
    CSE_TRY(check_order(r, step.kind, node->place));
    CSE_TRY(cse_settings_check(r->arena, &expected, node, &s));
    CSE_TRY(read_values(r, s, &step));
    r->has_tensor = r->has_tensor || step.kind == TO_TENSOR;
    if (step.kind >= TO_TENSOR)
        return CSE_OK;
    if (steps->count == CSE_IMAGE_STEPS)
        return wrong(r, node->place, "there are more than 16 steps");
    if (step.kind <= RESIZED_CROP) {
        steps->height = step.height;
        steps->width = step.width;
    }
    steps->steps[steps->count++] = step;
    return CSE_OK;
}

static cse_status read_steps(reading *r, const cse_settings *settings, const char *size)
{
    cse_image_steps *steps = r->steps;
    cse_yaml_node *list = cse_settings_node(settings, r->name);
    if (list->kind != CSE_YAML_SEQUENCE)
        return wrong(r, list->place, "a list of {name: STEP, ...} belongs here");
    for (int i = 0; i < list->count; i++)
        CSE_TRY(read_step(r, list->children[i]));
    if (!r->has_tensor)
        return wrong(r, list->place, "the step to_tensor is missing");
    if (cse_settings_count(settings, size) != 2)
        return wrong(r, cse_settings_place(settings, size), "image_size is [height, width]");
    if (cse_settings_integer_at(settings, size, 0) != steps->height ||
        cse_settings_integer_at(settings, size, 1) != steps->width)
        return wrong(r, list->place,
                     cse_arena_printf(r->arena,
                                      "the steps make pictures of %d x %d (0: as the "
                                      "picture is), not of %s",
                                      steps->height, steps->width, size));
    return CSE_OK;
}

cse_status cse_image_steps_read(const cse_settings *settings, const char *name, const char *size,
                                cse_image_steps *steps)
{
    memset(steps, 0, sizeof *steps);
    for (int c = 0; c < 3; c++)
        for (int byte = 0; byte < 256; byte++)
            steps->value_of_byte[c][byte] = (float)byte / 255.0f;
    reading r = { .name = name, .arena = cse_arena_new(), .steps = steps };
    cse_status status = read_steps(&r, settings, size);
    cse_arena_destroy(&r.arena);
    return status;
}

void cse_image_steps_clear(cse_image_steps *steps)
{
    cse_resizer_clear(&steps->resizer);
    cse_image_clear(&steps->images[0]);
    cse_image_clear(&steps->images[1]);
}

/* ---- pictures ---- */

/* Of this size, with other pixels than the busy ones. */
static cse_status other_image(cse_image_steps *s, int64_t width, int64_t height, cse_image **image)
{
    *image = &s->images[s->busy == s->images[0].pixels && s->busy != NULL];
    if (width < 1 || height < 1 || width * height > CSE_IMAGE_MOST_PIXELS)
        return cse_fail(CSE_DATA, "the picture would have %lld x %lld pixels", (long long)width,
                        (long long)height);
    const size_t bytes = (size_t)width * (size_t)height * 3;
    if (bytes > (*image)->capacity) {
        free((*image)->pixels);
        (*image)->pixels = cse_malloc(bytes);
        (*image)->capacity = bytes;
    }
    (*image)->width = (int)width;
    (*image)->height = (int)height;
    return CSE_OK;
}

static cse_status resize(cse_image_steps *s, const cse_image_step *step, cse_image_part *part,
                         int64_t width, int64_t height)
{
    cse_image *made = NULL;
    if (width == part->width && height == part->height)
        return CSE_OK;
    CSE_TRY(other_image(s, width, height, &made));
    s->resizer.filter = step->filter;
    cse_resize(&s->resizer, part, made->width, made->height, made->pixels);
    *part = (cse_image_part){ made->pixels, made->width, made->height, (size_t)made->width * 3 };
    s->busy = made->pixels;
    return CSE_OK;
}

/* Four numbers in [0, 1) for try `number` of a step on the sample. */
static void draw(const cse_image_steps *s, int step, int number, double values[4])
{
    const uint32_t counter[4] = { (uint32_t)s->sample, (uint32_t)((uint64_t)s->sample >> 32),
                                  (uint32_t)s->epoch,
                                  AUGMENTATION_STREAM + (uint32_t)step * 256 + (uint32_t)number };
    uint32_t words[4];
    cse_philox(s->seed, counter, words);
    for (int i = 0; i < 4; i++)
        values[i] = words[i] / 4294967296.0;
}

static void cut(cse_image_part *part, int left, int top, int width, int height)
{
    part->pixels += (size_t)top * part->row_bytes + (size_t)left * 3;
    part->width = width;
    part->height = height;
}

/* A part by chance; where none fits, the largest in the middle whose ratio is allowed. */
static void cut_by_chance(const cse_image_steps *s, int index, cse_image_part *part)
{
    const cse_image_step *step = &s->steps[index];
    const double all = (double)part->width * part->height;
    const double low = log(step->ratio[0]), high = log(step->ratio[1]);
    double u[4];
    for (int number = 1; number <= CROP_TRIES; number++) {
        draw(s, index, number, u);
        const double area = all * (step->scale[0] + u[0] * (step->scale[1] - step->scale[0]));
        const double ratio = exp(low + u[1] * (high - low));
        const double width = nearbyint(sqrt(area * ratio)), height = nearbyint(sqrt(area / ratio));
        if (width < 1 || height < 1 || width > part->width || height > part->height)
            continue;
        cut(part, (int)(u[2] * (part->width - width + 1)),
            (int)(u[3] * (part->height - height + 1)), (int)width, (int)height);
        return;
    }
    int width = part->width, height = part->height;
    const double ratio = (double)width / height;
    if (ratio < step->ratio[0])
        height = (int)nearbyint(width / step->ratio[0]);
    else if (ratio > step->ratio[1])
        width = (int)nearbyint(height * step->ratio[1]);
    width = width < 1 ? 1 : width > part->width ? part->width : width;
    height = height < 1 ? 1 : height > part->height ? part->height : height;
    cut(part, (part->width - width) / 2, (part->height - height) / 2, width, height);
}

static cse_status cut_center(const cse_image_step *step, cse_image_part *part)
{
    if (part->width < step->width || part->height < step->height)
        return cse_fail(CSE_DATA, "center_crop: the picture has %d x %d pixels, fewer than %d x %d",
                        part->width, part->height, step->width, step->height);
    cut(part, (int)nearbyint((part->width - step->width) / 2.0),
        (int)nearbyint((part->height - step->height) / 2.0), step->width, step->height);
    return CSE_OK;
}

static cse_status resize_whole(cse_image_steps *s, const cse_image_step *step, cse_image_part *part)
{
    int64_t width = step->width, height = step->height;
    if (step->width == 0 && part->width < part->height) {
        width = step->height;
        height = (int64_t)step->height * part->height / part->width;
    } else if (step->width == 0) {
        width = (int64_t)step->height * part->width / part->height;
    }
    return resize(s, step, part, width, height);
}

static void store(const cse_image_steps *s, const cse_image_part *part, bool mirrored,
                  float *values)
{
    const int64_t plane = (int64_t)s->height * s->width;
    for (int y = 0; y < s->height; y++) {
        const unsigned char *row = part->pixels + (size_t)y * part->row_bytes;
        for (int x = 0; x < s->width; x++) {
            const unsigned char *pixel = row + 3 * (mirrored ? s->width - 1 - x : x);
            for (int c = 0; c < 3; c++)
                values[c * plane + (int64_t)y * s->width + x] = s->value_of_byte[c][pixel[c]];
        }
    }
}

/* Steps behind a flip would see the mirrored picture: what they cut is mirrored instead, so that
 * one mirroring at the end is enough. Chance is symmetric, and a centre nearly so. */
cse_status cse_image_steps_apply(cse_image_steps *s, const cse_image *image, int64_t epoch,
                                 int64_t sample, float *values)
{
    bool mirrored = false;
    cse_image_part part = { image->pixels, image->width, image->height, (size_t)image->width * 3 };
    s->busy = NULL;
    s->epoch = epoch;
    s->sample = sample;
    for (int i = 0; i < s->count; i++) {
        const cse_image_step *step = &s->steps[i];
        double u[4];
        if (step->kind == FLIP) {
            draw(s, i, 0, u);
            mirrored ^= u[0] < step->probability;
            continue;
        }
        if (step->kind == RESIZE)
            CSE_TRY(resize_whole(s, step, &part));
        if (step->kind == CENTER_CROP)
            CSE_TRY(cut_center(step, &part));
        if (step->kind == RESIZED_CROP) {
            cut_by_chance(s, i, &part);
            CSE_TRY(resize(s, step, &part, step->width, step->height));
        }
    }
    store(s, &part, mirrored, values);
    return CSE_OK;
}
