/* Samples that are computed, not stored: for first runs, benchmarks and tests without a data set.
 *
 * Feature e of sample i is a pure function of (seed, i, e): 24 random bits, as a uniform number
 * of mean 0 and variance 1. The target is a function of the features: a fixed random matrix (the
 * map) with entries +1 and -1 gives each class a score, and the label is the class with the highest
 * score, so that a model can learn it. The scores are sums of integers, exact in any order on any
 * machine. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "dataloader/inputs/labelled.h"
#include "engine/base/arena.h"
#include "engine/base/random.h"

/* The last word of the random counter separates the uses of the bits. */
enum { DRAW_FEATURES = 0x66656174, DRAW_MAP = 0x6d617000 };

enum { MAX_ENTRIES = 1 << 26 }; /* of the features of a sample, and of the map */

typedef struct synthetic {
    uint64_t seed;
    int64_t elements; /* of one sample's features */
    int64_t classes;  /* rows of the map; 1 for a regression */
    bool regression;
    int8_t *map;         /* [class, element], +1 or -1 */
    int32_t *whole;      /* [element]: the features of one sample as integers */
    float feature_scale; /* scales an integer to variance 1 */
    double target_scale; /* scales a score to variance 1 */
    char *features_name;
} synthetic;

static const cse_setting settings_table[] = {
    { .name = "samples",
      .type = CSE_SETTING_INTEGER,
      .default_value = "4096",
      .min = 1,
      .max = 1e15,
      .doc = "number of samples" },
    { .name = "features",
      .type = CSE_SETTING_INTEGER_LIST,
      .default_value = "[784]",
      .min = 1,
      .max = 1 << 26,
      .doc = "shape of one sample's features, [784] or [1, 28, 28]" },
    { .name = "classes",
      .type = CSE_SETTING_INTEGER,
      .default_value = "10",
      .min = 2,
      .max = 1 << 20,
      .doc = "number of classes of the labels" },
    { .name = "regression",
      .type = CSE_SETTING_BOOL,
      .default_value = "false",
      .doc = "stream targets (float32, variance 1) in place of labels" },
    { .name = "seed",
      .type = CSE_SETTING_INTEGER,
      .default_value = "0",
      .doc = "chooses the features and the map" },
    CSE_FEATURES_NAME_SETTING,
    { 0 },
};

/* Four words that depend on (seed, purpose, row, block of four elements). */
static void draw(const synthetic *self, uint32_t purpose, int64_t row, int64_t block,
                 uint32_t words[4])
{
    const uint32_t counter[4] = { (uint32_t)row, (uint32_t)((uint64_t)row >> 32), (uint32_t)block,
                                  purpose };
    cse_philox(self->seed, counter, words);
}

static void draw_map_row(synthetic *self, int64_t row)
{
    int8_t *entries = self->map + row * self->elements;
    uint32_t words[4];
    for (int64_t e = 0; e < self->elements; e++) {
        int64_t bit = e % 128;
        if (bit == 0)
            draw(self, DRAW_MAP, row, e / 128, words);
        entries[e] = words[bit / 32] >> (bit % 32) & 1 ? 1 : -1;
    }
}

/* Odd integers of magnitude below 2^24: symmetric around 0 and exact in float32. */
static void draw_features(synthetic *self, int64_t sample)
{
    uint32_t words[4];
    for (int64_t e = 0; e < self->elements; e++) {
        if (e % 4 == 0)
            draw(self, DRAW_FEATURES, sample, e / 4, words);
        self->whole[e] = (int32_t)(words[e % 4] >> 8) * 2 + 1 - (1 << 24);
    }
}

static int64_t score(const synthetic *self, int64_t row)
{
    const int8_t *entries = self->map + row * self->elements;
    int64_t sum = 0;
    for (int64_t e = 0; e < self->elements; e++)
        sum += entries[e] * self->whole[e];
    return sum;
}

static int32_t best_class(const synthetic *self)
{
    int64_t best = 0, best_score = score(self, 0);
    for (int64_t row = 1; row < self->classes; row++) {
        int64_t row_score = score(self, row);
        if (row_score > best_score) {
            best = row;
            best_score = row_score;
        }
    }
    return (int32_t)best;
}

/* The shape that `features` gives, and its elements. */
static cse_status features_shape(const cse_settings *settings, cse_shape *shape, int64_t *elements)
{
    int rank = cse_settings_count(settings, "features");
    if (rank < 1 || rank > CSE_MAX_RANK)
        return cse_fail(CSE_CONFIG, "data loader: %s: features has %d sizes, accepted are 1 to %d",
                        cse_settings_origin(settings, "features"), rank, CSE_MAX_RANK);
    *shape = (cse_shape){ .rank = rank };
    *elements = 1;
    for (int axis = 0; axis < rank; axis++) {
        int64_t size = cse_settings_integer_at(settings, "features", axis);
        if (size < 1 || size > MAX_ENTRIES || *elements * size > MAX_ENTRIES)
            return cse_fail(CSE_CONFIG,
                            "data loader: %s: features: size %d is %" PRId64
                            ": sizes start at 1 and multiply to at most %d",
                            cse_settings_origin(settings, "features"), axis, size, MAX_ENTRIES);
        shape->dims[axis] = size;
        *elements *= size;
    }
    return CSE_OK;
}

static void synthetic_close(cse_input *input)
{
    synthetic *self = input->self;
    free(self->map);
    free(self->whole);
    free(self->features_name);
    free(self);
    input->self = NULL;
}

static cse_status synthetic_open(cse_input *input, const cse_settings *settings)
{
    cse_shape shape;
    int64_t elements = 0;
    CSE_TRY(features_shape(settings, &shape, &elements));
    bool regression = cse_settings_bool(settings, "regression");
    int64_t classes = regression ? 1 : cse_settings_integer(settings, "classes");
    if (classes * elements > MAX_ENTRIES)
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: %" PRId64 " classes of %" PRId64
                        " features make a map of more than %d entries: give fewer of either",
                        cse_settings_origin(settings, "classes"), classes, elements, MAX_ENTRIES);
    synthetic *self = input->self = cse_calloc(1, sizeof *self);
    *self = (synthetic){
        .seed = (uint64_t)cse_settings_integer(settings, "seed"),
        .elements = elements,
        .classes = classes,
        .regression = regression,
        .map = cse_malloc((size_t)(classes * elements)),
        .whole = cse_calloc((size_t)elements, sizeof(int32_t)),
        .feature_scale = (float)(sqrt(3.0) * 0x1p-24),
        .target_scale = sqrt(3.0 / (double)elements) * 0x1p-24,
        .features_name = cse_strdup(cse_settings_text(settings, "features_name")),
    };
    for (int64_t row = 0; row < classes; row++)
        draw_map_row(self, row);
    input->sample_count = cse_settings_integer(settings, "samples");
    cse_describe_labelled(input, self->features_name, shape, regression);
    return CSE_OK;
}

static cse_status synthetic_read(cse_input *input, const int64_t *indices, int64_t count,
                                 void *const outputs[])
{
    synthetic *self = input->self;
    float *features = outputs[CSE_FEATURES_STREAM];
    for (int64_t i = 0; i < count; i++, features += self->elements) {
        draw_features(self, indices[i]);
        for (int64_t e = 0; e < self->elements; e++)
            features[e] = (float)self->whole[e] * self->feature_scale;
        double answer = self->regression ? (double)score(self, 0) * self->target_scale
                                         : (double)best_class(self);
        cse_write_answer(outputs, i, self->regression, answer);
    }
    return CSE_OK;
}

const cse_input_descriptor cse_input_synthetic = {
    .name = "synthetic",
    .summary = "computed samples whose labels a model can learn",
    .settings = settings_table,
    .open = synthetic_open,
    .read = synthetic_read,
    .close = synthetic_close,
};
