/* Reading and writing share one description: each function below passes one part of the graph
 * through a codec, which either writes it or fills it in. Texts and ops are written once and named
 * by their numbers. */
#include "engine/graph/pack.h"

#include <stdlib.h>
#include <string.h>

#include "engine/graph/outside_ops.h"

enum {
    FORMAT = 3,
    MOST_OUTSIDE_OPS = 256,
    MOST_DIMENSION_BITS = 40,
    MOST_LEVEL = 3,
    RECENT_TEXTS = 256
};

/* ---- places of source ---- */

typedef struct call {
    const char *file;
    int line;
} call;

struct cse_calls {
    call *list;
    int count, capacity;
    int *slots; /* hash table: 1 + index */
    uint64_t mask;
};

static uint64_t slot_of_call(const cse_calls *calls, const cse_node *node)
{
    uint64_t slot = ((uint64_t)(uintptr_t)node->file ^ (uint64_t)node->line << 32) *
                            UINT64_C(0x9E3779B97F4A7C15) >>
                        20 &
                    calls->mask;
    for (; calls->slots[slot] != 0; slot = (slot + 1) & calls->mask) {
        const call *known = &calls->list[calls->slots[slot] - 1];
        if (known->line == node->line && known->file == node->file)
            break;
    }
    return slot;
}

cse_calls *cse_calls_new(const cse_graph *graph)
{
    cse_calls *calls = cse_calloc(1, sizeof *calls);
    for (calls->mask = 64; calls->mask < (uint64_t)graph->node_count * 2;)
        calls->mask *= 2;
    calls->slots = cse_calloc((size_t)calls->mask, sizeof *calls->slots);
    calls->mask--;
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        uint64_t slot = node->file != NULL ? slot_of_call(calls, node) : 0;
        if (node->file == NULL || calls->slots[slot] != 0)
            continue;
        CSE_GROW(calls->list, calls->count, calls->capacity);
        calls->list[calls->count++] = (call){ node->file, node->line };
        calls->slots[slot] = calls->count;
    }
    return calls;
}

void cse_calls_destroy(cse_calls **calls)
{
    if (*calls == NULL)
        return;
    free((*calls)->list);
    free((*calls)->slots);
    free(*calls);
    *calls = NULL;
}

/* ---- the codec ---- */

typedef struct codec {
    cse_graph *graph;
    const cse_calls *calls;
    bool reads;
    cse_unpacker *from;
    cse_text *out;
    /* Texts: the number 0 is NULL. */
    const char **texts;
    int text_count, text_capacity;
    int *slots; /* of writing: a hash table of 1 + index */
    uint64_t mask;
    struct {
        const char *text;
        int number;
    } recent[RECENT_TEXTS]; /* numbers of texts that were written lately, by their address */
    const cse_op **ops;     /* of reading: by the number of its name; NULL: not looked up */
    const cse_op *outside[MOST_OUTSIDE_OPS]; /* of writing: each once */
    int outside_count;
} codec;

/* A number in [low, low + range). */
static void code_number(codec *c, int64_t *value, int64_t low, uint64_t range)
{
    if (c->reads)
        *value = low + (int64_t)cse_unpack_count(c->from, range);
    else
        cse_pack_count(c->out, (uint64_t)(*value - low));
}

static void code_int(codec *c, int *value, int low, int range)
{
    int64_t number = *value;
    code_number(c, &number, low, (uint64_t)range);
    *value = (int)number;
}

static void code_wide(codec *c, int64_t *value)
{
    if (c->reads)
        *value = cse_unpack_number(c->from);
    else
        cse_pack_number(c->out, *value);
}

/* A size in bytes, of what fits into memory. */
static void code_size(codec *c, int64_t *value)
{
    code_number(c, value, 0, UINT64_C(1) << 62);
}

static void code_double(codec *c, double *value)
{
    if (c->reads)
        *value = cse_unpack_double(c->from);
    else
        cse_pack_double(c->out, *value);
}

static void code_bool(codec *c, bool *value)
{
    int number = *value;
    code_int(c, &number, 0, 2);
    *value = number != 0;
}

#define CODE_ENUM(c, value, type, count)   \
    do {                                   \
        int code_enum = (int)(value);      \
        code_int(c, &code_enum, 0, count); \
        (value) = (type)code_enum;         \
    } while (0)

static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

static void grow_slots(codec *c)
{
    if ((uint64_t)c->text_count * 2 < c->mask)
        return;
    free(c->slots);
    c->mask = (c->mask + 1) * 4 - 1;
    c->slots = cse_calloc((size_t)c->mask + 1, sizeof *c->slots);
    for (int t = 0; t < c->text_count; t++) {
        uint64_t slot = hash_text(c->texts[t]) & c->mask;
        while (c->slots[slot] != 0)
            slot = (slot + 1) & c->mask;
        c->slots[slot] = t + 1;
    }
}

/* 1 + the index of the text, which is added when it is new. */
static int number_of_text(codec *c, const char *text)
{
    if (text == NULL)
        return 0;
    const size_t place = ((uintptr_t)text >> 4 ^ (uintptr_t)text >> 10) % RECENT_TEXTS;
    if (c->recent[place].text == text)
        return c->recent[place].number;
    grow_slots(c);
    uint64_t slot = hash_text(text) & c->mask;
    while (c->slots[slot] != 0 && strcmp(c->texts[c->slots[slot] - 1], text) != 0)
        slot = (slot + 1) & c->mask;
    if (c->slots[slot] == 0) {
        CSE_GROW(c->texts, c->text_count, c->text_capacity);
        c->texts[c->text_count++] = text;
        c->slots[slot] = c->text_count;
    }
    c->recent[place].text = text;
    return c->recent[place].number = c->slots[slot];
}

static void code_text(codec *c, const char **text)
{
    int number = c->reads ? 0 : number_of_text(c, *text);
    code_int(c, &number, 0, c->reads ? c->text_count + 1 : INT32_MAX);
    if (c->reads)
        *text = number > 0 ? c->texts[number - 1] : NULL;
}

/* A text that is never NULL. */
static void code_word(codec *c, const char **text)
{
    code_text(c, text);
    if (*text == NULL) {
        c->from->wrong = true;
        *text = "";
    }
}

static void note_outside(codec *c, const cse_op *op)
{
    for (int i = 0; i < c->outside_count; i++)
        if (c->outside[i] == op)
            return;
    if (c->outside_count < MOST_OUTSIDE_OPS)
        c->outside[c->outside_count++] = op;
}

static void code_op(codec *c, const cse_op **op)
{
    if (!c->reads && *op != NULL && cse_op_is_outside(*op))
        note_outside(c, *op);
    int number = c->reads || *op == NULL ? 0 : number_of_text(c, (*op)->name);
    code_int(c, &number, 0, c->reads ? c->text_count + 1 : INT32_MAX);
    if (!c->reads)
        return;
    *op = NULL;
    if (number == 0)
        return;
    if (c->ops[number - 1] == NULL)
        c->ops[number - 1] = cse_op_find(c->texts[number - 1]);
    *op = c->ops[number - 1];
    c->from->wrong = c->from->wrong || *op == NULL;
}

/* A node that is in the graph, or NULL where that is allowed. */
static void code_node_index(codec *c, cse_node **node, bool may_miss)
{
    int number = c->reads || *node == NULL ? 0 : (int)(*node)->scratch + 1;
    code_int(c, &number, 0, c->graph->node_count + 1);
    if (!c->reads)
        return;
    *node = number > 0 ? c->graph->nodes[number - 1] : NULL;
    c->from->wrong = c->from->wrong || (*node == NULL && !may_miss);
}

static void code_shape(codec *c, cse_shape *shape)
{
    code_int(c, &shape->rank, 0, CSE_MAX_RANK + 1);
    int64_t elements = 1;
    for (int i = 0; i < shape->rank; i++) {
        code_number(c, &shape->dims[i], 0, UINT64_C(1) << MOST_DIMENSION_BITS);
        int64_t size = shape->dims[i];
        if (size > 0 && elements > (INT64_C(1) << MOST_DIMENSION_BITS) / size)
            c->from->wrong = true;
        else
            elements *= size > 0 ? size : 1;
    }
}

/* ---- nodes ---- */

static void code_attributes(codec *c, cse_attributes *attributes)
{
    code_int(c, &attributes->integer_count, 0, CSE_MAX_INTEGERS + 1);
    for (int i = 0; i < attributes->integer_count; i++)
        code_wide(c, &attributes->integers[i]);
    code_int(c, &attributes->number_count, 0, CSE_MAX_NUMBERS + 1);
    for (int i = 0; i < attributes->number_count; i++)
        code_double(c, &attributes->numbers[i]);
    code_text(c, &attributes->text);
}

static void code_accumulation(codec *c, cse_accumulation *accumulation)
{
    int64_t stream = accumulation->stream;
    CODE_ENUM(c, accumulation->across, cse_dtype, CSE_DTYPE_COUNT);
    CODE_ENUM(c, accumulation->arithmetic, cse_dtype, CSE_DTYPE_COUNT);
    code_bool(c, &accumulation->stochastic);
    code_bool(c, &accumulation->emulated);
    code_int(c, &accumulation->tile_length, 0, INT32_MAX);
    code_number(c, &stream, 0, UINT64_C(1) << 32);
    accumulation->stream = (uint32_t)stream;
    if (!cse_dtype_is_float(accumulation->across))
        c->from->wrong = true;
}

static bool accumulates_usually(const cse_accumulation *a)
{
    return a->across == CSE_FLOAT32 && a->arithmetic == CSE_FLOAT32 && !a->stochastic &&
           !a->emulated && a->tile_length == 0 && a->stream == 0;
}

static void code_annotations(codec *c, cse_node *node)
{
    int forward = node->request.pol_forward, backward = node->request.pol_backward;
    bool usual = accumulates_usually(&node->accumulation);
    int flags = node->backward | node->inserted_cast << 1 | node->request.graphamp_off << 2 |
                usual << 3 | (forward != 0 || backward != 0) << 4 |
                (node->recompute_block != 0 || node->recomputed != 0) << 5 |
                node->request.observes << 6;
    code_int(c, &flags, 0, 128);
    node->backward = flags & 1;
    node->inserted_cast = flags >> 1 & 1;
    node->request.graphamp_off = flags >> 2 & 1;
    node->request.observes = flags >> 6 & 1;
    if (!(flags & 8))
        code_accumulation(c, &node->accumulation);
    if (flags & 16) {
        code_int(c, &forward, 0, MOST_LEVEL + 1);
        code_int(c, &backward, 0, MOST_LEVEL + 1);
        node->request.pol_forward = (uint8_t)forward;
        node->request.pol_backward = (uint8_t)backward;
    }
    if (flags & 32) {
        code_int(c, &node->recompute_block, 0, INT32_MAX);
        code_int(c, &node->recomputed, 0, INT32_MAX);
    }
    CODE_ENUM(c, node->module_class, cse_module_class, CSE_MODULE_HEAD + 1);
    CODE_ENUM(c, node->precision_class, cse_precision_class, CSE_ALLOW + 1);
    CODE_ENUM(c, node->part, cse_part, CSE_PART_COUNT);
    CODE_ENUM(c, node->space, cse_space, CSE_SPACE_COUNT);
    code_int(c, &node->group, -1, INT32_MAX);
    code_size(c, &node->offset_bytes);
    code_text(c, &node->precision_reason);
    code_op(c, &node->part_of);
}

static void code_call(codec *c, cse_node *node)
{
    int number = 0;
    if (!c->reads && node->file != NULL && c->calls != NULL)
        number = c->calls->slots[slot_of_call(c->calls, node)];
    code_int(c, &number, 0, INT32_MAX);
    if (c->reads && number > 0 && c->calls != NULL && number <= c->calls->count) {
        node->file = c->calls->list[number - 1].file;
        node->line = c->calls->list[number - 1].line;
    }
}

/* Inputs come before their users, so that they are near: the distance is a small number. */
static void code_inputs(codec *c, cse_node *node, int position)
{
    for (int i = 0; i < node->input_count; i++) {
        int distance = c->reads ? 0 : position - (int)node->inputs[i]->scratch;
        code_int(c, &distance, 1, position > 0 ? position : 1);
        if (c->reads && position > 0)
            node->inputs[i] = c->graph->nodes[position - distance];
        c->from->wrong = c->from->wrong || position == 0;
    }
}

/* The forward node of a gradient may have been removed from the graph: it is then not written. */
static void code_origin(codec *c, cse_node *node, int position)
{
    int number = 0;
    if (!c->reads && node->gradient_of != NULL) {
        int64_t at = node->gradient_of->scratch;
        if (at >= 0 && at < position && c->graph->nodes[at] == node->gradient_of)
            number = (int)at + 1;
    }
    code_int(c, &number, 0, position + 1);
    if (c->reads)
        node->gradient_of = number > 0 ? c->graph->nodes[number - 1] : NULL;
}

static void code_node(codec *c, cse_node *node, int position)
{
    code_op(c, &node->op);
    c->from->wrong = c->from->wrong || node->op == NULL;
    CODE_ENUM(c, node->dtype, cse_dtype, CSE_DTYPE_COUNT);
    code_int(c, &node->input_count, 0, CSE_MAX_INPUTS + 1);
    if (c->reads && node->input_count > 0)
        node->inputs =
            cse_arena_alloc(c->graph->arena, (size_t)node->input_count * sizeof *node->inputs);
    code_inputs(c, node, position);
    code_shape(c, &node->shape);
    code_attributes(c, &node->attributes);
    code_word(c, &node->scope);
    code_annotations(c, node);
    code_call(c, node);
    code_origin(c, node, position);
}

static void code_nodes(codec *c, int count)
{
    cse_node *made = NULL;
    if (c->reads) {
        made = cse_arena_alloc(c->graph->arena, ((size_t)count + 1) * sizeof *made);
        c->graph->nodes = cse_calloc((size_t)count + 1, sizeof *c->graph->nodes);
        c->graph->node_capacity = count + 1;
    }
    for (int n = 0; n < count && !c->from->wrong; n++) {
        cse_node *node = c->reads ? &made[n] : c->graph->nodes[n];
        code_node(c, node, n);
        if (!c->reads || c->from->wrong)
            continue;
        node->id = c->graph->next_id++;
        node->batch = cse_node_is_batch(node);
        c->graph->nodes[c->graph->node_count++] = node;
    }
}

/* ---- tables ---- */

static void code_state(codec *c, cse_state_entry *state)
{
    code_word(c, &state->name);
    code_shape(c, &state->shape);
    CODE_ENUM(c, state->dtype, cse_dtype, CSE_DTYPE_COUNT);
    CODE_ENUM(c, state->initializer.kind, cse_initializer_kind, CSE_INIT_COUNT);
    code_double(c, &state->initializer.a);
    code_double(c, &state->initializer.b);
    code_bool(c, &state->trainable);
    code_node_index(c, &state->read, true);
    code_node_index(c, &state->next, true);
    code_size(c, &state->offset_bytes);
}

static void code_input(codec *c, cse_input_entry *input)
{
    code_word(c, &input->name);
    code_shape(c, &input->shape);
    CODE_ENUM(c, input->dtype, cse_dtype, CSE_DTYPE_COUNT);
    code_node_index(c, &input->node, true);
    code_size(c, &input->offset_bytes);
    code_size(c, &input->index_count);
    code_wide(c, &input->index_ignored);
    code_text(c, &input->index_use);
}

static void code_fetch(codec *c, cse_fetch_entry *fetch)
{
    code_word(c, &fetch->name);
    code_node_index(c, &fetch->value, false);
    code_size(c, &fetch->offset_bytes);
}

static void code_reduction(codec *c, cse_reduction_entry *entry)
{
    code_node_index(c, &entry->partial, false);
    code_node_index(c, &entry->sum, false);
    code_size(c, &entry->offset_bytes);
}

static void code_group(codec *c, cse_group *group)
{
    CODE_ENUM(c, group->kind, cse_group_kind, CSE_GROUP_LIBRARY + 1);
    CODE_ENUM(c, group->part, cse_part, CSE_PART_COUNT);
    code_size(c, &group->elements);
    code_size(c, &group->first_line);
    code_bool(c, &group->per_step);
    code_int(c, &group->node_count, 0, c->graph->node_count + 1);
    if (c->reads)
        group->nodes = cse_arena_alloc(c->graph->arena,
                                       ((size_t)group->node_count + 1) * sizeof *group->nodes);
    for (int n = 0; n < group->node_count && !c->from->wrong; n++)
        code_node_index(c, &group->nodes[n], false);
}

static void code_tracked(codec *c, cse_tracked_tensor *row)
{
    CODE_ENUM(c, row->kind, cse_tracked_kind, CSE_TRACKED_COUNT);
    code_word(c, &row->name);
    code_text(c, &row->op);
    CODE_ENUM(c, row->source, cse_dtype, CSE_DTYPE_COUNT);
    code_node_index(c, &row->node, false);
    code_node_index(c, &row->kept, true);
    code_node_index(c, &row->delta, true);
    code_number(c, &row->scratch_offset, -1, UINT64_C(1) << 62);
    int kept = row->whole | (int)row->beside << 1;
    code_int(c, &kept, 0, 2 * CSE_BESIDE_COUNT);
    row->whole = kept & 1;
    row->beside = (cse_beside)(kept >> 1);
}

/* Each table: its length, then its rows. */
#define CODE_TABLE(c, rows, count, capacity, code_row)                                     \
    do {                                                                                   \
        code_int(c, &(count), 0, c->reads ? c->graph->node_count * 2 + 65536 : INT32_MAX); \
        if ((c)->reads) {                                                                  \
            (capacity) = (count) + 1;                                                      \
            (rows) = cse_calloc((size_t)(capacity), sizeof *(rows));                       \
        }                                                                                  \
        for (int row = 0; row < (count) && !(c)->from->wrong; row++)                       \
            code_row(c, &(rows)[row]);                                                     \
    } while (0)

static void code_tables(codec *c)
{
    cse_graph *g = c->graph;
    CODE_TABLE(c, g->states, g->state_count, g->state_capacity, code_state);
    CODE_TABLE(c, g->inputs, g->input_count, g->input_capacity, code_input);
    CODE_TABLE(c, g->fetches, g->fetch_count, g->fetch_capacity, code_fetch);
    CODE_TABLE(c, g->reductions, g->reduction_count, g->reduction_capacity, code_reduction);
    CODE_TABLE(c, g->groups, g->group_count, g->group_capacity, code_group);
    CODE_TABLE(c, g->tracked, g->tracked_count, g->tracked_capacity, code_tracked);
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        code_size(c, &g->space_bytes[s]);
    code_size(c, &g->statistics_scratch_bytes);
    code_int(c, &g->microbatch_count, 0, INT32_MAX);
    code_number(c, &g->micro_batch_size, 0, INT32_MAX);
    code_bool(c, &g->portable);
    code_text(c, &g->isa);
    CODE_ENUM(c, g->product_order, cse_product_order, CSE_PRODUCT_ORDER_COUNT);
}

/* ---- writing ---- */

/* What a reader must know of ops that are not the engine's, and, for those who compare graphs by
 * their packed form, which code computes them. */
static void write_outside(codec *c, cse_text *out)
{
    cse_pack_count(out, (uint64_t)c->outside_count);
    for (int i = 0; i < c->outside_count; i++) {
        cse_pack_text(out, c->outside[i]->name);
        cse_pack_count(out, c->outside[i]->kind);
        cse_pack_text(out, cse_op_code_digest(c->outside[i]));
    }
}

void cse_graph_pack(const cse_graph *graph, const cse_calls *calls, cse_text *out)
{
    cse_text body = { 0 };
    cse_unpacker nothing = { 0 };
    cse_graph copy = *graph; /* the codec takes what it may fill in */
    codec c = { .graph = &copy, .calls = calls, .from = &nothing, .out = &body, .mask = 255 };
    c.slots = cse_calloc((size_t)c.mask + 1, sizeof *c.slots);
    for (int n = 0; n < graph->node_count; n++)
        graph->nodes[n]->scratch = n;
    code_nodes(&c, graph->node_count);
    code_tables(&c);
    cse_pack_count(out, FORMAT);
    cse_pack_count(out, (uint64_t)c.text_count);
    for (int t = 0; t < c.text_count; t++)
        cse_pack_text(out, c.texts[t]);
    write_outside(&c, out);
    cse_pack_count(out, (uint64_t)graph->node_count);
    cse_text_add_bytes(out, body.data, body.size);
    cse_text_clear(&body);
    free(c.slots);
    free(c.texts);
}

/* ---- reading ---- */

static void read_texts(codec *c)
{
    c->text_count = cse_unpack_records(c->from);
    c->texts = cse_calloc((size_t)c->text_count + 1, sizeof *c->texts);
    c->ops = cse_calloc((size_t)c->text_count + 1, sizeof *c->ops);
    for (int t = 0; t < c->text_count; t++) {
        size_t size;
        const char *bytes = cse_unpack_text(c->from, &size);
        char *text = cse_arena_alloc(c->graph->arena, size + 1);
        memcpy(text, bytes, size);
        text[size] = '\0';
        c->texts[t] = text;
    }
}

static bool may_stand_in(cse_op_kind kind)
{
    return kind == CSE_OP_ELEMENTWISE || kind == CSE_OP_REDUCE || kind == CSE_OP_BLOCK ||
           kind == CSE_OP_COMPOSITE;
}

/* The op itself where its library is loaded, else a stand-in for what has no code any more. */
static void read_outside(codec *c)
{
    size_t name_size, digest_size;
    const uint64_t count = cse_unpack_count(c->from, MOST_OUTSIDE_OPS + 1);
    for (uint64_t i = 0; i < count && !c->from->wrong; i++) {
        const char *name = cse_unpack_text(c->from, &name_size);
        const uint64_t kind = cse_unpack_count(c->from, CSE_OP_STRUCTURAL + 1);
        cse_unpack_text(c->from, &digest_size);
        int t = 0;
        while (!c->from->wrong && t < c->text_count &&
               (strlen(c->texts[t]) != name_size || memcmp(c->texts[t], name, name_size) != 0))
            t++;
        if (c->from->wrong || t == c->text_count || !may_stand_in((cse_op_kind)kind)) {
            c->from->wrong = true;
            return;
        }
        cse_op *op = cse_arena_alloc(c->graph->arena, sizeof *op);
        *op = (cse_op){ .name = c->texts[t],
                        .summary = "an op of a library",
                        .kind = (cse_op_kind)kind,
                        .precision = CSE_FAMILY_FLOAT32,
                        .max_inputs = CSE_MAX_INPUTS };
        c->ops[t] = cse_op_find(c->texts[t]) != NULL ? cse_op_find(c->texts[t]) : op;
    }
}

static bool is_placed_well(const cse_graph *graph, const cse_node *node)
{
    int64_t end = graph->space_bytes[node->space];
    return node->group < graph->group_count &&
           (node->space == CSE_SPACE_NONE ||
            (node->offset_bytes <= end && cse_node_bytes(node) <= end - node->offset_bytes));
}

static bool is_tracked_well(const cse_graph *graph, const cse_tracked_tensor *row)
{
    return row->node->group >= 0 && row->op != NULL &&
           (row->kind != CSE_TRACKED_STATE || row->node->op == &cse_op_assign) &&
           (row->kind != CSE_TRACKED_GRADIENT || row->node->op == &cse_op_partial) &&
           (row->kept == NULL) == (row->delta == NULL) &&
           (row->kept == NULL ||
            (row->kept->group == row->node->group && row->delta->group == row->node->group)) &&
           row->scratch_offset <= graph->statistics_scratch_bytes;
}

/* A leaf's attribute names a row of a table. */
static bool is_leaf_well(const cse_graph *graph, const cse_node *node)
{
    const int64_t number = node->attributes.integers[0];
    if (node->op == &cse_op_state || node->op == &cse_op_assign)
        return number >= 0 && number < graph->state_count;
    if (node->op == &cse_op_input)
        return number >= 0 && number < graph->input_count;
    return true;
}

static cse_status check(const codec *c)
{
    cse_graph *graph = c->graph;
    bool fits = !c->from->wrong && graph->microbatch_count > 0 && graph->micro_batch_size > 0;
    int64_t offset = 0;
    for (int n = 0; fits && n < graph->node_count; n++)
        fits = is_placed_well(graph, graph->nodes[n]) && is_leaf_well(graph, graph->nodes[n]);
    for (int s = 0; fits && s < graph->state_count; s++) {
        const cse_state_entry *state = &graph->states[s];
        int64_t bytes = cse_shape_elements(state->shape) * (int64_t)cse_dtype_size(state->dtype);
        fits = state->offset_bytes == offset && offset < INT64_MAX / 2 - bytes &&
               cse_name_index_find(&graph->state_names, state->name) < 0;
        cse_name_index_add(&graph->state_names, fits ? state->name : "", s);
        offset += cse_aligned_bytes(bytes);
    }
    fits = fits && offset <= graph->space_bytes[CSE_SPACE_STATE];
    for (int i = 0; fits && i < graph->tracked_count; i++) {
        fits = is_tracked_well(graph, &graph->tracked[i]);
        graph->tracked[i].node->tracked = i + 1;
    }
    if (!fits)
        return cse_fail(CSE_DATA, "the plan is damaged");
    return cse_graph_verify(graph);
}

cse_status cse_graph_unpack(cse_unpacker *from, const cse_calls *calls, cse_graph **graph)
{
    codec c = { .graph = cse_graph_new(1, 1), .calls = calls, .reads = true, .from = from };
    if (cse_unpack_count(from, UINT32_MAX) != FORMAT)
        from->wrong = true;
    read_texts(&c);
    read_outside(&c);
    code_nodes(&c, cse_unpack_records(from));
    if (!from->wrong)
        code_tables(&c);
    cse_status status = check(&c);
    free(c.texts);
    free(c.ops);
    if (status != CSE_OK)
        cse_graph_destroy(&c.graph);
    *graph = c.graph;
    return status;
}
