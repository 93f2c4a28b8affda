/* Small random graphs, forward and backward: compiled after all passes, against the interpreter
 * without them, and against central differences of the interpreter's losses. Sizes are small, many
 * of them 1, and graphs mix values of the microbatch, of the step and constants: that is where
 * passes and kernels take their shorter ways. tests/python/random_graphs.py sets many more of them
 * beside PyTorch. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/types/shape.h"
#include "engine/graph/trace/trace.h"
#include "tests/support/compiled_graph.h"

enum { LOOPS = 3, GRAPHS = 40, STATES = 3, SAMPLES = 4, MOST_VALUES = 24, CALLS = 7 };

/* One of the graphs: a builder while it is traced, then where its results are. */
typedef struct small_graph {
    cse_graph *graph;
    uint64_t seed;
    uint32_t draws;
    cse_tensor *values[MOST_VALUES];
    int count;
    int states[STATES];          /* indices in graph->states */
    int loss, gradients[STATES]; /* indices in graph->fetches; -1: the loss does not depend on it */
    char text[512];
} small_graph;

static int draw(small_graph *g, int below)
{
    return (int)fixture_random(g->seed, g->draws++, 0, below);
}

static cse_tensor *pick(small_graph *g)
{
    return g->values[draw(g, 3) ? g->count - 1 - draw(g, g->count < 4 ? g->count : 4)
                                : draw(g, g->count)];
}

/* ---- calls: NULL where the shapes do not suit ---- */

static cse_tensor *unary(small_graph *g, cse_tensor *x)
{
    switch (draw(g, 12)) {
    case 0:
        return cse_tanh(x);
    case 1:
        return cse_sigmoid(x);
    case 2:
        return cse_exp(cse_tanh(x));
    case 3:
        return cse_log(cse_shift(cse_square(x), 1));
    case 4:
        return cse_rsqrt(cse_shift(cse_square(x), 1));
    case 5:
        return cse_gelu(x, draw(g, 2));
    case 6:
        return cse_silu(x);
    case 7:
        return cse_sin(x);
    case 8:
        return cse_scale(x, 0.75);
    case 9:
        return cse_sub(cse_constant(1), x);
    case 10:
        return cse_softplus(x);
    default:
        return cse_reciprocal(cse_shift(cse_square(x), 1.5));
    }
}

static cse_tensor *binary(small_graph *g, cse_tensor *x, cse_tensor *y)
{
    cse_shape common;
    if (!cse_shape_broadcast(x->shape, y->shape, &common) || cse_shape_elements(common) > 200)
        return NULL;
    switch (draw(g, 4)) {
    case 0:
        return cse_add(x, y);
    case 1:
        return cse_sub(x, y);
    case 2:
        return cse_tanh(cse_mul(x, y));
    default:
        return cse_div(x, cse_shift(cse_square(y), 1));
    }
}

static cse_tensor *along(small_graph *g, cse_tensor *x)
{
    if (x->shape.rank == 0)
        return NULL;
    const int axis = draw(g, x->shape.rank);
    switch (draw(g, 9)) {
    case 0:
        return cse_sum(x, &axis, 1, draw(g, 2));
    case 1:
        return cse_mean(x, &axis, 1, draw(g, 2));
    case 2:
        return cse_softmax(x, axis);
    case 3:
        return cse_log_softmax(x, axis);
    case 4:
        return cse_logsumexp(x, axis, draw(g, 2));
    case 5:
        return cse_cumsum(x, axis);
    case 6:
        return cse_flip(x, &axis, 1);
    case 7:
        return cse_slice_axis(x, axis, 0, (x->shape.dims[axis] + 1) / 2);
    default:
        return cse_var(x, &axis, 1, 0, draw(g, 2));
    }
}

static cse_tensor *whole(small_graph *g, cse_tensor *x)
{
    cse_shape shape = x->shape;
    if (shape.rank == 0 || shape.rank > 3)
        return NULL;
    switch (draw(g, 5)) {
    case 0:
        return cse_layer_norm(x, NULL, NULL, 0.1);
    case 1:
        return cse_mean_all(x);
    case 2:
        return cse_reshape(x, cse_shape_of(cse_shape_elements(shape)));
    case 3:
        shape.dims[shape.rank++] = 1;
        return cse_reshape(x, shape);
    default:
        memmove(shape.dims + 1, shape.dims, (size_t)shape.rank * sizeof *shape.dims);
        shape.dims[0] = 1;
        shape.rank++;
        return cse_reshape(x, shape);
    }
}

/* A vector takes part as a matrix of one row. */
static cse_tensor *product(small_graph *g, cse_tensor *x, cse_tensor *y)
{
    if (y->shape.rank == 1)
        y = cse_reshape(y, cse_shape_of(1, y->shape.dims[0]));
    if (x->shape.rank < 2 || x->shape.rank > 3 || y->shape.rank != 2)
        return NULL;
    const int64_t inner = x->shape.dims[x->shape.rank - 1];
    if (y->shape.dims[1] == inner && draw(g, 3)) {
        const int first = 1;
        cse_tensor *bias = draw(g, 2) ? cse_sum(y, &first, 1, false) : NULL;
        cse_tensor *made = cse_linear(x, y, bias);
        return draw(g, 2) ? made : cse_tanh(made);
    }
    return y->shape.dims[0] == inner ? cse_tanh(cse_matmul(x, y, false, false)) : NULL;
}

static void note(small_graph *g, const char *kind, const cse_tensor *made)
{
    char shape[128];
    const size_t used = strlen(g->text);
    snprintf(g->text + used, sizeof g->text - used, " %s %s;", kind,
             cse_shape_text(made->shape, shape, sizeof shape));
}

static void add_call(small_graph *g)
{
    static const char *const kinds[] = { "unary", "binary", "along", "whole", "product" };
    const int kind = draw(g, 5);
    cse_tensor *x = pick(g), *y = pick(g);
    cse_tensor *made = kind == 0   ? unary(g, x)
                       : kind == 1 ? binary(g, x, y)
                       : kind == 2 ? along(g, x)
                       : kind == 3 ? whole(g, x)
                                   : product(g, x, y);
    if (made == NULL)
        return;
    ck_assert_msg(g->graph->error == CSE_OK, "%s: %s", g->text, g->graph->error_message);
    note(g, kinds[kind], made);
    g->values[g->count++] = made;
}

/* ---- the graphs ---- */

static bool leads_to(const cse_node *from, const cse_node *node)
{
    bool leads = from == node;
    for (int i = 0; i < node->input_count && !leads; i++)
        leads = cse_dtype_is_float(node->inputs[i]->dtype) && leads_to(from, node->inputs[i]);
    return leads;
}

static int fetched(small_graph *g, const char *name, cse_tensor *value)
{
    fixture_fetch(g->graph, name, value);
    return g->graph->fetch_count - 1;
}

static void add_graph(cse_graph *graph, uint64_t seed, small_graph *g)
{
    static const int64_t sizes[] = { 1, 1, 2, 3 };
    char name[64];
    *g = (small_graph){ .graph = graph, .seed = seed };
    const int64_t n = sizes[draw(g, 4)], m = sizes[draw(g, 4)];
    const cse_shape shapes[STATES] = { cse_shape_of(n), cse_shape_of(m, n), cse_scalar_shape };
    snprintf(name, sizeof name, "x of %llu", (unsigned long long)seed);
    g->values[g->count++] = fixture_input(graph, name, cse_shape_of(SAMPLES, n), CSE_FLOAT32);
    for (int s = 0; s < STATES; s++) {
        snprintf(name, sizeof name, "w%d of %llu", s, (unsigned long long)seed);
        const cse_state_entry entry = { .name = name, .shape = shapes[s], .dtype = CSE_FLOAT32 };
        ck_assert_int_eq(cse_graph_add_state(graph, &entry, &g->states[s]), CSE_OK);
        g->values[g->count++] = cse_graph_state_node(graph, g->states[s]);
    }
    snprintf(g->text, sizeof g->text, "seed %llu: n %d, m %d;", (unsigned long long)seed, (int)n,
             (int)m);
    for (int c = 0; c < CALLS || g->count == STATES + 1; c++)
        add_call(g); /* at least one */
    cse_tensor *last = g->values[g->count - 1], *other = g->values[g->count - 2];
    cse_tensor *loss = draw(g, 2) ? cse_mean_all(last) : cse_sum_all(last);
    if (draw(g, 2))
        loss = cse_add(loss, cse_scale(cse_mean_all(other), 0.5));
    g->loss = fetched(g, "loss", loss);
    for (int s = 0; s < STATES; s++) {
        cse_node *w = cse_graph_state_node(graph, g->states[s]);
        g->gradients[s] = leads_to(w, loss)
                              ? fetched(g, "gradient", cse_trace_2(&cse_op_gradient, NULL, loss, w))
                              : -1;
    }
    ck_assert_msg(graph->error == CSE_OK, "%s: %s", g->text, graph->error_message);
}

/* All of a loop in one graph, as one compilation is dear. */
static cse_graph *new_graph(int loop, const char *disable, small_graph graphs[GRAPHS])
{
    cse_graph *graph = cse_graph_new(1, 1);
    cse_trace_begin(graph);
    for (int i = 0; i < GRAPHS; i++)
        add_graph(graph, (uint64_t)(loop * GRAPHS + i), &graphs[i]);
    cse_trace_end();
    fixture_passes(graph, disable);
    return graph;
}

static float *state_of(const cse_graph *graph, const fixture_memory *memory, int index)
{
    return (float *)(void *)(memory->base[CSE_SPACE_STATE] + graph->states[index].offset_bytes);
}

static const float *fetch_of(const cse_graph *graph, const fixture_memory *memory, int index)
{
    return (const float *)(const void *)(memory->base[CSE_SPACE_FETCH] +
                                         graph->fetches[index].offset_bytes);
}

static void fill(const cse_graph *graph, const fixture_memory *memory, int loop)
{
    uint32_t at = 0;
    for (int i = 0; i < graph->input_count; i++) {
        float *x = (float *)(void *)(memory->base[CSE_SPACE_INPUT] + graph->inputs[i].offset_bytes);
        for (int64_t e = 0; e < cse_shape_elements(graph->inputs[i].shape); e++)
            x[e] = (float)fixture_random((uint64_t)loop + 500, at++, -1.5, 1.5);
    }
    for (int s = 0; s < graph->state_count; s++)
        for (int64_t e = 0; e < cse_shape_elements(graph->states[s].shape); e++)
            state_of(graph, memory, s)[e] =
                (float)fixture_random((uint64_t)loop + 900, at++, -1, 1);
}

/* ---- comparison ---- */

static int64_t elements_of(const cse_graph *graph, const small_graph *g, int s)
{
    return cse_shape_elements(graph->states[g->states[s]].shape);
}

static void compare_values(const cse_graph *graph, const fixture_memory *ours,
                           const cse_graph *plain, const fixture_memory *theirs,
                           const small_graph *g)
{
    const double loss = (double)*fetch_of(graph, ours, g->loss);
    const double wanted = (double)*fetch_of(plain, theirs, g->loss);
    ck_assert_msg(fabs(loss - wanted) <= 1e-5 * fmax(1, fabs(wanted)), "%s loss %.9g, not %.9g",
                  g->text, loss, wanted);
    for (int s = 0; s < STATES; s++)
        for (int64_t e = 0; g->gradients[s] >= 0 && e < elements_of(graph, g, s); e++) {
            const double ours_at = (double)fetch_of(graph, ours, g->gradients[s])[e];
            const double theirs_at = (double)fetch_of(plain, theirs, g->gradients[s])[e];
            ck_assert_msg(fabs(ours_at - theirs_at) <= 2e-5 * fmax(1, fabs(theirs_at)),
                          "%s gradient of w%d[%d]: %.9g, not %.9g", g->text, s, (int)e, ours_at,
                          theirs_at);
        }
}

/* An element of a state, and how far it is moved. */
typedef struct move {
    int state, element;
    float by;
} move;

/* Losses with that element of every graph moved. */
static void moved_losses(cse_executable *plain, const fixture_memory *memory,
                         const small_graph graphs[GRAPHS], move at, double losses[GRAPHS])
{
    const cse_graph *graph = plain->graph;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int i = 0; i < GRAPHS; i++)
            if (at.element < elements_of(graph, &graphs[i], at.state))
                state_of(graph, memory, graphs[i].states[at.state])[at.element] +=
                    (float)sign * at.by;
        if (sign > 0)
            fixture_run(plain, memory);
    }
    for (int i = 0; i < GRAPHS; i++)
        losses[i] = (double)*fetch_of(graph, memory, graphs[i].loss);
}

/* The step is small beside the values, and the losses' rounding, of some 2^-21, beside the step;
 * what is left of both in the quotient is below the tolerance. */
static void compare_differences(cse_executable *plain, const fixture_memory *memory,
                                const small_graph graphs[GRAPHS], const float *gradients[])
{
    const float h = 0x1p-7F;
    double above[GRAPHS], below[GRAPHS];
    for (int s = 0; s < STATES; s++)
        for (int e = 0; e < 9; e++) {
            moved_losses(plain, memory, graphs, (move){ s, e, h }, above);
            moved_losses(plain, memory, graphs, (move){ s, e, -h }, below);
            for (int i = 0; i < GRAPHS; i++) {
                if (e >= elements_of(plain->graph, &graphs[i], s))
                    continue;
                const double slope = (above[i] - below[i]) / (2 * (double)h);
                const float *gradient = gradients[i * STATES + s];
                const double got = gradient != NULL ? (double)gradient[e] : 0;
                ck_assert_msg(fabs(got - slope) <= 5e-3 * fmax(1, fabs(slope)),
                              "%s gradient of w%d[%d]: %.9g, by differences %.9g", graphs[i].text,
                              s, e, got, slope);
            }
        }
}

START_TEST(gradients_are_those_of_differences)
{
    static small_graph graphs[GRAPHS], same[GRAPHS];
    const float *gradients[GRAPHS * STATES];
    cse_executable *interpreter;
    fixture_memory ours, theirs;
    cse_graph *graph = new_graph(_i, "", graphs);
    cse_graph *plain = new_graph(_i, "fusion,simplify,order,memory_plan", same);
    cse_executable *compiled = fixture_compile(graph);
    ck_assert_int_eq(cse_executable_interpret(plain, &interpreter), CSE_OK);
    fixture_memory_init(&ours, graph);
    fixture_memory_init(&theirs, plain);
    fill(graph, &ours, _i);
    fill(plain, &theirs, _i);
    fixture_run(compiled, &ours);
    fixture_run(interpreter, &theirs);
    for (int i = 0; i < GRAPHS; i++) {
        compare_values(graph, &ours, plain, &theirs, &graphs[i]);
        for (int s = 0; s < STATES; s++)
            gradients[i * STATES + s] =
                graphs[i].gradients[s] >= 0 ? fetch_of(graph, &ours, graphs[i].gradients[s]) : NULL;
    }
    compare_differences(interpreter, &theirs, same, gradients);
    fixture_memory_clear(&ours);
    fixture_memory_clear(&theirs);
    cse_executable_destroy(&compiled);
    cse_executable_destroy(&interpreter);
    cse_graph_destroy(&graph);
    cse_graph_destroy(&plain);
    fixture_remove_directories();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random gradients");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, gradients_are_those_of_differences, 0, LOOPS);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
