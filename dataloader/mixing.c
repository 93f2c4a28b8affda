/* The formulas are those of torchvision's MixUp and CutMix; chance is by counters. */
#include "dataloader/mixing.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/config/settings.h"
#include "engine/base/random.h"
#include "engine/base/types/shape.h"

/* The streams of inputs with one class a sample (inputs/labelled.h), as describe checks. */
enum { FEATURES, LABELS };
/* Separates these random numbers from others with the same seed. */
enum { MIXING_STREAM = 0x6d697875 };

static const cse_setting mixing_table[] = {
    { .name = "mixup_alpha",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0",
      .min = 0,
      .max = 1e6,
      .doc = "shares are drawn from the beta distribution with this parameter twice; 0: no mixup" },
    { .name = "cutmix_alpha",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0",
      .min = 0,
      .max = 1e6,
      .doc = "the same for CutMix; 0: none" },
    { .name = "probability",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1.0",
      .min = 0,
      .max = 1,
      .doc = "that a sample is mixed at all" },
    { .name = "switch_probability",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0.5",
      .min = 0,
      .max = 1,
      .doc = "that it is CutMix, where both are asked for" },
    { .name = "num_classes",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .min = 1,
      .max = 1 << 24,
      .doc = "of the labels; null: as many as the data name" },
    { .name = "seed",
      .type = CSE_SETTING_INTEGER,
      .default_value = "null",
      .doc = "what chance decides is a function of it, the epoch and the sample; null: "
             "shuffle_seed" },
    { 0 },
};

typedef struct mixing {
    cse_input inner;
    cse_input_descriptor descriptor; /* of the input around it */
    const cse_weighted *sampler;
    double mixup_alpha, cutmix_alpha, probability, switch_probability;
    uint64_t seed;
    int64_t classes, elements; /* of a sample */
    /* of a read */
    cse_mixture_plan *plans;
    int64_t *partners, *epochs;
    int32_t *labels; /* of the samples, then of the partners */
    float *values;   /* of the partners */
    int64_t capacity;
} mixing;

/* ---- settings ---- */

static cse_status read_table(cse_arena *arena, const cse_settings *settings, cse_settings **table)
{
    cse_yaml_node *node = cse_settings_node(settings, "mixing");
    const cse_settings_expected expected = { .table = mixing_table,
                                             .subject = "data loader: mixing" };
    node->read = true;
    CSE_TRY(cse_settings_check(arena, &expected, node, table));
    if (cse_settings_number(*table, "mixup_alpha") > 0 ||
        cse_settings_number(*table, "cutmix_alpha") > 0)
        return CSE_OK;
    return cse_fail_at(CSE_ERROR_AT("data loader: ", node->place),
                       "mixing: neither mixup_alpha nor cutmix_alpha is above 0: give one of them, "
                       "or mixing: null");
}

bool cse_mixing_is_asked(const cse_settings *settings)
{
    return cse_settings_has(settings, "mixing");
}

cse_status cse_mixing_check(const cse_settings *settings)
{
    cse_settings *table = NULL;
    if (!cse_mixing_is_asked(settings))
        return CSE_OK;
    cse_arena *arena = cse_arena_new();
    cse_status status = read_table(arena, settings, &table);
    cse_arena_destroy(&arena);
    return status;
}

static cse_status no_pictures(const cse_settings *settings, const char *what)
{
    return cse_fail_at(CSE_ERROR_AT("data loader: ", cse_settings_place(settings, "mixing")),
                       "mixing: %s: accepted are data with one stream of numbers (pictures, for "
                       "cutmix [channel, height, width]) beside labels of one class each",
                       what);
}

static cse_status describe(const cse_settings *settings, const cse_settings *table,
                           cse_input *input)
{
    const cse_stream *features = &input->streams[FEATURES];
    cse_stream *labels = &input->streams[LABELS];
    if (input->is_stream || input->stream_count != 2 || features->dtype != CSE_FLOAT32 ||
        strcmp(labels->name, "labels") != 0 || labels->dtype != CSE_INT32 ||
        labels->shape.rank != 0)
        return no_pictures(settings, "these data cannot be mixed");
    if (cse_settings_number(table, "cutmix_alpha") > 0 && features->shape.rank != 3)
        return no_pictures(settings, "cutmix_alpha cuts pictures, and these are none");
    int64_t classes = input->class_count > 0 ? input->class_count : input->label_limit;
    if (cse_settings_has(table, "num_classes"))
        classes = cse_settings_integer(table, "num_classes");
    if (classes < 1)
        return no_pictures(settings, "the data do not say how many classes there are; give "
                                     "num_classes");
    labels->dtype = CSE_FLOAT32;
    labels->shape = cse_shape_of(classes);
    return CSE_OK;
}

cse_status cse_mixing_describe(const cse_settings *settings, cse_input *input)
{
    cse_settings *table = NULL;
    cse_arena *arena = cse_arena_new();
    cse_status status = read_table(arena, settings, &table);
    if (status == CSE_OK)
        status = describe(settings, table, input);
    cse_arena_destroy(&arena);
    return status;
}

/* ---- chance ---- */

/* Draws one by one from (seed, counter). */
typedef struct draws {
    uint64_t seed;
    uint32_t counter[4];
} draws;

static void next_two(draws *d, double u[2])
{
    uint32_t words[4];
    cse_philox(d->seed, d->counter, words);
    d->counter[3]++;
    for (int i = 0; i < 2; i++)
        u[i] = ((double)(((uint64_t)words[2 * i + 1] << 32 | words[2 * i]) >> 11) + 0.5) * 0x1p-53;
}

/* The logarithm of a number of the gamma distribution (Marsaglia, Tsang 2000); below 1 with a power
 * of a uniform one, which is kept as a logarithm: it may be smaller than any double. */
static double log_gamma_draw(draws *d, double alpha)
{
    double u[2], boost = 0;
    if (alpha < 1) {
        next_two(d, u);
        boost = log(u[0]) / alpha;
        alpha += 1;
    }
    const double scale = alpha - 1.0 / 3, slope = 1 / sqrt(9 * scale);
    for (;;) {
        next_two(d, u);
        const double normal = sqrt(-2 * log(u[0])) * cos(2 * M_PI * u[1]);
        const double root = 1 + slope * normal, cube = root * root * root;
        next_two(d, u);
        if (cube > 0 && log(u[0]) < normal * normal / 2 + scale * (1 - cube + log(cube)))
            return log(scale * cube) + boost;
    }
}

double cse_draw_beta(double alpha, uint64_t seed, const uint32_t counter[3])
{
    draws d = { .seed = seed,
                .counter = { counter[0], counter[1], counter[2], MIXING_STREAM + 1 } };
    const double x = log_gamma_draw(&d, alpha), y = log_gamma_draw(&d, alpha);
    return 1 / (1 + exp(y - x));
}

static int64_t partner_of(const mixing *m, int64_t sample, uint64_t word)
{
    const int64_t count = m->inner.sample_count;
    if (m->sampler != NULL)
        return cse_weighted_draw(m->sampler, word, sample);
    if (count == 1)
        return 0;
    const int64_t other = (int64_t)((unsigned __int128)word * (uint64_t)(count - 1) >> 64);
    return other < sample ? other : other + 1;
}

static cse_mixture_plan plan_of(const mixing *m, int64_t sample, int64_t epoch)
{
    const uint32_t place[3] = { (uint32_t)sample, (uint32_t)epoch,
                                (uint32_t)((uint64_t)epoch >> 32) };
    const uint64_t seed = m->seed ^ (uint64_t)sample >> 32;
    const cse_shape shape = m->inner.streams[FEATURES].shape;
    uint32_t words[4];
    draws d = { .seed = seed, .counter = { place[0], place[1], place[2], MIXING_STREAM } };
    cse_philox(seed, d.counter, words);
    d.counter[3] = MIXING_STREAM - 1; /* cse_draw_beta goes up from MIXING_STREAM + 1 */
    double chosen[2], middle[2];
    next_two(&d, chosen);
    d.counter[3] = MIXING_STREAM - 2;
    next_two(&d, middle);
    if (chosen[0] >= m->probability)
        return (cse_mixture_plan){ .partner = -1 };
    const bool cuts =
        m->cutmix_alpha > 0 && (m->mixup_alpha == 0 || chosen[1] < m->switch_probability);
    return (cse_mixture_plan){
        .partner = partner_of(m, sample, (uint64_t)words[1] << 32 | words[0]),
        .cuts = cuts,
        .own = cse_draw_beta(cuts ? m->cutmix_alpha : m->mixup_alpha, seed, place),
        .x = cuts ? (int64_t)(middle[0] * (double)shape.dims[2]) : 0,
        .y = cuts ? (int64_t)(middle[1] * (double)shape.dims[1]) : 0,
    };
}

cse_cut_box cse_cut_box_of(const cse_mixture_plan *plan, int64_t width, int64_t height)
{
    const double half = 0.5 * sqrt(1 - plan->own);
    const int64_t x = (int64_t)(half * (double)width), y = (int64_t)(half * (double)height);
    cse_cut_box box = { .left = plan->x > x ? plan->x - x : 0,
                        .top = plan->y > y ? plan->y - y : 0,
                        .right = plan->x + x < width ? plan->x + x : width,
                        .bottom = plan->y + y < height ? plan->y + y : height };
    box.own =
        1 - (double)((box.right - box.left) * (box.bottom - box.top)) / (double)(width * height);
    return box;
}

/* ---- reading ---- */

static void make_room(mixing *m, int64_t count)
{
    if (count <= m->capacity)
        return;
    free(m->plans);
    free(m->partners);
    free(m->epochs);
    free(m->labels);
    free(m->values);
    m->plans = cse_calloc((size_t)count, sizeof *m->plans);
    m->partners = cse_calloc((size_t)count, sizeof *m->partners);
    m->epochs = cse_calloc((size_t)count, sizeof *m->epochs);
    m->labels = cse_calloc((size_t)count * 2, sizeof *m->labels);
    m->values = cse_calloc((size_t)(count * m->elements), sizeof *m->values);
    m->capacity = count;
}

static void cut_in(const mixing *m, const cse_cut_box *box, const float *from, float *to)
{
    const cse_shape shape = m->inner.streams[FEATURES].shape;
    const int64_t height = shape.dims[1], width = shape.dims[2];
    for (int64_t c = 0; c < shape.dims[0]; c++)
        for (int64_t y = box->top; y < box->bottom; y++)
            for (int64_t x = box->left; x < box->right; x++)
                to[(c * height + y) * width + x] = from[(c * height + y) * width + x];
}

/* Mixes the values of a sample with its partner's; returns the share that is left of its own. */
static double mix_values(const mixing *m, const cse_mixture_plan *plan, const float *partner,
                         float *values)
{
    const cse_shape shape = m->inner.streams[FEATURES].shape;
    const float own = (float)plan->own, others = (float)(1 - plan->own);
    if (plan->cuts) {
        const cse_cut_box box = cse_cut_box_of(plan, shape.dims[2], shape.dims[1]);
        cut_in(m, &box, partner, values);
        return box.own;
    }
    for (int64_t i = 0; i < m->elements; i++)
        values[i] = partner[i] * others + values[i] * own;
    return plan->own;
}

static cse_status add_class(const mixing *m, int32_t label, double share, float *row)
{
    if (label < 0 || label >= m->classes)
        return cse_fail(CSE_DATA,
                        "%s: mixing: label %" PRId32 " is none of the %" PRId64
                        " classes, 0 to %" PRId64,
                        m->inner.source, label, m->classes, m->classes - 1);
    row[label] += (float)share;
    return CSE_OK;
}

static cse_status read_inner(mixing *m, const int64_t *indices, const int64_t *epochs,
                             int64_t count, void *const outputs[])
{
    m->inner.epochs = epochs;
    cse_status status = m->inner.descriptor->read(&m->inner, indices, count, outputs);
    m->inner.epochs = NULL;
    return status;
}

/* Reads the partners of the samples that are mixed, one after another. */
static cse_status read_partners(mixing *m, const int64_t *epochs, int64_t count)
{
    int64_t partners = 0;
    for (int64_t i = 0; i < count; i++) {
        if (m->plans[i].partner < 0)
            continue;
        m->partners[partners] = m->plans[i].partner;
        m->epochs[partners++] = epochs != NULL ? epochs[i] : 0;
    }
    void *outputs[CSE_MAX_STREAMS] = { NULL };
    outputs[FEATURES] = m->values;
    outputs[LABELS] = m->labels + count;
    return partners > 0 ? read_inner(m, m->partners, m->epochs, partners, outputs) : CSE_OK;
}

static cse_status mixing_read(cse_input *input, const int64_t *indices, int64_t count,
                              void *const outputs[])
{
    mixing *m = input->self;
    make_room(m, count);
    float *values = outputs[FEATURES], *rows = outputs[LABELS];
    void *own[CSE_MAX_STREAMS] = { NULL };
    own[FEATURES] = values;
    own[LABELS] = m->labels;
    for (int64_t i = 0; i < count; i++)
        m->plans[i] = plan_of(m, indices[i], input->epochs != NULL ? input->epochs[i] : 0);
    CSE_TRY(read_inner(m, indices, input->epochs, count, own));
    CSE_TRY(read_partners(m, input->epochs, count));
    memset(rows, 0, (size_t)(count * m->classes) * sizeof *rows);
    for (int64_t i = 0, next = 0; i < count; i++) {
        float *row = rows + i * m->classes;
        double share = 1;
        if (m->plans[i].partner >= 0) {
            share = mix_values(m, &m->plans[i], m->values + next * m->elements,
                               values + i * m->elements);
            CSE_TRY(add_class(m, m->labels[count + next], 1 - share, row));
            next++;
        }
        CSE_TRY(add_class(m, m->labels[i], share, row));
    }
    return CSE_OK;
}

static void mixing_locate(const cse_input *input, const cse_element_place *place, char *text,
                          size_t size)
{
    const mixing *m = input->self;
    m->inner.descriptor->locate(&m->inner, place, text, size);
}

static void mixing_close(cse_input *input)
{
    mixing *m = input->self;
    m->inner.descriptor->close(&m->inner);
    free(m->plans);
    free(m->partners);
    free(m->epochs);
    free(m->labels);
    free(m->values);
    free(m);
    input->self = NULL;
}

static void read_settings(mixing *m, const cse_settings *table, uint64_t seed)
{
    m->mixup_alpha = cse_settings_number(table, "mixup_alpha");
    m->cutmix_alpha = cse_settings_number(table, "cutmix_alpha");
    m->probability = cse_settings_number(table, "probability");
    m->switch_probability = cse_settings_number(table, "switch_probability");
    m->seed =
        cse_settings_has(table, "seed") ? (uint64_t)cse_settings_integer(table, "seed") : seed;
}

cse_status cse_mixing_wrap(const cse_settings *settings, uint64_t seed, const cse_weighted *sampler,
                           cse_input *input)
{
    cse_settings *table = NULL;
    cse_input outer = *input;
    cse_arena *arena = cse_arena_new();
    mixing *m = cse_calloc(1, sizeof *m);
    cse_status status = read_table(arena, settings, &table);
    if (status == CSE_OK)
        status = describe(settings, table, &outer);
    if (status == CSE_OK)
        read_settings(m, table, seed);
    cse_arena_destroy(&arena);
    if (status != CSE_OK) {
        free(m);
        return status;
    }
    m->inner = *input;
    m->sampler = sampler;
    m->classes = outer.streams[LABELS].shape.dims[0];
    m->elements = cse_shape_elements(outer.streams[FEATURES].shape);
    m->descriptor = (cse_input_descriptor){
        .name = input->descriptor->name,
        .summary = input->descriptor->summary,
        .settings = input->descriptor->settings,
        .read = mixing_read,
        .locate = input->descriptor->locate != NULL ? mixing_locate : NULL,
        .close = mixing_close,
    };
    outer.descriptor = &m->descriptor;
    outer.self = m;
    outer.read_labels = NULL;
    *input = outer;
    return CSE_OK;
}
