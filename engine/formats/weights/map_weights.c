/* Weights under other names, made of others when they are read: the last one that was made is kept,
 * since it is read in blocks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/formats/weights/map.h"

/* How one weight is made. */
typedef struct made {
    const cse_map_rule *rule;
    int sources[CSE_MAP_PARTS];        /* of the other weights; to ours: the first alone */
    int part;                          /* of theirs, to ours */
    int64_t heads;                     /* of a rotation; 0: none */
    int64_t rotated;                   /* rows of a head that it turns, the first ones */
    int64_t part_heads[CSE_MAP_PARTS]; /* to theirs: `heads` of each part */
    uint64_t first;                    /* of theirs, to ours: the bytes before the part */
    const float *factors;              /* without a rule: the elements; else NULL */
} made;

typedef struct mapping {
    cse_weights *from;
    bool to_theirs;
    made *list;
    int count, capacity;
    int kept; /* -1: none */
    unsigned char *elements;
} mapping;

/* ---- elements ---- */

static void transpose(const unsigned char *from, int64_t rows, int64_t columns, size_t width,
                      unsigned char *to)
{
    enum { TILE = 32 };
    for (int64_t i = 0; i < rows; i += TILE)
        for (int64_t j = 0; j < columns; j += TILE)
            for (int64_t r = i; r < i + TILE && r < rows; r++)
                for (int64_t c = j; c < j + TILE && c < columns; c++)
                    memcpy(to + (size_t)(c * rows + r) * width,
                           from + (size_t)(r * columns + c) * width, width);
}

/* The first `rotated` rows of each head from [x0, x1, ..., y0, y1, ...] to [x0, y0, x1, y1, ...],
 * or back. */
static void interleave(const made *m, unsigned char *rows, int64_t count, size_t row_bytes,
                       bool back)
{
    const int64_t head = count / m->heads, half = m->rotated / 2;
    unsigned char *copy = cse_malloc((size_t)head * row_bytes + 1);
    for (int64_t h = 0; h < m->heads; h++) {
        unsigned char *begin = rows + (size_t)(h * head) * row_bytes;
        memcpy(copy, begin, (size_t)head * row_bytes);
        for (int64_t i = 0; i < m->rotated; i++) {
            const int64_t apart = i, paired = i < half ? 2 * i : 2 * (i - half) + 1;
            memcpy(begin + (size_t)(back ? apart : paired) * row_bytes,
                   copy + (size_t)(back ? paired : apart) * row_bytes, row_bytes);
        }
    }
    free(copy);
}

/* The first row becomes the last, or back. */
static void roll(unsigned char *rows, int64_t count, size_t row_bytes, bool back)
{
    unsigned char *one = cse_malloc(row_bytes + 1);
    const size_t rest = (size_t)(count - 1) * row_bytes;
    memcpy(one, rows + (back ? rest : 0), row_bytes);
    memmove(rows + (back ? row_bytes : 0), rows + (back ? 0 : row_bytes), rest);
    memcpy(rows + (back ? 0 : rest), one, row_bytes);
    free(one);
}

/* Permutes the rows of a weight of ours: theirs are in another order. */
static void arrange(const made *m, const cse_weight *ours, unsigned char *elements, bool back)
{
    const int64_t rows = ours->shape.rank > 0 ? ours->shape.dims[0] : 0;
    if (rows == 0)
        return;
    const size_t row_bytes = (size_t)(cse_weight_bytes(ours) / (uint64_t)rows);
    if (m->heads > 0)
        interleave(m, elements, rows, row_bytes, back);
    if (m->rule->roll)
        roll(elements, rows, row_bytes, back);
}

static cse_status make_ours(const mapping *self, const made *m, const cse_weight *ours,
                            unsigned char *to)
{
    const cse_weight *theirs = &self->from->list[m->sources[0]];
    const size_t bytes = (size_t)cse_weight_bytes(theirs), part = (size_t)cse_weight_bytes(ours);
    const size_t width = cse_element_bytes(theirs->element);
    const int64_t rows = theirs->shape.dims[0], columns = theirs->shape.dims[1];
    if (!m->rule->transpose) {
        CSE_TRY(cse_weights_read(self->from, m->sources[0], m->first, part, to));
        arrange(m, ours, to, false);
        return CSE_OK;
    }
    unsigned char *whole = cse_malloc(bytes + 1), *turned = cse_malloc(bytes + 1);
    cse_status status = cse_weights_read(self->from, m->sources[0], 0, bytes, whole);
    if (status == CSE_OK) {
        transpose(whole, rows, columns, width, turned);
        memcpy(to, turned + m->first, part);
        arrange(m, ours, to, false);
    }
    free(turned);
    free(whole);
    return status;
}

static cse_status make_theirs(const mapping *self, const made *m, const cse_weight *theirs,
                              unsigned char *to)
{
    const size_t bytes = (size_t)cse_weight_bytes(theirs);
    const size_t width = cse_element_bytes(theirs->element);
    unsigned char *joined = m->rule->transpose ? cse_malloc(bytes + 1) : to;
    cse_status status = CSE_OK;
    size_t at = 0;
    for (int p = 0; p < m->rule->parts && status == CSE_OK; p++) {
        const cse_weight *ours = &self->from->list[m->sources[p]];
        const size_t part = (size_t)cse_weight_bytes(ours);
        made one = *m;
        one.heads = m->part_heads[p];
        status = cse_weights_read(self->from, m->sources[p], 0, part, joined + at);
        if (status == CSE_OK)
            arrange(&one, ours, joined + at, true);
        at += part;
    }
    if (status == CSE_OK && m->rule->transpose)
        transpose(joined, theirs->shape.dims[1], theirs->shape.dims[0], width, to);
    if (joined != to)
        free(joined);
    return status;
}

static cse_status read_mapped(cse_weights *weights, int index, uint64_t first, size_t bytes,
                              void *to)
{
    mapping *self = weights->self;
    const made *m = &self->list[index];
    const cse_weight *weight = &weights->list[index];
    const cse_map_rule *rule = m->rule;
    if (m->factors != NULL) {
        memcpy(to, (const char *)m->factors + first, bytes);
        return CSE_OK;
    }
    if (!rule->transpose && rule->parts == 1 && m->heads == 0 && !rule->roll)
        return cse_weights_read(self->from, m->sources[0], first, bytes, to);
    if (self->kept != index) {
        free(self->elements);
        self->elements = cse_malloc(cse_weight_bytes(weight) + 1);
        self->kept = -1;
        CSE_TRY(self->to_theirs ? make_theirs(self, m, weight, self->elements)
                                : make_ours(self, m, weight, self->elements));
        self->kept = index;
    }
    memcpy(to, self->elements + first, bytes);
    return CSE_OK;
}

static void close_mapped(cse_weights *weights)
{
    mapping *self = weights->self;
    cse_weights_close(&self->from);
    free(self->list);
    free(self->elements);
}

/* ---- names ---- */

/* A pattern with the number of a layer for its star. */
static const char *expand(cse_arena *arena, const char *pattern, int layer)
{
    const char *star = strchr(pattern, '*');
    return star == NULL ? pattern
                        : cse_arena_printf(arena, "%.*s%d%s", (int)(star - pattern), pattern, layer,
                                           star + 1);
}

/* The star of a pattern stands for a number; transformers 5 saves some names with the star. */
static bool matches(const char *pattern, const char *name)
{
    const char *star = strchr(pattern, '*');
    if (strcmp(pattern, name) == 0)
        return true;
    if (star == NULL)
        return false;
    const size_t length = (size_t)(star - pattern);
    if (strncmp(pattern, name, length) != 0)
        return false;
    const size_t digits = strspn(name + length, "0123456789");
    return digits > 0 && strcmp(name + length + digits, star + 1) == 0;
}

static const char *without_prefix(const cse_map *map, const char *name)
{
    const size_t length = map->prefix != NULL ? strlen(map->prefix) : 0;
    return length > 0 && strncmp(name, map->prefix, length) == 0 ? name + length : name;
}

/* ---- building ---- */

typedef struct building {
    const cse_map *map;
    const json_t *facts;
    cse_weights *from, *to;
    mapping *self;
    bool *used; /* of from's weights */
    int64_t layers;
    int missing;
    const char *first_missing;
} building;

static bool applies(const building *b, const cse_map_rule *rule)
{
    return rule->parts > 0 &&
           (rule->unless == NULL || !json_is_true(json_object_get(b->facts, rule->unless)));
}

/* The name with its end of one age in the other; NULL: it has none that changed. */
static const char *of_other_age(const building *b, const char *name, bool to_older)
{
    const cse_yaml_node *ends = b->map->older_ends;
    const size_t length = strlen(name);
    for (int i = 0; ends != NULL && i < ends->count; i++) {
        const char *newer = ends->keys[i].text, *older = ends->children[i]->text;
        const char *from = to_older ? newer : older, *to = to_older ? older : newer;
        const size_t tail = strlen(from);
        if (length > tail && strcmp(name + length - tail, from) == 0)
            return cse_arena_printf(b->to->arena, "%.*s%s", (int)(length - tail), name, to);
    }
    return NULL;
}

static int find_by_any_age(const building *b, const char *name)
{
    const int found = cse_weights_find(b->from, name);
    const char *older = found < 0 ? of_other_age(b, name, true) : NULL;
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

static const char *rotary_of(const cse_map_rule *rule, int part)
{
    const char *name = part < rule->rotary_count ? rule->rotary[part]
                       : rule->rotary_count == 1 ? rule->rotary[0]
                                                 : "null";
    return strcmp(name, "null") == 0 ? NULL : name;
}

static cse_status set_heads(const building *b, const cse_weight *ours, made *m)
{
    const char *rotary = rotary_of(m->rule, m->part);
    m->heads = rotary == NULL             ? 0
               : strcmp(rotary, "1") == 0 ? 1
                                          : cse_map_integer(b->map, b->facts, rotary);
    if (rotary == NULL)
        return CSE_OK;
    if (m->heads < 1 || ours->shape.rank < 1 || ours->shape.dims[0] % (2 * m->heads) != 0)
        return misfit(b, ours, "cannot be cut into heads of an even size");
    const int64_t size =
        b->map->head_size != NULL ? cse_map_integer(b->map, b->facts, b->map->head_size) : -1;
    if (size >= 0 && ours->shape.dims[0] != m->heads * size)
        return misfit(b, ours, "has not the rows of its heads");
    m->rotated = cse_map_rotated(b->map, b->facts, ours->shape.dims[0] / m->heads);
    if (m->rotated < 0 || m->rotated % 2 != 0 || m->rotated > ours->shape.dims[0] / m->heads)
        return misfit(b, ours, "has heads of which no such share can be rotated in pairs");
    return CSE_OK;
}

static cse_status add(building *b, const cse_weight *weight, const made *m)
{
    mapping *self = b->self;
    CSE_TRY(cse_weights_add(b->to, weight));
    CSE_GROW(self->list, self->count, self->capacity);
    self->list[self->count++] = *m;
    return CSE_OK;
}

/* The shape of theirs, squeezed, transposed and cut. */
static cse_status our_shape(const building *b, const cse_weight *theirs, const cse_map_rule *rule,
                            cse_shape *shape)
{
    *shape = theirs->shape;
    for (int i = 0; i < rule->squeeze; i++) {
        if (shape->rank == 0 || shape->dims[0] != 1)
            return misfit(b, theirs, "has not the dimensions of size 1 that the rule takes away");
        shape->rank--;
        memmove(shape->dims, shape->dims + 1, (size_t)shape->rank * sizeof shape->dims[0]);
    }
    if (rule->transpose) {
        if (shape->rank != 2)
            return misfit(b, theirs, "cannot be transposed: it has not two dimensions");
        const int64_t rows = shape->dims[0];
        shape->dims[0] = shape->dims[1];
        shape->dims[1] = rows;
    }
    return CSE_OK;
}

/* Cuts the rows of theirs into those of each part. */
static cse_status rows_of_parts(const building *b, const cse_weight *theirs,
                                const cse_map_rule *rule, cse_shape whole, int64_t *rows)
{
    int64_t shares[CSE_MAP_PARTS], sum = 0;
    bool good = rule->parts == 1 || whole.rank > 0;
    for (int p = 0; p < rule->parts; p++) {
        shares[p] = rule->share_count > 0 ? cse_map_integer(b->map, b->facts, rule->shares[p]) : 1;
        good = good && shares[p] > 0 && shares[p] < INT32_MAX;
        sum += good ? shares[p] : 0;
    }
    if (!good || (rule->parts > 1 && whole.dims[0] % sum != 0))
        return misfit(b, theirs, "cannot be cut into the parts of its rule");
    for (int p = 0; p < rule->parts; p++)
        rows[p] = rule->parts > 1 ? whole.dims[0] / sum * shares[p] : -1;
    return CSE_OK;
}

static void miss(building *b, const char *name)
{
    if (b->missing++ == 0)
        b->first_missing = name;
}

static cse_status to_ours(building *b, const cse_map_rule *rule, int layer)
{
    const char *name = expand(b->to->arena, rule->theirs, layer);
    made m = { .rule = rule, .sources = { find_theirs(b, rule, name) } };
    if (m.sources[0] < 0) {
        if (!rule->optional)
            miss(b, name);
        return CSE_OK;
    }
    const cse_weight *theirs = &b->from->list[m.sources[0]];
    cse_weight ours = { .element = theirs->element, .file = -1 };
    int64_t rows[CSE_MAP_PARTS];
    b->used[m.sources[0]] = true;
    CSE_TRY(our_shape(b, theirs, rule, &ours.shape));
    CSE_TRY(rows_of_parts(b, theirs, rule, ours.shape, rows));
    for (m.part = 0; m.part < rule->parts; m.part++) {
        ours.name = expand(b->to->arena, rule->ours[m.part], layer);
        if (rule->parts > 1)
            ours.shape.dims[0] = rows[m.part];
        CSE_TRY(set_heads(b, &ours, &m));
        CSE_TRY(add(b, &ours, &m));
        m.first += cse_weight_bytes(&ours);
    }
    return CSE_OK;
}

/* Of the parts one after the other. */
static cse_shape joined_shape(const building *b, const made *m)
{
    cse_shape shape = b->from->list[m->sources[0]].shape;
    for (int p = 1; p < m->rule->parts; p++)
        shape.dims[0] += b->from->list[m->sources[p]].shape.dims[0];
    return shape;
}

/* The shape of the joined parts, transposed, with dimensions of size 1 before. */
static cse_status their_shape(const building *b, const made *m, cse_shape *shape)
{
    const cse_weight *first = &b->from->list[m->sources[0]];
    *shape = first->shape;
    for (int p = 1; p < m->rule->parts; p++) {
        const cse_weight *part = &b->from->list[m->sources[p]];
        cse_shape like = part->shape;
        if (m->rule->share_count > 0 && like.rank > 0 && first->shape.rank > 0)
            like.dims[0] = first->shape.dims[0];
        if (!cse_shape_equal(like, first->shape) || part->element != first->element)
            return misfit(b, part, "is not that of the parts that it is joined with");
        shape->dims[0] += part->shape.rank > 0 ? part->shape.dims[0] : 0;
    }
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

static cse_status to_theirs(building *b, const cse_map_rule *rule, int layer)
{
    made m = { .rule = rule };
    int64_t rows[CSE_MAP_PARTS];
    int found = 0;
    for (int p = 0; p < rule->parts; p++) {
        const char *name = expand(b->to->arena, rule->ours[p], layer);
        m.sources[p] = cse_weights_find(b->from, name);
        found += m.sources[p] >= 0;
        if (m.sources[p] < 0 && !rule->optional)
            miss(b, name);
    }
    if (found < rule->parts)
        return CSE_OK;
    const cse_weight *ours = &b->from->list[m.sources[0]];
    cse_weight theirs = { .element = ours->element, .file = -1 };
    for (int p = 0; p < rule->parts; p++)
        b->used[m.sources[p]] = true;
    for (m.part = 0; m.part < rule->parts; m.part++) {
        CSE_TRY(set_heads(b, &b->from->list[m.sources[m.part]], &m));
        m.part_heads[m.part] = m.heads;
    }
    CSE_TRY(their_shape(b, &m, &theirs.shape));
    CSE_TRY(rows_of_parts(b, ours, rule, joined_shape(b, &m), rows));
    for (int p = 0; p < rule->parts; p++)
        if (rule->parts > 1 && b->from->list[m.sources[p]].shape.dims[0] != rows[p])
            return misfit(b, &b->from->list[m.sources[p]], "has not its share of the rows");
    theirs.name = cse_arena_printf(b->to->arena, "%s%s",
                                   b->map->prefix != NULL && !rule->no_prefix ? b->map->prefix : "",
                                   expand(b->to->arena, rule->theirs, layer));
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
               &(made){ .factors = rope.factors });
}

/* ---- what remains ---- */

static cse_status check_equal(const building *b, int one, int other)
{
    enum { BLOCK_BYTES = 1 << 20 };
    const cse_weight *first = &b->from->list[one], *second = &b->from->list[other];
    const uint64_t bytes = cse_weight_bytes(first);
    unsigned char *blocks = cse_malloc(2 * BLOCK_BYTES);
    bool equal = first->element == second->element && bytes == cse_weight_bytes(second);
    cse_status status = CSE_OK;
    for (uint64_t done = 0; done < bytes && equal && status == CSE_OK; done += BLOCK_BYTES) {
        const size_t some = bytes - done < BLOCK_BYTES ? (size_t)(bytes - done) : BLOCK_BYTES;
        status = cse_weights_read(b->from, one, done, some, blocks);
        if (status == CSE_OK)
            status = cse_weights_read(b->from, other, done, some, blocks + BLOCK_BYTES);
        equal = memcmp(blocks, blocks + BLOCK_BYTES, some) == 0;
    }
    free(blocks);
    if (status != CSE_OK || equal)
        return status;
    return cse_fail(CSE_DATA, "%s: '%s' and '%s' differ, which are one weight in the model (%s)",
                    b->from->path, first->name, second->name, b->map->source);
}

/* *known: there is a rule by which this weight of theirs is left out. */
static cse_status leave_out(const building *b, int index, bool *known)
{
    const char *name = without_prefix(b->map, b->from->list[index].name);
    const char *newer = of_other_age(b, name, false);
    name = newer != NULL ? newer : name;
    for (int i = 0; i < b->map->rule_count; i++) {
        const cse_map_rule *rule = &b->map->rules[i];
        if (applies(b, rule) || !matches(rule->theirs, name))
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
        bool known = b->used[i];
        if (!known && !b->self->to_theirs)
            CSE_TRY(leave_out(b, i, &known));
        if (!known && left++ == 0)
            first = b->from->list[i].name;
    }
    return left == 0 ? CSE_OK
                     : cse_fail(CSE_DATA,
                                "%s: for %d weight%s the map has no rule, the first is '%s' (%s)",
                                b->from->path, left, left > 1 ? "s" : "", first, b->map->source);
}

static cse_status build(building *b)
{
    b->layers = cse_map_integer(b->map, b->facts, b->map->layers);
    if (b->layers < 0 || b->layers > CSE_MAP_LAYERS)
        return cse_fail(CSE_DATA, "%s: %s is missing or above %d", b->from->path, b->map->layers,
                        CSE_MAP_LAYERS);
    for (int i = 0; i < b->map->rule_count; i++) {
        const cse_map_rule *rule = &b->map->rules[i];
        const int layers = strchr(rule->theirs, '*') != NULL ? (int)b->layers : 1;
        for (int layer = 0; layer < layers && applies(b, rule); layer++)
            CSE_TRY(b->self->to_theirs ? to_theirs(b, rule, layer) : to_ours(b, rule, layer));
    }
    if (b->self->to_theirs)
        CSE_TRY(add_rope(b));
    return check_rest(b);
}

static cse_status map_weights(building *b, cse_weights **from, cse_weights **to)
{
    b->used = cse_calloc((size_t)b->from->count + 1, sizeof *b->used);
    b->self->from = b->from;
    b->self->kept = -1;
    b->to->self = b->self;
    b->to->read = read_mapped;
    b->to->format = b->from->format;
    b->to->config = cse_arena_string(b->to->arena, b->from->config);
    b->to->origin = cse_arena_string(b->to->arena, b->from->origin);
    b->to->model_name = cse_arena_string(b->to->arena, b->map->model);
    cse_status status = build(b);
    free(b->used);
    b->to->close = close_mapped;
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
    mapping *self = cse_arena_alloc(made_here->arena, sizeof *self);
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
