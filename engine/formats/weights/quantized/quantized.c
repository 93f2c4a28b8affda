/* The tensors of a packed matrix are found by the ends of their names. The matrix that was unpacked
 * last is kept, since it is read in blocks. */
#include "engine/formats/weights/quantized/quantized.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/formats/weights/quantized/quantization.h"

static const cse_quantization *const schemes[] = {
    &cse_quantization_gptq,
    &cse_quantization_awq,
    &cse_quantization_bitsandbytes_4,
    &cse_quantization_bitsandbytes_8,
};
enum { SCHEMES = sizeof schemes / sizeof schemes[0] };

/* A weight of the result: a matrix, or one that was not packed. */
typedef struct entry {
    cse_quantized matrix; /* without a scheme: parts[0] as it is */
} entry;

typedef struct unpacked {
    cse_weights *from;
    json_t *config;
    entry *list;
    int count, capacity;
    int kept; /* -1: none */
    float *elements;
    int kept_blocks; /* -1: none */
    unsigned char *blocks;
} unpacked;

/* ---- the configuration ---- */

static bool is_accepted(const char *only, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    const size_t length = text != NULL ? strlen(text) : 0;
    bool found = false;
    for (const char *at = only; *at != '\0' && !found;) {
        const size_t size = strcspn(at, " ");
        found = size == length && strncmp(at, text, size) == 0;
        at += size + strspn(at + size, " ");
    }
    free(text);
    return found;
}

static cse_status check_key(const cse_weights *weights, const cse_quantization *scheme,
                            const char *name, const json_t *value)
{
    for (const cse_quantization_key *key = scheme->keys; key->name != NULL; key++) {
        if (strcmp(key->name, name) != 0)
            continue;
        if (key->only == NULL || is_accepted(key->only, value))
            return CSE_OK;
        return cse_fail(CSE_DATA, "%s: quantization_config.%s is not accepted; accepted: %s",
                        weights->path, name, key->only);
    }
    return cse_fail(CSE_DATA, "%s: quantization_config.%s is not known for the method %s",
                    weights->path, name, scheme->method);
}

/* The first scheme of the method; NULL with a message: there is none. */
static const cse_quantization *find_scheme(const cse_weights *weights, const json_t *config)
{
    const char *method = json_string_value(json_object_get(config, "quant_method"));
    if (method == NULL && (json_is_true(json_object_get(config, "load_in_4bit")) ||
                           json_is_true(json_object_get(config, "load_in_8bit"))))
        method = "bitsandbytes"; /* older files do not say it */
    for (int i = 0; i < SCHEMES && method != NULL; i++)
        if (strcmp(schemes[i]->method, method) == 0)
            return schemes[i];
    (void)cse_fail(CSE_DATA,
                   "%s: quantization_config.quant_method is %.40s, and such packed weights are not "
                   "read; accepted: gptq, awq, bitsandbytes",
                   weights->path, method != NULL ? method : "missing");
    return NULL;
}

/* ---- tensors ---- */

/* The weight with that beginning and end of its name; -1: there is none. */
static int find_part(const cse_weights *weights, const char *stem, size_t length, const char *end)
{
    return cse_weights_find(weights,
                            cse_arena_printf(weights->arena, "%.*s%s", (int)length, stem, end));
}

/* The scheme of the packed matrix whose first tensor this is; NULL: it is none. */
static const cse_quantization *scheme_of(const cse_weights *weights, const char *method, int index,
                                         size_t *stem)
{
    const char *name = weights->list[index].name;
    const size_t length = strlen(name);
    for (int i = 0; i < SCHEMES; i++) {
        const char *end = schemes[i]->ends[0];
        const size_t size = strlen(end);
        if (strcmp(schemes[i]->method, method) != 0 || length < size ||
            strcmp(name + length - size, end) != 0)
            continue;
        *stem = length - size;
        /* Without an end of its own, the second tensor tells. */
        if (size > 0 || find_part(weights, name, *stem, schemes[i]->ends[1]) >= 0)
            return schemes[i];
    }
    return NULL;
}

static cse_status add(cse_weights *to, unpacked *self, const cse_weight *weight, const entry *e)
{
    CSE_TRY(cse_weights_add(to, weight));
    CSE_GROW(self->list, self->count, self->capacity);
    self->list[self->count++] = *e;
    return CSE_OK;
}

/* The matrix whose first tensor is at `index`. */
static cse_status add_matrix(cse_weights *to, const cse_quantization *scheme, int index,
                             size_t stem, bool *used)
{
    unpacked *self = to->self;
    const char *name = self->from->list[index].name;
    entry e = { .matrix = {
                    .scheme = scheme, .from = self->from, .config = self->config, .stem = stem } };
    e.matrix.name = cse_arena_printf(to->arena, "%.*s%s", (int)stem, name, scheme->result);
    for (int p = 0; p < CSE_QUANTIZED_PARTS; p++)
        e.matrix.parts[p] = -1;
    for (int p = 0; p < CSE_QUANTIZED_PARTS && scheme->ends[p] != NULL; p++) {
        e.matrix.parts[p] = find_part(self->from, name, stem, scheme->ends[p]);
        if (e.matrix.parts[p] >= 0)
            used[e.matrix.parts[p]] = true;
    }
    CSE_TRY(scheme->check(&e.matrix));
    CSE_TRY(scheme->choose(&e.matrix));
    return add(to, self,
               &(cse_weight){ .name = e.matrix.name,
                              .element = CSE_ELEMENT_F32,
                              .shape = e.matrix.shape,
                              .packed = e.matrix.packed,
                              .why_unpacked = e.matrix.why_unpacked,
                              .file = -1 },
               &e);
}

static cse_status add_all(cse_weights *to, unpacked *self, const char *method, bool *used)
{
    size_t stem = 0;
    for (int i = 0; i < self->from->count; i++) {
        const cse_quantization *scheme = scheme_of(self->from, method, i, &stem);
        if (scheme != NULL)
            CSE_TRY(add_matrix(to, scheme, i, stem, used));
    }
    for (int i = 0; i < self->from->count; i++) {
        if (used[i])
            continue;
        entry e = { .matrix = { .parts = { i } } };
        cse_weight weight = self->from->list[i];
        weight.file = -1;
        weight.packed = NULL;
        CSE_TRY(add(to, self, &weight, &e));
    }
    return CSE_OK;
}

/* ---- the view ---- */

static cse_status read_unpacked(cse_weights *weights, int index, uint64_t first, size_t bytes,
                                void *to)
{
    unpacked *self = weights->self;
    const entry *e = &self->list[index];
    if (e->matrix.scheme == NULL)
        return cse_weights_read(self->from, e->matrix.parts[0], first, bytes, to);
    if (self->kept != index) {
        free(self->elements);
        self->elements = cse_malloc(cse_weight_bytes(&weights->list[index]) + 1);
        self->kept = -1;
        CSE_TRY(e->matrix.scheme->unpack(&e->matrix, self->elements));
        self->kept = index;
    }
    memcpy(to, (const char *)self->elements + first, bytes);
    return CSE_OK;
}

static cse_status read_blocks(cse_weights *weights, int index, int64_t first, int64_t count,
                              void *to)
{
    unpacked *self = weights->self;
    const cse_weight *weight = &weights->list[index];
    const cse_quantized *matrix = &self->list[index].matrix;
    const size_t row = (size_t)cse_weight_row_bytes(weight);
    if (self->kept_blocks != index) {
        free(self->blocks);
        self->blocks = cse_malloc((size_t)weight->shape.dims[0] * row + 1);
        self->kept_blocks = -1;
        CSE_TRY(matrix->scheme->pack(matrix, self->blocks));
        self->kept_blocks = index;
    }
    memcpy(to, self->blocks + (size_t)first * row, (size_t)count * row);
    return CSE_OK;
}

static void close_unpacked(cse_weights *weights)
{
    unpacked *self = weights->self;
    cse_weights_close(&self->from);
    json_decref(self->config);
    free(self->list);
    free(self->elements);
    free(self->blocks);
}

static cse_weights *view_of(cse_weights *from, json_t *config)
{
    cse_weights *to = cse_weights_new(from->path);
    unpacked *self = cse_arena_alloc(to->arena, sizeof *self);
    *self =
        (unpacked){ .from = from, .config = json_incref(config), .kept = -1, .kept_blocks = -1 };
    to->self = self;
    to->read = read_unpacked;
    to->read_rows = read_blocks;
    to->close = close_unpacked;
    to->format = from->format;
    to->facts = json_copy(from->facts);
    json_object_del(to->facts, "quantization_config");
    to->facts_kind = from->facts_kind;
    to->generation = json_incref(from->generation);
    return to;
}

cse_status cse_quantized_unpack(cse_weights **weights)
{
    cse_weights *from = *weights;
    json_t *config = json_object_get(from->facts, "quantization_config"), *value;
    const char *name;
    if (!json_is_object(config))
        return CSE_OK;
    const cse_quantization *scheme = find_scheme(from, config);
    if (scheme == NULL)
        return CSE_DATA;
    json_object_foreach(config, name, value) CSE_TRY(check_key(from, scheme, name, value));
    cse_weights *to = view_of(from, config);
    unpacked *self = to->self;
    bool *used = cse_calloc((size_t)from->count + 1, sizeof *used);
    cse_status status = add_all(to, self, scheme->method, used);
    free(used);
    if (status != CSE_OK) {
        self->from = NULL;
        cse_weights_close(&to);
        return status;
    }
    *weights = to;
    return CSE_OK;
}
