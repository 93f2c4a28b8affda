/* Rows are merged one by one: memory holds one row of the product and the factors of one weight. */
#include "engine/formats/weights/merged.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/config/adapter_settings.h"
#include "engine/formats/weights/map.h"

static const char a_end[] = ".lora_A.weight", b_end[] = ".lora_B.weight";

typedef struct factors {
    int weight, a, b; /* of the weights that are merged; a, b -1: none */
} factors;

typedef struct merged {
    cse_weights *from;
    factors *of; /* for each weight */
    double scale;
    /* The factors of the weight that was read last. */
    int kept; /* -1: none */
    float *a, *b;
} merged;

static bool ends_with(const char *name, const char *end)
{
    const size_t length = strlen(name), part = strlen(end);
    return length > part && strcmp(name + length - part, end) == 0;
}

static bool is_factor(const char *name)
{
    return ends_with(name, a_end) || ends_with(name, b_end);
}

bool cse_weights_have_adapter(const cse_weights *weights)
{
    bool found = false;
    for (int i = 0; i < weights->count && !found; i++)
        found = is_factor(weights->list[i].name);
    return found;
}

static int find_factor(cse_weights *weights, const char *weight, const char *end)
{
    static const char name_end[] = ".weight";
    const int module = (int)(strlen(weight) - (sizeof name_end - 1));
    return ends_with(weight, name_end)
               ? cse_weights_find(weights,
                                  cse_arena_printf(weights->arena, "%.*s%s", module, weight, end))
               : -1;
}

/* ---- reading ---- */

static cse_status keep_factors(merged *self, int index)
{
    const factors *f = &self->of[index];
    const cse_shape a = self->from->list[f->a].shape, b = self->from->list[f->b].shape;
    if (self->kept == index)
        return CSE_OK;
    free(self->a);
    free(self->b);
    self->kept = -1;
    self->a = cse_malloc((size_t)cse_shape_elements(a) * sizeof(float) + 1);
    self->b = cse_malloc((size_t)cse_shape_elements(b) * sizeof(float) + 1);
    CSE_TRY(cse_weights_read_as(self->from, f->a, CSE_ELEMENT_F32, self->a));
    CSE_TRY(cse_weights_read_as(self->from, f->b, CSE_ELEMENT_F32, self->b));
    self->kept = index;
    return CSE_OK;
}

/* Elements [first, first + count) of a weight, whose own values are in `values`. */
static void add_product(const merged *self, int index, uint64_t first, uint64_t count,
                        float *values)
{
    const factors *f = &self->of[index];
    const uint64_t columns = (uint64_t)self->from->list[f->a].shape.dims[1];
    const int64_t rank = self->from->list[f->a].shape.dims[0];
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t row = (first + i) / columns, column = (first + i) % columns;
        double sum = 0;
        for (int64_t k = 0; k < rank; k++)
            sum += (double)self->b[row * (uint64_t)rank + (uint64_t)k] *
                   self->a[(uint64_t)k * columns + column];
        values[i] = (float)(values[i] + self->scale * sum);
    }
}

static cse_status read_merged(cse_weights *weights, int index, uint64_t first, size_t bytes,
                              void *to)
{
    merged *self = weights->self;
    CSE_TRY(cse_weights_read(self->from, self->of[index].weight, first, bytes, to));
    if (self->of[index].a < 0)
        return CSE_OK;
    CSE_TRY(keep_factors(self, index));
    if (first % sizeof(float) != 0 || bytes % sizeof(float) != 0)
        return cse_fail(CSE_INTERNAL, "%s: a part of an element is read", weights->path);
    add_product(self, index, first / sizeof(float), bytes / sizeof(float), to);
    return CSE_OK;
}

static void close_merged(cse_weights *weights)
{
    merged *self = weights->self;
    free(self->a);
    free(self->b);
    free(self->of);
    cse_weights_close(&self->from);
}

/* ---- opening ---- */

static cse_status check_factors(const cse_weights *from, const factors *f)
{
    const cse_weight *w = &from->list[f->weight];
    if (f->a < 0 && f->b < 0)
        return CSE_OK;
    if (f->a < 0 || f->b < 0)
        return cse_fail(CSE_DATA, "%s: %s has one factor of an adapter; both belong together",
                        from->path, w->name);
    const cse_shape a = from->list[f->a].shape, b = from->list[f->b].shape;
    if (w->shape.rank != 2 || a.rank != 2 || b.rank != 2 || a.dims[1] != w->shape.dims[1] ||
        b.dims[0] != w->shape.dims[0] || a.dims[0] != b.dims[1] || w->element != CSE_ELEMENT_F32)
        return cse_fail(CSE_DATA,
                        "%s: the factors of an adapter do not fit %s: A [r, in] and B [out, r] of "
                        "a weight [out, in] in float32",
                        from->path, w->name);
    return CSE_OK;
}

static cse_status add_all(cse_weights *view, merged *self)
{
    int used = 0, all = 0;
    cse_weights *from = self->from;
    for (int i = 0; i < from->count; i++) {
        cse_weight weight = from->list[i];
        all += is_factor(weight.name);
        if (is_factor(weight.name))
            continue;
        const factors f = { .weight = i,
                            .a = find_factor(from, weight.name, a_end),
                            .b = find_factor(from, weight.name, b_end) };
        CSE_TRY(check_factors(from, &f));
        used += 2 * (f.a >= 0);
        self->of[view->count] = f;
        weight.file = -1;
        CSE_TRY(cse_weights_add(view, &weight));
    }
    return used == all ? CSE_OK
                       : cse_fail(CSE_DATA, "%s: a factor of an adapter has no weight beside it",
                                  from->path);
}

/* The configuration of the model alone. */
static cse_status without_adapter(cse_weights *from, cse_weights *view)
{
    const char *model = NULL;
    cse_yaml_node *settings = NULL;
    cse_text text = { 0 };
    CSE_TRY(cse_map_model_section(view->arena, from->config, &model, &settings));
    cse_yaml_print(cse_map_configuration(view->arena, model, settings), &text);
    view->config = cse_arena_string(view->arena, text.data);
    cse_text_clear(&text);
    return CSE_OK;
}

cse_status cse_weights_merge_adapter(cse_weights **weights)
{
    cse_adapter_settings *adapter = NULL;
    cse_weights *from = *weights;
    if (!cse_weights_have_adapter(from))
        return CSE_OK;
    CSE_TRY(cse_adapter_settings_of(from->arena, from->config, &adapter));
    if (adapter == NULL)
        return cse_fail(CSE_DATA,
                        "%s: holds factors of an adapter, and no configuration with a section "
                        "adapters that says their scale",
                        from->path);
    cse_weights *view = cse_weights_new(from->path);
    merged *self = cse_arena_alloc(view->arena, sizeof *self);
    *self = (merged){ .from = from, .scale = adapter->scale, .kept = -1 };
    self->of = cse_calloc((size_t)from->count + 1, sizeof *self->of);
    view->self = self;
    view->read = read_merged;
    view->close = close_merged;
    view->format = from->format;
    view->model_name = from->model_name;
    view->origin = from->origin;
    cse_status status = add_all(view, self);
    if (status == CSE_OK)
        status = without_adapter(from, view);
    if (status == CSE_OK) {
        *weights = view;
    } else {
        self->from = NULL; /* stays the caller's */
        cse_weights_close(&view);
    }
    return status;
}
