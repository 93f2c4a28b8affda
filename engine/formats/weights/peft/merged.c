/* The factors of the weight that is read are kept as two matrices whose product is added, and the
 * rest is read through. */
#include "engine/formats/weights/peft/merged.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/registry.h"
#include "engine/base/types/shape.h"

/* What is made of one weight. */
typedef struct made {
    int *modules;         /* of each folder; -1: it adapts another */
    int saved_by, saved;  /* the folder and its parameter that takes the weight's place; -1 */
    bool adapted, turned; /* turned: [in, out] */
} made;

/* The weight that was read last: left [rows, rank] times right [rank, columns] is added. */
typedef struct kept {
    int index; /* -1: none */
    int64_t rows, columns, rank;
    float *left, *right;
    float *factors; /* of DoRA: m / n of each output; NULL: none */
} kept;

typedef struct merged {
    cse_weights *from; /* its floats are float32 */
    cse_peft_set set;
    made *of; /* each weight */
    kept kept;
} merged;

/* ---- the set ---- */

cse_status cse_peft_set_open(const cse_weights_adapters *adapters, cse_peft_set *set)
{
    *set = (cse_peft_set){ .is_linear = adapters->is_linear };
    set->folders = cse_calloc((size_t)adapters->count + 1, sizeof(cse_peft_folder *));
    set->weights = cse_calloc((size_t)adapters->count + 1, sizeof(double));
    for (int i = 0; i < adapters->count; i++) {
        set->weights[i] = adapters->weights != NULL ? adapters->weights[i] : 1;
        set->count = i + 1;
        CSE_TRY(cse_peft_folder_open(adapters->paths[i], &set->folders[i]));
        if (set->folders[i]->config.use_dora && (adapters->count > 1 || set->weights[i] != 1))
            return cse_fail(CSE_DATA,
                            "%s: an adapter of DoRA is merged alone and whole: its magnitudes are "
                            "those of the weights without any other",
                            adapters->paths[i]);
    }
    return CSE_OK;
}

void cse_peft_set_close(cse_peft_set *set)
{
    for (int i = 0; i < set->count; i++)
        cse_peft_folder_close(&set->folders[i]);
    free(set->folders);
    free(set->weights);
    *set = (cse_peft_set){ .folders = NULL };
}

/* ---- factors ---- */

static void forget(kept *k)
{
    free(k->left);
    free(k->right);
    free(k->factors);
    *k = (kept){ .index = -1 };
}

/* One module's factors, each turned where the weight is. */
typedef struct pair {
    float *left, *right; /* [rows, rank], [rank, columns] */
} pair;

static void turn(const float *from, int64_t rows, int64_t columns, float *to)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            to[j * rows + i] = from[i * columns + j];
}

static cse_status read_pair(const kept *k, const cse_peft_folder *folder, const cse_peft_module *m,
                            bool turned, pair *p)
{
    const size_t left = (size_t)(k->rows * m->rank), right = (size_t)(m->rank * k->columns);
    float *of_b = turned ? cse_malloc(right * sizeof(float) + 1) : p->left;
    float *of_a = turned ? cse_malloc(left * sizeof(float) + 1) : p->right;
    cse_status status = cse_weights_read_as(folder->weights, m->b, CSE_ELEMENT_F32, of_b);
    if (status == CSE_OK)
        status = cse_weights_read_as(folder->weights, m->a, CSE_ELEMENT_F32, of_a);
    if (turned) {
        turn(of_b, k->columns, m->rank, p->right);
        turn(of_a, m->rank, k->rows, p->left);
        free(of_a);
        free(of_b);
    }
    return status;
}

/* Puts a pair's columns and rows into the whole, from `at` on: added to what is there. */
static void put_pair(kept *k, const pair *p, int64_t rank, int64_t at, const double scale[2])
{
    for (int64_t i = 0; i < k->rows; i++)
        for (int64_t r = 0; r < rank; r++)
            k->left[i * k->rank + at + r] += (float)(scale[0] * (double)p->left[i * rank + r]);
    for (int64_t i = 0; i < rank * k->columns; i++)
        k->right[at * k->columns + i] += (float)(scale[1] * (double)p->right[i]);
}

/* What the two factors are multiplied by. */
static void scales(const cse_peft_set *set, double scale, bool turned, double of[2])
{
    of[0] = scale;
    of[1] = 1;
    if (!set->is_linear)
        return;
    const double root = sqrt(fabs(scale)), with_sign = scale < 0 ? -root : root;
    of[0] = turned ? with_sign : root; /* the sign is A's */
    of[1] = turned ? root : with_sign;
}

static cse_status keep_pairs(merged *self, const made *m)
{
    kept *k = &self->kept;
    int64_t at = 0;
    cse_status status = CSE_OK;
    for (int f = 0; f < self->set.count && status == CSE_OK; f++) {
        if (m->modules[f] < 0)
            continue;
        double scale[2];
        const cse_peft_folder *folder = self->set.folders[f];
        const cse_peft_module *module = &folder->modules[m->modules[f]];
        pair p = { cse_malloc((size_t)(k->rows * module->rank) * sizeof(float) + 1),
                   cse_malloc((size_t)(module->rank * k->columns) * sizeof(float) + 1) };
        scales(&self->set, self->set.weights[f] * module->scale, m->turned, scale);
        status = read_pair(k, folder, module, m->turned, &p);
        if (status == CSE_OK)
            put_pair(k, &p, module->rank, at, scale);
        at += self->set.is_linear ? 0 : module->rank;
        free(p.left);
        free(p.right);
    }
    return status;
}

/* Adds the product to elements [first, first + count) of the weight. */
static void add_product(const kept *k, uint64_t first, uint64_t count, float *values)
{
    const uint64_t columns = (uint64_t)k->columns;
    float *sums = cse_malloc((size_t)columns * sizeof *sums + 1);
    for (uint64_t done = 0; done < count;) {
        const uint64_t row = (first + done) / columns, begin = (first + done) % columns;
        const uint64_t some = columns - begin < count - done ? columns - begin : count - done;
        const float *left = k->left + row * (uint64_t)k->rank;
        memset(sums, 0, (size_t)some * sizeof *sums);
        for (int64_t r = 0; r < k->rank; r++) {
            const float *right = k->right + (uint64_t)r * columns + begin;
            for (uint64_t i = 0; i < some; i++)
                sums[i] += left[r] * right[i];
        }
        for (uint64_t i = 0; i < some; i++)
            values[done + i] += sums[i];
        done += some;
    }
    free(sums);
}

/* What the factors are beside: a layer that PEFT saved with them (base_layer), or the model's. */
static cse_status read_base(const merged *self, int index, uint64_t first, size_t bytes, void *to)
{
    const made *m = &self->of[index];
    return m->saved_by < 0 ? cse_weights_read(self->from, index, first, bytes, to)
                           : cse_weights_read(self->set.folders[m->saved_by]->weights, m->saved,
                                              first, bytes, to);
}

/* m / n of each output, for which the weight is read once. */
static cse_status keep_factors(merged *self, int index, const made *m)
{
    kept *k = &self->kept;
    const cse_peft_folder *folder = self->set.folders[0];
    const cse_peft_module *module = &folder->modules[m->modules[0]];
    const int64_t outputs = m->turned ? k->columns : k->rows;
    double *squares = cse_calloc((size_t)outputs + 1, sizeof *squares);
    float *row = cse_malloc((size_t)k->columns * sizeof *row + 1);
    k->factors = cse_malloc((size_t)outputs * sizeof *k->factors + 1);
    cse_status status =
        cse_weights_read_as(folder->weights, module->magnitude, CSE_ELEMENT_F32, k->factors);
    for (int64_t i = 0; i < k->rows && status == CSE_OK; i++) {
        const uint64_t first = (uint64_t)(i * k->columns);
        status =
            read_base(self, index, first * sizeof(float), (size_t)k->columns * sizeof(float), row);
        if (status != CSE_OK)
            break;
        add_product(k, first, (uint64_t)k->columns, row);
        for (int64_t j = 0; j < k->columns; j++)
            squares[m->turned ? j : i] += (double)row[j] * (double)row[j];
    }
    for (int64_t i = 0; i < outputs; i++)
        k->factors[i] = (float)((double)k->factors[i] / sqrt(squares[i]));
    free(squares);
    free(row);
    return status;
}

static cse_status keep(merged *self, int index)
{
    const made *m = &self->of[index];
    const cse_shape shape = self->from->list[index].shape;
    kept *k = &self->kept;
    if (k->index == index)
        return CSE_OK;
    forget(k);
    k->rows = shape.dims[0];
    k->columns = shape.dims[1];
    bool has_magnitude = false;
    for (int f = 0; f < self->set.count; f++) {
        if (m->modules[f] < 0)
            continue;
        const cse_peft_module *module = &self->set.folders[f]->modules[m->modules[f]];
        k->rank = self->set.is_linear ? module->rank : k->rank + module->rank;
        has_magnitude = has_magnitude || module->magnitude >= 0;
    }
    k->left = cse_calloc((size_t)(k->rows * k->rank) + 1, sizeof(float));
    k->right = cse_calloc((size_t)(k->rank * k->columns) + 1, sizeof(float));
    CSE_TRY(keep_pairs(self, m));
    if (has_magnitude)
        CSE_TRY(keep_factors(self, index, m));
    k->index = index;
    return CSE_OK;
}

/* ---- reading ---- */

static cse_status read_merged(cse_weights *weights, int index, uint64_t first, size_t bytes,
                              void *to)
{
    merged *self = weights->self;
    const made *m = &self->of[index];
    CSE_TRY(read_base(self, index, first, bytes, to));
    if (!m->adapted)
        return CSE_OK;
    if (first % sizeof(float) != 0 || bytes % sizeof(float) != 0)
        return cse_fail(CSE_INTERNAL, "%s: a part of an element is read", weights->path);
    CSE_TRY(keep(self, index));
    const kept *k = &self->kept;
    const uint64_t begin = first / sizeof(float), count = bytes / sizeof(float);
    float *values = to;
    add_product(k, begin, count, values);
    for (uint64_t i = 0; i < count && k->factors != NULL; i++)
        values[i] *= k->factors[m->turned ? (begin + i) % (uint64_t)k->columns
                                          : (begin + i) / (uint64_t)k->columns];
    return CSE_OK;
}

static void close_merged(cse_weights *weights)
{
    merged *self = weights->self;
    forget(&self->kept);
    free(self->of);
    cse_peft_set_close(&self->set);
    cse_weights_close(&self->from);
}

/* ---- which weight a module has ---- */

/* The weight of a name, or the one whose name differs by first parts that one of them lacks. */
static int find_weight(const cse_weights *weights, const char *name)
{
    int found = cse_weights_find(weights, name);
    for (int i = 0; i < weights->count && found < 0; i++)
        if (cse_peft_is_same_module(weights->list[i].name, name))
            found = i;
    return found;
}

static cse_status no_weight(const cse_weights *weights, const cse_peft_folder *folder,
                            const char *name)
{
    const char **names =
        cse_arena_alloc(weights->arena, ((size_t)weights->count + 1) * sizeof *names);
    for (int i = 0; i < weights->count; i++)
        names[i] = weights->list[i].name;
    const char *near = cse_did_you_mean(name, names);
    if (near == NULL)
        near = weights->count > 0 ? names[0] : "";
    return cse_fail(CSE_DATA,
                    "%s: the adapter changes '%s', which %s has not; its nearest is '%s': is it "
                    "the adapter of another model?",
                    folder->path, name, weights->path, near);
}

static cse_status other_shape(const cse_weights *weights, int index, const cse_peft_folder *folder,
                              const cse_weight *own)
{
    char here[192], there[192];
    return cse_fail(CSE_DATA,
                    "%s: '%s' is %s, which does not fit '%s' of %s, %s: is it the adapter of "
                    "another model?",
                    folder->path, own->name, cse_shape_text(own->shape, here, sizeof here),
                    weights->list[index].name, weights->path,
                    cse_shape_text(weights->list[index].shape, there, sizeof there));
}

/* Whether another program has the weight as [in, out]. */
static bool is_turned(const cse_map *map, const cse_peft_folder *folder, const char *name)
{
    return map != NULL ? cse_map_turns(map, name) : folder->config.fan_in_fan_out;
}

static cse_status take_module(const cse_weights *from, const cse_map *map, merged *self, int f,
                              int module)
{
    const cse_peft_folder *folder = self->set.folders[f];
    const cse_peft_module *m = &folder->modules[module];
    const cse_weight *a = &folder->weights->list[m->a], *b = &folder->weights->list[m->b];
    const char *name = cse_arena_printf(folder->arena, "%s.weight", m->name);
    const int index = find_weight(from, name);
    if (index < 0)
        return no_weight(from, folder, name);
    made *of = &self->of[index];
    const cse_shape shape = from->list[index].shape;
    const bool turned = m->is_table || is_turned(map, folder, from->list[index].name);
    if (shape.rank != 2 || shape.dims[turned ? 1 : 0] != b->shape.dims[0])
        return other_shape(from, index, folder, b);
    if (shape.dims[turned ? 0 : 1] != a->shape.dims[1])
        return other_shape(from, index, folder, a);
    for (int other = 0; other <= f && self->set.is_linear; other++)
        if (of->modules[other] >= 0 &&
            self->set.folders[other]->modules[of->modules[other]].rank != m->rank)
            return cse_fail(CSE_DATA,
                            "%s: '%s' has rank %" PRId64 " and that of %s another one: adapters of "
                            "equal ranks are added as linear; accepted for others: cat",
                            folder->path, m->name, m->rank, self->set.folders[other]->path);
    if (of->modules[f] >= 0 || (of->adapted && of->turned != turned))
        return cse_fail(CSE_DATA, "%s: '%s' is adapted twice", folder->path, m->name);
    of->modules[f] = module;
    of->adapted = true;
    of->turned = turned;
    return CSE_OK;
}

static cse_status take_saved(const cse_weights *from, merged *self, int f, int saved)
{
    const cse_peft_folder *folder = self->set.folders[f];
    const cse_peft_saved *s = &folder->saved[saved];
    const int index = find_weight(from, s->name);
    if (index < 0)
        return no_weight(from, folder, s->name);
    const cse_weight *own = &folder->weights->list[s->weight];
    if (!cse_shape_equal(own->shape, from->list[index].shape) ||
        !cse_element_is_float(own->element))
        return other_shape(from, index, folder, own);
    if (self->of[index].saved_by >= 0)
        return cse_fail(CSE_DATA,
                        "%s and %s both bring '%s' (modules_to_save), which are not added",
                        self->set.folders[self->of[index].saved_by]->path, folder->path, s->name);
    self->of[index].saved_by = f;
    self->of[index].saved = s->weight;
    return CSE_OK;
}

static cse_status take_all(const cse_weights *from, const cse_map *map, merged *self)
{
    for (int f = 0; f < self->set.count; f++) {
        const cse_peft_folder *folder = self->set.folders[f];
        for (int i = 0; i < folder->module_count; i++)
            CSE_TRY(take_module(from, map, self, f, i));
        for (int i = 0; i < folder->saved_count; i++)
            CSE_TRY(take_saved(from, self, f, i));
    }
    return CSE_OK;
}

/* ---- the view ---- */

static cse_status add_weights(cse_weights *view, const merged *self)
{
    for (int i = 0; i < self->from->count; i++) {
        cse_weight weight = self->from->list[i];
        weight.file = -1;
        weight.packed = NULL;
        weight.span = NULL;
        CSE_TRY(cse_weights_add(view, &weight));
    }
    return CSE_OK;
}

cse_status cse_peft_merge(cse_weights **weights, const cse_map *map, cse_peft_set *set)
{
    cse_weights *from = *weights;
    cse_weights *view = cse_weights_new(from->path);
    merged *self = cse_arena_alloc(view->arena, sizeof *self);
    *self = (merged){ .set = *set, .kept = { .index = -1 } };
    self->of = cse_calloc((size_t)from->count + 1, sizeof *self->of);
    for (int i = 0; i < from->count; i++) {
        self->of[i] = (made){ .saved_by = -1, .saved = -1 };
        self->of[i].modules =
            cse_arena_alloc(view->arena, ((size_t)set->count + 1) * sizeof *self->of[i].modules);
        for (int f = 0; f < set->count; f++)
            self->of[i].modules[f] = -1;
    }
    cse_status status = take_all(from, map, self);
    if (status != CSE_OK) {
        free(self->of);
        cse_weights_close(&view);
        return status;
    }
    for (int f = 0; f < set->count; f++)
        set->folders[f]->weights = cse_weights_convert(&set->folders[f]->weights, CSE_ELEMENT_F32);
    view->facts = json_incref(from->facts);
    view->facts_kind = from->facts_kind;
    view->generation = json_incref(from->generation);
    self->from = from = cse_weights_convert(weights, CSE_ELEMENT_F32);
    view->self = self;
    view->read = read_merged;
    view->close = close_merged;
    view->format = from->format;
    view->model_name = from->model_name;
    view->config = from->config;
    view->origin = from->origin;
    view->tokenizer = json_incref(from->tokenizer);
    *set = (cse_peft_set){ .folders = NULL };
    *weights = view;
    return add_weights(view, self);
}
