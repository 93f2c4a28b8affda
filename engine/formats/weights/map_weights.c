/* Which weight of others each weight is made of, by the rules of a map. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/formats/weights/map.h"
#include "engine/formats/weights/map_reading.h"

/* ---- building ---- */

typedef struct building {
    const cse_map *map;
    const json_t *facts;
    cse_weights *from, *to;
    cse_weight_mapping *self;
    bool *used; /* of from's weights */
    int missing;
    const char *first_missing;
} building;

static bool applies(const building *b, const cse_map_rule *rule)
{
    return rule->parts > 0 &&
           (rule->unless == NULL ||
            !cse_map_is_true(b->map, b->to->arena, b->facts, rule->unless)) &&
           cse_map_holds(b->map, b->to->arena, b->facts, rule->where);
}

static int find_by_any_age(const building *b, const char *name)
{
    const int found = cse_weights_find(b->from, name);
    const char *older = found < 0 ? cse_map_of_other_age(b->map, b->to->arena, name, true) : NULL;
    return older != NULL ? cse_weights_find(b->from, older) : found;
}

static int find_theirs(const building *b, const cse_map_rule *rule, const char *name)
{
    int found = -1;
    if (b->map->prefix != NULL && !rule->no_prefix)
        found = find_by_any_age(b, cse_arena_printf(b->to->arena, "%s%s", b->map->prefix, name));
    return found >= 0 ? found : find_by_any_age(b, name);
}

static cse_status misfit(const building *b, const cse_weight *weight, const char *what)
{
    char shape[192];
    return cse_fail(CSE_DATA, "%s: '%s' has the shape %s, which %s (%s)", b->from->path,
                    weight->name, cse_shape_text(weight->shape, shape, sizeof shape), what,
                    b->map->source);
}

static cse_status set_rotated(const building *b, const cse_weight *weight, int64_t head,
                              cse_made_weight *m)
{
    if (b->map->rotary_size == NULL || m->rule->rotary == NULL)
        return CSE_OK;
    m->rotated = cse_map_integer(b->map, b->facts, b->map->rotary_size);
    return m->rotated > 0 && m->rotated % 2 == 0 && m->rotated <= head
               ? CSE_OK
               : misfit(b, weight, "has heads of another size than an even part to be rotated");
}

/* The rows of theirs, after it was transposed. */
static cse_status set_fused(const building *b, const cse_weight *weight, int64_t rows,
                            cse_made_weight *m)
{
    cse_fused *f = &m->fused;
    if (!m->rule->is_fused)
        return CSE_OK;
    f->layout = m->rule->fused;
    f->heads = cse_map_integer(b->map, b->facts, m->rule->heads);
    f->key_heads = cse_map_integer(b->map, b->facts, m->rule->key_heads);
    if (f->heads < 1 || f->key_heads < 1 || f->heads % f->key_heads != 0 ||
        rows % (f->heads + 2 * f->key_heads) != 0)
        return misfit(b, weight, "cannot be cut into its heads of queries, keys and values");
    if (f->layout == CSE_FUSED_QUARTERS && f->heads % 4 != 0)
        return misfit(b, weight, "cannot be cut into quarters of its heads");
    f->head = rows / (f->heads + 2 * f->key_heads);
    if (m->rule->rotary != NULL && b->map->rotary_size == NULL && f->head % 2 != 0)
        return misfit(b, weight, "cannot be cut into heads of an even size");
    return set_rotated(b, weight, f->head, m);
}

static cse_status set_heads(const building *b, const cse_weight *ours, cse_made_weight *m)
{
    m->heads = m->rule->rotary != NULL ? cse_map_integer(b->map, b->facts, m->rule->rotary) : 0;
    if (m->rule->rotary == NULL || m->rule->is_fused)
        return CSE_OK;
    if (m->heads < 1 || ours->shape.rank < 1 || ours->shape.dims[0] % m->heads != 0 ||
        (b->map->rotary_size == NULL && ours->shape.dims[0] % (2 * m->heads) != 0))
        return misfit(b, ours, "cannot be cut into heads of an even size");
    CSE_TRY(set_rotated(b, ours, ours->shape.dims[0] / m->heads, m));
    const int64_t size =
        b->map->head_size != NULL ? cse_map_integer(b->map, b->facts, b->map->head_size) : -1;
    if (size >= 0 && ours->shape.dims[0] != m->heads * size)
        return misfit(b, ours, "has not the rows of its heads: all of a head must be rotated");
    return CSE_OK;
}

static cse_status add(building *b, const cse_weight *weight, const cse_made_weight *m)
{
    cse_weight_mapping *self = b->self;
    CSE_TRY(cse_weights_add(b->to, weight));
    CSE_GROW(self->list, self->count, self->capacity);
    self->list[self->count++] = *m;
    return CSE_OK;
}

/* The shape of theirs, squeezed, transposed and cut. */
static cse_status our_shape(const building *b, const cse_weight *theirs, cse_made_weight *m,
                            cse_shape *shape)
{
    const cse_map_rule *rule = m->rule;
    *shape = theirs->shape;
    for (int i = 0; i < rule->squeeze; i++) {
        if (shape->rank == 0 || shape->dims[0] != 1)
            return misfit(b, theirs, "has not the dimensions of size 1 that the rule takes away");
        shape->rank--;
        memmove(shape->dims, shape->dims + 1, (size_t)shape->rank * sizeof shape->dims[0]);
    }
    /* Programs differ in whether theirs has them. */
    for (int i = 0; i < rule->unsqueeze && shape->rank < CSE_MAX_RANK && shape->dims[0] != 1; i++) {
        memmove(shape->dims + 1, shape->dims, (size_t)shape->rank++ * sizeof shape->dims[0]);
        shape->dims[0] = 1;
    }
    if (rule->transpose) {
        if (shape->rank != 2)
            return misfit(b, theirs, "cannot be transposed: it has not two dimensions");
        const int64_t rows = shape->dims[0];
        shape->dims[0] = shape->dims[1];
        shape->dims[1] = rows;
    }
    if (rule->is_fused)
        return shape->rank < 1 ? misfit(b, theirs, "has no rows")
                               : set_fused(b, theirs, shape->dims[0], m);
    if (rule->parts > 1) {
        const int axis = rule->within ? 1 : 0;
        if (shape->rank <= axis || shape->dims[axis] % rule->parts != 0)
            return misfit(b, theirs, "cannot be cut into the parts of its rule");
        shape->dims[axis] /= rule->parts;
    }
    return CSE_OK;
}

/* What is computed for a weight has the precision of its computation. */
static cse_element element_of(const cse_map_rule *rule, const cse_weight *from)
{
    return rule->plus != 0 ? CSE_ELEMENT_F32 : from->element;
}

static void miss(building *b, const char *name)
{
    if (b->missing++ == 0)
        b->first_missing = name;
}

/* Whether there is another form of the weights of a rule that they lack. */
static bool is_there_otherwise(const building *b, const cse_map_rule *rule, int layer)
{
    bool found = false;
    for (int i = 0; i < b->map->rule_count && !found; i++) {
        const cse_map_rule *other = &b->map->rules[i];
        bool same = false;
        for (int k = 0; k < other->parts && other->also; k++)
            same = same || strcmp(other->ours[k], rule->ours[0]) == 0;
        found =
            same && find_theirs(b, other, cse_map_expand(b->to->arena, other->theirs, layer)) >= 0;
    }
    return found;
}

static cse_status stack_ours(building *b, const cse_map_rule *rule, int layer)
{
    const char *pattern = cse_map_expand(b->to->arena, rule->theirs, layer), *missing = NULL;
    const int64_t count = cse_map_integer(b->map, b->facts, rule->stack);
    cse_made_weight m = { .rule = rule };
    int found = 0;
    if (count < 1 || count > CSE_MAP_LAYERS)
        return cse_fail(CSE_DATA, "%s: %s is missing or above %d", b->from->path, rule->stack,
                        CSE_MAP_LAYERS);
    m.stack = cse_arena_alloc(b->to->arena, (size_t)count * sizeof *m.stack);
    for (int i = 0; i < count; i++) {
        const char *name = cse_map_expand(b->to->arena, pattern, i);
        m.stack[i] = find_theirs(b, rule, name);
        found += m.stack[i] >= 0;
        missing = m.stack[i] < 0 && missing == NULL ? name : missing;
    }
    if (found == 0 && (rule->optional || is_there_otherwise(b, rule, layer)))
        return CSE_OK;
    if (missing != NULL) {
        miss(b, missing);
        return CSE_OK;
    }
    const cse_weight *first = &b->from->list[m.stack[0]];
    cse_weight ours = { .element = first->element, .shape = first->shape, .file = -1 };
    for (int i = 0; i < count; i++) {
        const cse_weight *one = &b->from->list[m.stack[i]];
        b->used[m.stack[i]] = true;
        if (!cse_shape_equal(one->shape, first->shape) || one->element != first->element ||
            one->shape.rank >= CSE_MAX_RANK)
            return misfit(b, one, "is not that of the others of its stack");
    }
    memmove(ours.shape.dims + 1, ours.shape.dims,
            (size_t)ours.shape.rank++ * sizeof ours.shape.dims[0]);
    ours.shape.dims[0] = count;
    ours.name = cse_map_expand(b->to->arena, rule->ours[0], layer);
    return add(b, &ours, &m);
}

static cse_status to_ours(building *b, const cse_map_rule *rule, int layer)
{
    if (rule->stack != NULL)
        return stack_ours(b, rule, layer);
    const char *name = cse_map_expand(b->to->arena, rule->theirs, layer);
    cse_made_weight m = { .rule = rule, .sources = { find_theirs(b, rule, name) } };
    if (m.sources[0] < 0) {
        if (!rule->optional && !rule->also && !is_there_otherwise(b, rule, layer))
            miss(b, name);
        return CSE_OK;
    }
    const cse_weight *theirs = &b->from->list[m.sources[0]];
    cse_weight ours = { .element = element_of(rule, theirs), .file = -1 };
    b->used[m.sources[0]] = true;
    CSE_TRY(our_shape(b, theirs, &m, &ours.shape));
    for (m.part = 0; m.part < rule->parts; m.part++) {
        ours.name = cse_map_expand(b->to->arena, rule->ours[m.part], layer);
        if (rule->is_fused)
            ours.shape.dims[0] = cse_fused_heads_of(&m.fused, m.part) * m.fused.head;
        CSE_TRY(set_heads(b, &ours, &m));
        ours.packed = cse_mapping_packed(b->self, &m);
        ours.why_unpacked = theirs->packed != NULL && ours.packed == NULL
                                ? "its elements stand in another order in the file"
                                : theirs->why_unpacked;
        CSE_TRY(add(b, &ours, &m));
    }
    return CSE_OK;
}

/* The rows of all parts: the same number in each, or of a fused weight those of its heads. */
static cse_status join_rows(const building *b, cse_made_weight *m, cse_shape *shape)
{
    const cse_weight *first = &b->from->list[m->sources[0]];
    int64_t rows = 0;
    for (int p = 0; p < m->rule->parts && shape->rank > 0; p++)
        rows += b->from->list[m->sources[p]].shape.dims[0];
    CSE_TRY(set_fused(b, first, rows, m));
    for (int p = 0; p < m->rule->parts; p++) {
        const cse_weight *part = &b->from->list[m->sources[p]];
        cse_shape wanted = first->shape;
        if (m->rule->is_fused)
            wanted.dims[0] = cse_fused_heads_of(&m->fused, p) * m->fused.head;
        if (!cse_shape_equal(part->shape, wanted) || part->element != first->element)
            return misfit(b, part, "is not that of the parts that it is joined with");
    }
    if (m->rule->parts > 1 && shape->rank > 0)
        shape->dims[0] = rows;
    return CSE_OK;
}

/* The shape of the joined parts, transposed, with dimensions of size 1 before. */
static cse_status their_shape(const building *b, cse_made_weight *m, cse_shape *shape)
{
    const cse_weight *first = &b->from->list[m->sources[0]];
    *shape = first->shape;
    CSE_TRY(join_rows(b, m, shape));
    if (shape->rank + m->rule->squeeze > CSE_MAX_RANK || (m->rule->transpose && shape->rank != 2) ||
        (m->rule->parts > 1 && shape->rank < 1))
        return misfit(b, first, "does not fit its rule");
    if (m->rule->transpose) {
        const int64_t rows = shape->dims[0];
        shape->dims[0] = shape->dims[1];
        shape->dims[1] = rows;
    }
    memmove(shape->dims + m->rule->squeeze, shape->dims,
            (size_t)shape->rank * sizeof shape->dims[0]);
    for (int i = 0; i < m->rule->squeeze; i++)
        shape->dims[i] = 1;
    shape->rank += m->rule->squeeze;
    return CSE_OK;
}

/* The matrices of a stack of ours, each under a name of its own. */
static cse_status unstack(building *b, const cse_map_rule *rule, int layer, int source)
{
    const cse_weight *ours = &b->from->list[source];
    const int64_t count = cse_map_integer(b->map, b->facts, rule->stack);
    cse_made_weight m = { .rule = rule, .sources = { source } };
    cse_weight theirs = { .element = ours->element, .file = -1, .shape = ours->shape };
    if (ours->shape.rank < 1 || ours->shape.dims[0] != count)
        return misfit(b, ours, "has not the matrices of its stack");
    b->used[source] = true;
    theirs.shape.rank--;
    memmove(theirs.shape.dims, ours->shape.dims + 1,
            (size_t)theirs.shape.rank * sizeof theirs.shape.dims[0]);
    const char *pattern = cse_map_expand(b->to->arena, rule->theirs, layer);
    for (m.part = 0; m.part < count; m.part++) {
        theirs.name = cse_arena_printf(
            b->to->arena, "%s%s", b->map->prefix != NULL && !rule->no_prefix ? b->map->prefix : "",
            cse_map_expand(b->to->arena, pattern, m.part));
        CSE_TRY(add(b, &theirs, &m));
    }
    return CSE_OK;
}

static cse_status to_theirs(building *b, const cse_map_rule *rule, int layer)
{
    cse_made_weight m = { .rule = rule };
    int found = 0;
    if (rule->also)
        return CSE_OK;
    for (int p = 0; p < rule->parts; p++) {
        const char *name = cse_map_expand(b->to->arena, rule->ours[p], layer);
        m.sources[p] = cse_weights_find(b->from, name);
        found += m.sources[p] >= 0;
        if (m.sources[p] < 0 && !rule->optional)
            miss(b, name);
    }
    if (found < rule->parts)
        return CSE_OK;
    if (rule->stack != NULL)
        return unstack(b, rule, layer, m.sources[0]);
    const cse_weight *ours = &b->from->list[m.sources[0]];
    cse_weight theirs = { .element = element_of(rule, ours), .file = -1 };
    for (int p = 0; p < rule->parts; p++)
        b->used[m.sources[p]] = true;
    CSE_TRY(set_heads(b, ours, &m));
    CSE_TRY(their_shape(b, &m, &theirs.shape));
    const bool is_bare =
        b->map->prefix == NULL || rule->no_prefix ||
        (b->map->bare != NULL && cse_map_holds(b->map, b->to->arena, b->facts, b->map->bare));
    theirs.name = cse_arena_printf(b->to->arena, "%s%s", is_bare ? "" : b->map->prefix,
                                   cse_map_expand(b->to->arena, rule->theirs, layer));
    theirs.packed = cse_mapping_packed(b->self, &m);
    return add(b, &theirs, &m);
}

/* A weight of theirs that is a fact here. */
static cse_status add_rope(building *b)
{
    cse_map_rope rope;
    CSE_TRY(cse_map_make_rope(b->map, b->to->arena, b->facts, &rope));
    if (rope.factors == NULL)
        return CSE_OK;
    return add(b,
               &(cse_weight){ .name = rope.name,
                              .element = CSE_ELEMENT_F32,
                              .shape = { .rank = 1, .dims = { rope.count } },
                              .file = -1 },
               &(cse_made_weight){ .factors = rope.factors });
}

/* Weights of theirs that are lists of numbers here. */
static cse_status add_lists(building *b)
{
    for (int i = 0; i < b->map->fact_count; i++) {
        cse_map_numbers numbers;
        CSE_TRY(cse_map_make_numbers(b->map, &b->map->facts[i], b->to->arena, b->facts, &numbers));
        if (numbers.list == NULL)
            continue;
        CSE_TRY(add(b,
                    &(cse_weight){ .name = b->map->facts[i].theirs[0],
                                   .element = CSE_ELEMENT_F32,
                                   .shape = { .rank = 1, .dims = { numbers.count } },
                                   .file = -1 },
                    &(cse_made_weight){ .factors = numbers.list }));
    }
    return CSE_OK;
}

/* ---- what remains ---- */

static cse_status check_equal(const building *b, int one, int other)
{
    const cse_weight *first = &b->from->list[one], *second = &b->from->list[other];
    bool equal = false;
    CSE_TRY(cse_map_same_elements(b->from, one, other, &equal));
    if (equal)
        return CSE_OK;
    return cse_fail(CSE_DATA, "%s: '%s' and '%s' differ, which are one weight in the model (%s)",
                    b->from->path, first->name, second->name, b->map->source);
}

/* *known: there is a rule by which this weight of theirs is left out. */
static cse_status leave_out(const building *b, int index, bool *known)
{
    const char *name = cse_map_without_prefix(b->map, b->from->list[index].name);
    const char *newer = cse_map_of_other_age(b->map, b->to->arena, name, false);
    name = newer != NULL ? newer : name;
    for (int i = 0; i < b->map->rule_count; i++) {
        const cse_map_rule *rule = &b->map->rules[i];
        if (rule->parts > 0 || !cse_map_matches(rule->theirs, name))
            continue;
        *known = true;
        if (rule->frequencies != NULL)
            CSE_TRY(cse_map_check_frequencies(b->map, rule, b->facts, b->from, index));
        const int other =
            rule->tied != NULL ? find_theirs(b, &(cse_map_rule){ 0 }, rule->tied) : -1;
        if (other >= 0)
            CSE_TRY(check_equal(b, index, other));
    }
    return CSE_OK;
}

static cse_status check_rest(const building *b)
{
    const char *first = NULL;
    int left = 0;
    if (b->missing > 0)
        return cse_fail(
            CSE_DATA, "%s: %d weight%s of the model are missing, the first is '%s' (%s)",
            b->from->path, b->missing, b->missing > 1 ? "s" : "", b->first_missing, b->map->source);
    for (int i = 0; i < b->from->count; i++) {
        bool known = b->used[i] || cse_map_is_numbers(b->map, b->from->list[i].name);
        if (!known && !b->self->to_theirs)
            CSE_TRY(leave_out(b, i, &known));
        if (!known && b->self->to_theirs && b->map->leaves_out != NULL)
            known = cse_map_is_among(b->map->leaves_out, b->from->list[i].name);
        if (!known && left++ == 0)
            first = b->from->list[i].name;
    }
    return left == 0 ? CSE_OK
                     : cse_fail(CSE_DATA,
                                "%s: for %d weight%s the map has no rule, the first is '%s'%s (%s)",
                                b->from->path, left, left > 1 ? "s" : "", first,
                                cse_map_left_because(b->map, b->to->arena, b->facts, first),
                                b->map->source);
}

/* "depths.3" where depths has three entries. */
static bool is_beyond_list(const json_t *facts, const char *name)
{
    char list[64];
    const char *dot = strchr(name, '.');
    if (dot == NULL || dot - name >= (int)sizeof list)
        return false;
    memcpy(list, name, (size_t)(dot - name));
    list[dot - name] = '\0';
    return json_is_array(json_object_get(facts, list));
}

/* How many weights a rule stands for. */
static cse_status count_layers(const building *b, const cse_map_rule *rule, int *count)
{
    const char *fact = rule->layers != NULL ? rule->layers : b->map->layers;
    int64_t layers = cse_map_integer(b->map, b->facts, fact);
    if (layers < 0 && is_beyond_list(b->facts, fact))
        layers = 0;
    if (layers < 0 || layers > CSE_MAP_LAYERS)
        return cse_fail(CSE_DATA, "%s: %s is missing or above %d", b->from->path, fact,
                        CSE_MAP_LAYERS);
    *count = strchr(rule->theirs, '*') != NULL ? (int)layers : 1;
    return CSE_OK;
}

/* A counter of theirs, for a layer that has the weight beside it. */
static cse_status add_counter(building *b, const cse_map_rule *rule, int layer)
{
    static const float zeros[2] = { 0 };
    const char *prefix = b->map->prefix != NULL && !rule->no_prefix ? b->map->prefix : "";
    const char *beside = cse_map_expand(b->to->arena, rule->counter, layer);
    if (cse_weights_find(b->to, cse_arena_printf(b->to->arena, "%s%s", prefix, beside)) < 0)
        return CSE_OK;
    return add(
        b,
        &(cse_weight){ .name = cse_arena_printf(b->to->arena, "%s%s", prefix,
                                                cse_map_expand(b->to->arena, rule->theirs, layer)),
                       .element = CSE_ELEMENT_I64,
                       .file = -1 },
        &(cse_made_weight){ .factors = zeros });
}

static cse_status build(building *b)
{
    for (int i = 0; i < b->map->rule_count; i++) {
        const cse_map_rule *rule = &b->map->rules[i];
        int layers = 0;
        CSE_TRY(count_layers(b, rule, &layers));
        for (int layer = 0; layer < layers && applies(b, rule); layer++)
            CSE_TRY(b->self->to_theirs ? to_theirs(b, rule, layer) : to_ours(b, rule, layer));
        for (int layer = 0; layer < layers && b->self->to_theirs && rule->counter != NULL; layer++)
            CSE_TRY(add_counter(b, rule, layer));
    }
    if (b->self->to_theirs) {
        CSE_TRY(add_rope(b));
        CSE_TRY(add_lists(b));
    }
    return check_rest(b);
}

static cse_status map_weights(building *b, cse_weights **from, cse_weights **to)
{
    b->used = cse_calloc((size_t)b->from->count + 1, sizeof *b->used);
    b->self->from = b->from;
    b->self->kept = -1;
    cse_mapping_open(b->self, b->to);
    b->to->format = b->from->format;
    b->to->config = cse_arena_string(b->to->arena, b->from->config);
    b->to->origin = cse_arena_string(b->to->arena, b->from->origin);
    b->to->tokenizer = json_incref(b->from->tokenizer);
    b->to->model_name = cse_arena_string(b->to->arena, b->map->model);
    cse_status status = build(b);
    free(b->used);
    if (status != CSE_OK) {
        b->self->from = NULL;
        cse_weights_close(&b->to);
        return status;
    }
    *to = b->to;
    *from = NULL;
    return CSE_OK;
}

static cse_status begin(const cse_map *map, const json_t *facts, cse_weights **from,
                        cse_weights **to, bool to_theirs)
{
    cse_weights *made_here = cse_weights_new((*from)->path);
    cse_weight_mapping *self = cse_arena_alloc(made_here->arena, sizeof *self);
    self->to_theirs = to_theirs;
    building b = { .map = map, .facts = facts, .from = *from, .to = made_here, .self = self };
    *to = NULL;
    return map_weights(&b, from, to);
}

cse_status cse_map_to_ours(const cse_map *map, const json_t *facts, cse_weights **from,
                           cse_weights **to)
{
    return begin(map, facts, from, to, false);
}

cse_status cse_map_to_theirs(const cse_map *map, const json_t *facts, cse_weights **from,
                             cse_weights **to)
{
    return begin(map, facts, from, to, true);
}

cse_map cse_map_of_some(cse_arena *arena, const cse_map *map)
{
    cse_map some = *map;
    some.rope_factors = NULL;
    some.rules = cse_arena_alloc(arena, ((size_t)map->rule_count + 1) * sizeof *some.rules);
    for (int r = 0; r < map->rule_count; r++) {
        some.rules[r] = map->rules[r];
        some.rules[r].optional = true;
        some.rules[r].counter = NULL;
    }
    return some;
}
