/* Random graphs: each draw is a function of (seed, number of the draw). */
#include "tests/support/random_graph.h"

#include <check.h>
#include <stdio.h>

#include "engine/base/types/shape.h"
#include "engine/graph/trace/trace.h"

enum { SAMPLES = 6, TIME = 5, CHANNELS = 35, MOST_VALUES = 512, STATES = 4 };

typedef struct builder {
    cse_graph *graph;
    uint64_t seed;
    uint32_t draws;
    cse_tensor *values[MOST_VALUES];
    int count;
} builder;

static int draw(builder *b, int below)
{
    return (int)fixture_random(b->seed, b->draws++, 0, below);
}

static cse_tensor *pick(builder *b)
{
    /* The later half is preferred, so that chains become long. */
    int from = draw(b, 2) ? b->count / 2 : 0;
    return b->values[from + draw(b, b->count - from)];
}

static cse_tensor *unary(builder *b, cse_tensor *x)
{
    switch (draw(b, 6)) {
    case 0:
        return cse_tanh(x);
    case 1:
        return cse_sigmoid(x);
    case 2:
        return cse_relu(x);
    case 3:
        return cse_exp(cse_neg(cse_abs(x)));
    case 4:
        return cse_scale(x, 0.7);
    default:
        return cse_neg(x);
    }
}

static cse_tensor *binary(builder *b, cse_tensor *x, cse_tensor *y)
{
    cse_shape common;
    if (!cse_shape_broadcast(x->shape, y->shape, &common) ||
        cse_shape_elements(common) > (int64_t)SAMPLES * TIME * CHANNELS)
        return unary(b, x);
    switch (draw(b, 5)) {
    case 0:
        return cse_scale(cse_add(x, y), 0.5);
    case 1:
        return cse_scale(cse_sub(x, y), 0.5);
    case 2:
        return cse_tanh(cse_mul(x, y));
    case 3:
        return cse_maximum(x, y);
    default:
        return cse_minimum(x, y);
    }
}

static cse_tensor *reduction(builder *b, cse_tensor *x)
{
    int axes[CSE_MAX_RANK], count = 0, form = draw(b, 4);
    if (x->shape.rank == 0)
        return unary(b, x);
    for (int i = 0; i < x->shape.rank; i++)
        if (form == 3 || (form == 0 && i == x->shape.rank - 1) ||
            (form == 1 && i < x->shape.rank - 1) || (form == 2 && draw(b, 2)))
            axes[count++] = i;
    if (count == 0)
        return unary(b, x);
    bool keep = draw(b, 3) > 0;
    return draw(b, 4) ? cse_mean(x, axes, count, keep) : cse_max(x, axes, count, keep);
}

static cse_tensor *movement(builder *b, cse_tensor *x)
{
    int axes[CSE_MAX_RANK];
    int64_t elements = cse_shape_elements(x->shape);
    if (draw(b, 2) && x->shape.rank >= 2) {
        for (int i = 0; i < x->shape.rank; i++)
            axes[i] = x->shape.rank - 1 - i;
        return cse_transpose(x, axes, x->shape.rank);
    }
    if (elements % CHANNELS == 0)
        return cse_reshape(x, cse_shape_of(elements / CHANNELS, CHANNELS));
    return cse_reshape(x, cse_shape_of(elements));
}

static cse_tensor *product(builder *b, cse_tensor *x, cse_tensor *y)
{
    if (x->shape.rank != 2 || y->shape.rank != 2 || x->shape.dims[1] != y->shape.dims[1] ||
        x->shape.dims[0] * y->shape.dims[0] > (int64_t)SAMPLES * TIME * CHANNELS)
        return binary(b, x, y);
    return cse_relu(cse_scale(cse_matmul(x, y, false, true), 1.0 / 35));
}

static void add_leaves(builder *b)
{
    const cse_shape shapes[] = { cse_shape_of(SAMPLES, TIME, CHANNELS),
                                 cse_shape_of(SAMPLES, CHANNELS), cse_shape_of(SAMPLES, 1),
                                 cse_shape_of(SAMPLES, TIME, 1) };
    const cse_shape states[STATES] = { cse_shape_of(CHANNELS), cse_shape_of(TIME, CHANNELS),
                                       cse_shape_of(CHANNELS, CHANNELS), cse_scalar_shape };
    char name[32];
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        snprintf(name, sizeof name, "x%zu", i);
        b->values[b->count++] = fixture_input(b->graph, name, shapes[i], CSE_FLOAT32);
    }
    for (int s = 0; s < STATES; s++) {
        int index;
        snprintf(name, sizeof name, "w%d", s);
        cse_state_entry entry = { .name = name, .shape = states[s], .dtype = CSE_FLOAT32 };
        ck_assert_int_eq(cse_graph_add_state(b->graph, &entry, &index), CSE_OK);
        b->values[b->count++] = cse_graph_state_node(b->graph, index);
    }
}

/* Sums over the batch of some values; their means change the states, elementwise. */
static void add_results(builder *b)
{
    char name[32];
    cse_tensor *norm = cse_constant(0.1);
    for (int r = 0; r < 12; r++) {
        cse_tensor *value = b->values[b->count - 1 - r * (b->count / 20)];
        if (!value->batch)
            value = cse_mul(value, cse_mean_all(b->values[0]));
        snprintf(name, sizeof name, "result %d", r);
        fixture_fetch(b->graph, name, value);
        cse_tensor *sum = b->graph->fetches[b->graph->fetch_count - 1].value;
        norm = cse_add(norm, cse_abs(cse_mean_all(sum)));
    }
    fixture_fetch(b->graph, "norm", norm);
    for (int s = 0; s < STATES; s++) {
        cse_tensor *w = cse_graph_state_node(b->graph, s);
        cse_tensor *step = cse_mul(cse_tanh(w), cse_scale(norm, 0.1));
        b->graph->states[s].next = cse_sub(w, step);
    }
}

cse_graph *random_graph_new(uint64_t seed, int nodes)
{
    builder b = { .graph = cse_graph_new(1, SAMPLES), .seed = seed };
    cse_trace_begin(b.graph);
    add_leaves(&b);
    /* One product with a bias and relu, which every graph contains: x1 [samples, channels], w2, w0.
     */
    cse_tensor *layer = cse_linear(b.values[1], b.values[6], b.values[4]);
    b.values[b.count++] = cse_relu(cse_scale(layer, 0.2));
    fixture_fetch(b.graph, "layer", cse_relu(layer));
    for (int n = 0; n < nodes; n++) {
        cse_tensor *x = pick(&b), *y = pick(&b), *made;
        int kind = draw(&b, 12);
        if (kind < 3)
            made = unary(&b, x);
        else if (kind < 7)
            made = binary(&b, x, y);
        else if (kind < 10)
            made = reduction(&b, x);
        else
            made = kind == 10 ? movement(&b, x) : product(&b, x, y);
        b.values[b.count++] = made;
    }
    add_results(&b);
    cse_trace_end();
    ck_assert_msg(cse_trace_status(b.graph) == CSE_OK, "%s", cse_error_message());
    return b.graph;
}

static void fill(unsigned char *place, int64_t count, uint64_t key)
{
    float *values = (float *)(void *)place;
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)fixture_random(key, (uint32_t)i, -1, 1);
}

void random_graph_fill(const cse_graph *graph, const fixture_memory *memory, uint64_t seed)
{
    for (int i = 0; i < graph->input_count; i++)
        fill(memory->base[CSE_SPACE_INPUT] + graph->inputs[i].offset_bytes,
             cse_shape_elements(graph->inputs[i].shape), seed * 100 + (uint64_t)i);
    for (int s = 0; s < graph->state_count; s++)
        fill(memory->base[CSE_SPACE_STATE] + graph->states[s].offset_bytes,
             cse_shape_elements(graph->states[s].shape), seed * 100 + 50 + (uint64_t)s);
}
