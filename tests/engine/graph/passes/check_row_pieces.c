/* Logits in pieces of rows: the gradients keep their bits, the workspace becomes smaller, for each
 * loss of the field; and where a whole row leaves, or the loss needs all rows at once, nothing is
 * cut. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/precision/graphamp.h"
#include "engine/graph/trace/trace.h"
#include "tests/support/compiled_graph.h"
#include "tests/support/expect.h"

/* Two pieces, the last one shorter; an odd number of classes. */
enum { SAMPLES = 2, TIME = 170, ROWS = SAMPLES * TIME, CLASSES = 50001 };
enum { INPUTS = 6, WIDTH = 8, RANK = 2, MOST_VALUES = WIDTH * INPUTS + CLASSES * (WIDTH + 1) + 8 };

typedef struct network {
    cse_graph *graph;
    cse_tensor *x, *labels, *hidden; /* hidden [SAMPLES, TIME, WIDTH] */
    cse_node *trained;
    cse_tensor *head, *bias, *class_weights; /* frozen */
} network;

static cse_node *state(network *net, const char *name, cse_shape shape, double deviation)
{
    int index;
    const cse_state_entry entry = { .name = name,
                                    .shape = shape,
                                    .dtype = CSE_FLOAT32,
                                    .initializer = { CSE_INIT_NORMAL, 0, deviation },
                                    .trainable = true };
    ck_assert_int_eq(cse_graph_add_state(net->graph, &entry, &index), CSE_OK);
    return cse_graph_state_node(net->graph, index);
}

static cse_tensor *logits_of(const network *net)
{
    return cse_linear(net->hidden, net->head, NULL);
}

static cse_tensor *loss_with(const network *net, cse_tensor *logits,
                             const cse_cross_entropy_options *options)
{
    cse_cross_entropy_options each = *options;
    each.reduction = CSE_REDUCTION_NONE;
    return cse_mean_all(cse_cross_entropy_with(logits, net->labels, &each));
}

/* ---- losses that are computed in pieces ---- */

static cse_tensor *plain(network *net)
{
    return cse_mean_all(cse_cross_entropy_per_sample(logits_of(net), net->labels));
}

static cse_tensor *with_bias(network *net)
{
    return cse_mean_all(
        cse_cross_entropy_per_sample(cse_linear(net->hidden, net->head, net->bias), net->labels));
}

static cse_tensor *smoothed(network *net)
{
    return loss_with(net, logits_of(net),
                     &(cse_cross_entropy_options){ .label_smoothing = 0.1,
                                                   .class_weights = cse_square(net->bias) });
}

static cse_tensor *ignoring(network *net)
{
    return loss_with(net, logits_of(net),
                     &(cse_cross_entropy_options){ .has_ignore_index = true, .ignore_index = 7 });
}

/* A soft cap, and the square of the logarithm of the sum (z-loss). */
static cse_tensor *capped(network *net)
{
    cse_tensor *logits = cse_scale(cse_tanh(cse_scale(logits_of(net), 0.2)), 5);
    cse_tensor *sums = cse_log(cse_sum(cse_exp(logits), (const int[]){ -1 }, 1, false));
    cse_tensor *each = cse_add(cse_cross_entropy_per_sample(logits, net->labels),
                               cse_scale(cse_square(sums), 1e-3));
    return cse_mean_all(each);
}

/* The share of rows whose largest logit is that of the label is asked for as well. */
static cse_tensor *with_accuracy(network *net)
{
    cse_tensor *logits = logits_of(net);
    cse_tensor *hits = cse_equal(cse_argmax(logits, -1), net->labels);
    fixture_fetch(net->graph, "accuracy", cse_mean_all(cse_cast(hits, CSE_FLOAT32)));
    return cse_mean_all(cse_cross_entropy_per_sample(logits, net->labels));
}

/* A low-rank part, whose first factor is trained, of the same logits. */
static cse_tensor *low_rank(network *net)
{
    cse_tensor *down = state(net, "down", cse_shape_of(RANK, WIDTH), 0.3);
    cse_tensor *up = state(net, "up", cse_shape_of(CLASSES, RANK), 0.3);
    cse_tensor *low = cse_linear(cse_linear(net->hidden, down, NULL), up, NULL);
    cse_tensor *logits = cse_add(logits_of(net), cse_scale(low, 2));
    return cse_mean_all(cse_cross_entropy_per_sample(logits, net->labels));
}

/* Distillation: the cross entropy with the probabilities of another head. */
static cse_tensor *distilled(network *net)
{
    cse_tensor *teacher = state(net, "teacher", cse_shape_of(CLASSES, INPUTS), 0.5);
    cse_tensor *given = cse_softmax(cse_scale(cse_linear(net->x, teacher, NULL), 0.5), -1);
    cse_tensor *own = cse_log_softmax(cse_scale(logits_of(net), 0.5), -1);
    return cse_scale(cse_mean_all(cse_sum(cse_mul(given, own), (const int[]){ -1 }, 1, false)), -4);
}

/* ---- losses that are not ---- */

static cse_tensor *all_logits(network *net)
{
    cse_tensor *logits = logits_of(net);
    fixture_fetch(net->graph, "norm", cse_mean_all(cse_square(logits)));
    return cse_mean_all(cse_cross_entropy_per_sample(logits, net->labels));
}

/* The gradient of each row depends on the loss of all. */
static cse_tensor *of_the_mean(network *net)
{
    return cse_softplus(plain(net));
}

/* The second product reads rows that its own results are needed for. */
static cse_tensor *noisy(network *net)
{
    cse_tensor *logits = logits_of(net);
    logits = cse_dropout(logits, 0.25, "logits");
    return cse_mean_all(cse_cross_entropy_per_sample(logits, net->labels));
}

static const struct {
    const char *name;
    cse_tensor *(*trace)(network *net);
    const char *precision;
    bool is_cut;
    enum { FROZEN, HEAD, BIAS } trained;
} cases[] = {
    { "plain", plain, NULL, true, FROZEN },
    { "bfloat16", plain, "{fp16_type: bfloat16, graphamp: {preset: mp2}}", true, FROZEN },
    { "trained head", plain, NULL, true, HEAD },
    { "trained head, bfloat16", plain, "{fp16_type: bfloat16, graphamp: {preset: mp2}}", true,
      HEAD },
    { "trained head, emulated sums", plain,
      "{fp16_type: bfloat16, precision_opt_level: 2, emulate_accumulation: true}", false, HEAD },
    { "trained bias", with_bias, NULL, true, BIAS },
    { "bias", with_bias, NULL, true, FROZEN },
    { "smoothed", smoothed, NULL, true, FROZEN },
    { "ignoring", ignoring, NULL, true, FROZEN },
    { "capped", capped, NULL, true, FROZEN },
    { "accuracy", with_accuracy, NULL, true, FROZEN },
    { "low rank", low_rank, NULL, true, FROZEN },
    { "distilled", distilled, NULL, true, FROZEN },
    { "all logits", all_logits, NULL, false, FROZEN },
    { "of the mean", of_the_mean, NULL, false, FROZEN },
    { "noisy", noisy, NULL, false, FROZEN },
};
enum { CASES = sizeof cases / sizeof cases[0] };

static void fetch_gradient(const network *net, cse_tensor *loss, cse_node *of)
{
    cse_tensor *gradient = cse_trace_2(&cse_op_gradient, NULL, loss, of);
    fixture_fetch(net->graph, "gradient", cse_trace_1(&cse_op_batch_sum, NULL, gradient));
}

static cse_graph *traced(int number, cse_precision **precision)
{
    network net = { .graph = cse_graph_new(1, SAMPLES) };
    *precision = NULL;
    if (cases[number].precision != NULL)
        ck_assert_int_eq(cse_precision_parse(cases[number].precision, precision), CSE_OK);
    net.graph->precision = *precision;
    cse_trace_begin(net.graph);
    net.x = fixture_input(net.graph, "x", cse_shape_of(SAMPLES, TIME, INPUTS), CSE_FLOAT32);
    net.labels = fixture_input(net.graph, "labels", cse_shape_of(SAMPLES, TIME), CSE_INT32);
    net.trained = state(&net, "trained", cse_shape_of(WIDTH, INPUTS), 0.5);
    net.head = state(&net, "head", cse_shape_of(CLASSES, WIDTH), 0.5);
    net.bias = state(&net, "bias", cse_shape_of(CLASSES), 0.5);
    net.hidden = cse_tanh(cse_linear(net.x, net.trained, NULL));
    cse_tensor *loss = cases[number].trace(&net);
    fixture_fetch(net.graph, "loss", loss);
    fetch_gradient(&net, loss, net.trained);
    if (cases[number].trained != FROZEN)
        fetch_gradient(&net, loss, cases[number].trained == HEAD ? net.head : net.bias);
    cse_trace_end();
    return net.graph;
}

static void fill(int number, const cse_graph *graph, const fixture_memory *memory)
{
    const int32_t ignored = cases[number].trace == ignoring ? 7 : CSE_DEFAULT_IGNORE_INDEX;
    unsigned char *base = memory->base[CSE_SPACE_INPUT];
    float *x = (float *)(void *)(base + graph->inputs[0].offset_bytes);
    int32_t *labels = (int32_t *)(void *)(base + graph->inputs[1].offset_bytes);
    for (int e = 0; e < ROWS * INPUTS; e++)
        x[e] = (float)fixture_random(5, (uint32_t)e, -2, 2);
    for (int r = 0; r < ROWS; r++)
        labels[r] = r % 9 == 4 ? ignored : (int32_t)fixture_random(6, (uint32_t)r, 0, CLASSES);
    cse_states_initialize(graph, 9, memory->base[CSE_SPACE_STATE]);
}

typedef struct outcome {
    float *values;   /* of all fetches, the gradients last */
    int count, sums; /* those that are no gradients come first */
    int64_t workspace;
    bool is_cut;
} outcome;

static outcome run(int number, const char *disable)
{
    cse_precision *precision;
    fixture_memory memory;
    cse_graph *graph = traced(number, &precision);
    fixture_passes(graph, disable);
    cse_executable *executable = fixture_compile(graph);
    outcome made = { .values = cse_calloc(MOST_VALUES, sizeof(float)),
                     .workspace = graph->space_bytes[CSE_SPACE_REPLICA],
                     .is_cut = true };
    for (int n = 0; n < graph->node_count; n++)
        made.is_cut =
            made.is_cut && cse_shape_elements(graph->nodes[n]->shape) < (int64_t)ROWS * CLASSES;
    fixture_memory_init(&memory, graph);
    fill(number, graph, &memory);
    fixture_run(executable, &memory);
    for (int f = 0; f < graph->fetch_count; f++) {
        const int64_t count = cse_shape_elements(graph->fetches[f].value->shape);
        memcpy(made.values + made.count,
               memory.base[CSE_SPACE_FETCH] + graph->fetches[f].offset_bytes,
               sizeof(float) * (size_t)count);
        made.count += (int)count;
        made.sums += strcmp(graph->fetches[f].name, "gradient") != 0;
    }
    fixture_memory_clear(&memory);
    cse_executable_destroy(&executable);
    cse_graph_destroy(&graph);
    cse_precision_destroy(&precision);
    return made;
}

/* Sums over rows that are no products, such as the loss, may be taken in another order. */
START_TEST(gradients_keep_their_bits)
{
    const char *name = cases[_i].name;
    const outcome whole = run(_i, "row_pieces"), cut = run(_i, "");
    const int sums = whole.sums, exact_end = whole.count - (cases[_i].trained == BIAS) * CLASSES;
    cse_expect(!whole.is_cut && cut.is_cut == cases[_i].is_cut, "%s: is cut: %d", name, cut.is_cut);
    cse_expect(!cut.is_cut || cut.workspace < whole.workspace * 2 / 3, "%s: %lld bytes, whole %lld",
               name, (long long)cut.workspace, (long long)whole.workspace);
    ck_assert_int_eq(whole.count, cut.count);
    for (int e = 0; e < whole.count; e++) {
        const double a = (double)whole.values[e], b = (double)cut.values[e];
        cse_expect(e < sums || e >= exact_end
                       ? fabs(a - b) <= 1e-6 * fabs(a) + 1e-9
                       : memcmp(&whole.values[e], &cut.values[e], sizeof(float)) == 0,
                   "%s: value %d is %.9g, whole %.9g", name, e, b, a);
    }
    cse_expect(whole.values[sums] != 0 && whole.values[0] == whole.values[0],
               "%s: the gradient is %g", name, (double)whole.values[sums]);
    free(whole.values);
    free(cut.values);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("row_pieces pass");
    TCase *all = tcase_create("row pieces");
    tcase_set_timeout(all, 240);
    tcase_add_loop_test(all, gradients_keep_their_bits, 0, CASES);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    fixture_remove_directories();
    return failed != 0;
}
