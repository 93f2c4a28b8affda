/* A whole training step, end to end: an MLP with SGD and momentum, through every pass, interpreted
 * and compiled, against the same training written by hand in double precision. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/trace/trace.h"
#include "tests/support/compiled_graph.h"
#include "tests/support/straight_run.h"

enum { BATCH = 4, MICROBATCHES = 3, INPUTS = 6, HIDDEN = 5, CLASSES = 3, STEPS = 12 };

#define RATE 0.1
#define MOMENTUM 0.9

static cse_node *input(cse_graph *graph, const char *name, cse_shape shape, cse_dtype dtype)
{
    cse_attributes attributes = { .integer_count = 1,
                                  .integers = { graph->input_count },
                                  .text = name };
    cse_node *node = cse_graph_leaf(graph, &cse_op_input, &attributes, shape, dtype);
    CSE_GROW(graph->inputs, graph->input_count, graph->input_capacity);
    graph->inputs[graph->input_count++] =
        (cse_input_entry){ .name = name, .shape = shape, .dtype = dtype, .node = node };
    return node;
}

static int state(cse_graph *graph, const char *name, cse_shape shape, cse_initializer initializer)
{
    int index;
    cse_state_entry entry = {
        .name = name, .shape = shape, .dtype = CSE_FLOAT32, .initializer = initializer
    };
    ck_assert_int_eq(cse_graph_add_state(graph, &entry, &index), CSE_OK);
    return index;
}

static void trace_update(cse_graph *graph, cse_tensor *loss, int parameter, int momentum)
{
    cse_node *w = cse_graph_state_node(graph, parameter);
    cse_tensor *gradient = cse_trace_2(&cse_op_gradient, NULL, loss, w);
    gradient = cse_scale(cse_trace_1(&cse_op_batch_sum, NULL, gradient), 1.0 / MICROBATCHES);
    cse_tensor *m = cse_add(cse_scale(cse_graph_state_node(graph, momentum), MOMENTUM), gradient);
    graph->states[momentum].next = m;
    graph->states[parameter].next = cse_sub(w, cse_scale(m, RATE));
}

static cse_graph *mlp_graph(void)
{
    cse_graph *graph = cse_graph_new(MICROBATCHES, BATCH);
    cse_trace_begin(graph);
    const cse_initializer random = { CSE_INIT_UNIFORM, -0.5, 0.5 },
                          zero = { CSE_INIT_CONSTANT, 0, 0 };
    static const char *const names[] = { "w1", "b1", "w2", "b2" };
    static const char *const momenta[] = { "m.w1", "m.b1", "m.w2", "m.b2" };
    const cse_shape shapes[] = { cse_shape_of(HIDDEN, INPUTS), cse_shape_of(HIDDEN),
                                 cse_shape_of(CLASSES, HIDDEN), cse_shape_of(CLASSES) };
    cse_node *p[4];
    for (int i = 0; i < 4; i++)
        state(graph, names[i], shapes[i], random);
    for (int i = 0; i < 4; i++)
        state(graph, momenta[i], shapes[i], zero);
    for (int i = 0; i < 4; i++)
        p[i] = cse_graph_state_node(graph, i);
    cse_node *x = input(graph, "images", cse_shape_of(BATCH, INPUTS), CSE_FLOAT32);
    cse_node *labels = input(graph, "labels", cse_shape_of(BATCH), CSE_INT32);
    cse_tensor *hidden = cse_relu(cse_linear(x, p[0], p[1]));
    cse_tensor *loss = cse_cross_entropy(cse_linear(hidden, p[2], p[3]), labels);
    for (int i = 0; i < 4; i++)
        trace_update(graph, loss, i, 4 + i);
    CSE_GROW(graph->fetches, graph->fetch_count, graph->fetch_capacity);
    graph->fetches[graph->fetch_count++] =
        (cse_fetch_entry){ .name = "loss",
                           .value = cse_scale(cse_trace_1(&cse_op_batch_sum, NULL, loss),
                                              1.0 / MICROBATCHES) };
    cse_trace_end();
    ck_assert_msg(cse_trace_status(graph) == CSE_OK, "%s", cse_error_message());
    return graph;
}

/* The same by hand. */
typedef struct by_hand {
    double w1[HIDDEN][INPUTS], b1[HIDDEN], w2[CLASSES][HIDDEN], b2[CLASSES];
} by_hand;

static double value_of(int step, int sample, int feature)
{
    uint32_t counter[4] = { (uint32_t)step, (uint32_t)sample, (uint32_t)feature, 0 }, words[4];
    cse_philox(99, counter, words);
    return (float)(2.0 * (double)cse_uniform_from_bits(words[0]) - 1.0);
}

static int label_of(int step, int sample)
{
    return (int)(2.99 * fabs(value_of(step, sample, 1000)));
}

static double add_gradient(const by_hand *p, by_hand *g, int step, int sample)
{
    double hidden[HIDDEN], logits[CLASSES], dhidden[HIDDEN] = { 0 }, total = 0;
    const double scale = 1.0 / (BATCH * MICROBATCHES);
    for (int h = 0; h < HIDDEN; h++) {
        hidden[h] = p->b1[h];
        for (int i = 0; i < INPUTS; i++)
            hidden[h] += p->w1[h][i] * value_of(step, sample, i);
        hidden[h] = hidden[h] > 0 ? hidden[h] : 0;
    }
    for (int c = 0; c < CLASSES; c++) {
        logits[c] = p->b2[c];
        for (int h = 0; h < HIDDEN; h++)
            logits[c] += p->w2[c][h] * hidden[h];
        total += exp(logits[c]);
    }
    for (int c = 0; c < CLASSES; c++) {
        double d = (exp(logits[c]) / total - (c == label_of(step, sample))) * scale;
        g->b2[c] += d;
        for (int h = 0; h < HIDDEN; h++) {
            g->w2[c][h] += d * hidden[h];
            dhidden[h] += d * p->w2[c][h];
        }
    }
    for (int h = 0; h < HIDDEN; h++) {
        double d = hidden[h] > 0 ? dhidden[h] : 0;
        g->b1[h] += d;
        for (int i = 0; i < INPUTS; i++)
            g->w1[h][i] += d * value_of(step, sample, i);
    }
    return (log(total) - logits[label_of(step, sample)]) * scale;
}

static double step_by_hand(by_hand *p, by_hand *m, int step)
{
    by_hand g;
    double loss = 0, *parameters = (double *)p, *momenta = (double *)m, *gradients = (double *)&g;
    memset(&g, 0, sizeof g);
    for (int s = 0; s < BATCH * MICROBATCHES; s++)
        loss += add_gradient(p, &g, step, s);
    for (size_t i = 0; i < sizeof g / sizeof(double); i++) {
        momenta[i] = MOMENTUM * momenta[i] + gradients[i];
        parameters[i] -= RATE * momenta[i];
    }
    return loss;
}

static void fill_inputs(const cse_graph *graph, unsigned char *bytes, int step, int m)
{
    float *images = (float *)(void *)(bytes + graph->inputs[0].offset_bytes);
    int32_t *labels = (int32_t *)(void *)(bytes + graph->inputs[1].offset_bytes);
    for (int b = 0; b < BATCH; b++) {
        for (int i = 0; i < INPUTS; i++)
            images[b * INPUTS + i] = (float)value_of(step, m * BATCH + b, i);
        labels[b] = label_of(step, m * BATCH + b);
    }
}

static void take_initial_values(const straight_run *run, by_hand *p)
{
    const char *const names[] = { "w1", "b1", "w2", "b2" };
    double *const places[] = { &p->w1[0][0], p->b1, &p->w2[0][0], p->b2 };
    const int counts[] = { HIDDEN * INPUTS, HIDDEN, CLASSES * HIDDEN, CLASSES };
    for (int n = 0; n < 4; n++)
        for (int i = 0; i < counts[n]; i++)
            places[n][i] = ((float *)straight_run_state(run, names[n]))[i];
}

static void compare_with_hand(cse_executable *executable)
{
    const cse_graph *graph = executable->graph;
    straight_run run;
    by_hand p, m;
    unsigned char *inputs[MICROBATCHES];
    memset(&m, 0, sizeof m);
    straight_run_init(&run, executable, 5);
    take_initial_values(&run, &p);
    for (int i = 0; i < MICROBATCHES; i++)
        inputs[i] = cse_aligned_calloc((size_t)graph->space_bytes[CSE_SPACE_INPUT]);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < MICROBATCHES; i++)
            fill_inputs(graph, inputs[i], step, i);
        straight_run_step(&run, inputs);
        double expected = step_by_hand(&p, &m, step);
        /* float32 carries 6e-8 a rounding; a step has some tens of them on the way to the loss. */
        ck_assert_double_eq_tol((double)straight_run_fetched(&run, 0), expected, 1e-5);
    }
    float *w1 = straight_run_state(&run, "w1");
    for (int i = 0; i < HIDDEN * INPUTS; i++)
        ck_assert_double_eq_tol((double)w1[i], (&p.w1[0][0])[i], 2e-5);
    for (int i = 0; i < MICROBATCHES; i++)
        free(inputs[i]);
    straight_run_clear(&run);
}

static void run_passes(cse_graph *graph, const char *disable)
{
    cse_passes_options options = { .disable = disable };
    ck_assert_msg(cse_passes_run(graph, &options) == CSE_OK, "%s", cse_error_message());
}

static const char *const disabled[] = { "", "simplify", "fusion", "memory_plan",
                                        "simplify,fusion,order,memory_plan" };

START_TEST(the_interpreter_trains_as_by_hand)
{
    cse_graph *graph = mlp_graph();
    cse_executable *executable;
    run_passes(graph, disabled[_i]);
    ck_assert_int_eq(cse_executable_interpret(graph, &executable), CSE_OK);
    compare_with_hand(executable);
    cse_executable_destroy(&executable);
    cse_graph_destroy(&graph);
}
END_TEST

START_TEST(compiled_code_trains_as_by_hand)
{
    cse_graph *graph = mlp_graph();
    run_passes(graph, disabled[_i]);
    cse_executable *executable = fixture_compile(graph);
    ck_assert_str_eq(executable->kind, "compiled");
    compare_with_hand(executable);
    cse_executable_destroy(&executable);
    cse_graph_destroy(&graph);
    fixture_remove_directories();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_step");
    TCase *cases = tcase_create("whole_step");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, the_interpreter_trains_as_by_hand, 0, 5);
    tcase_add_loop_test(cases, compiled_code_trains_as_by_hand, 0, 5);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
