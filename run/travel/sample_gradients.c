/* A parameter's gradient comes by microbatch, and as the sum over all of them. */
#include "run/travel/sample_gradients.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/types/shape.h"
#include "engine/code/execute/value_log.h"
#include "engine/graph/graph.h"
#include "run/travel/sample_rows.h"
#include "run/travel/step_samples.h"

/* How far the sum of the samples' gradients may be from the step's, in parts of the sum of their
 * norms: what other orders of sums do, and roundings to 16 bits of other values. */
static const double MOST_DIFFERENCE = 1e-4, MOST_NARROW_DIFFERENCE = 0.01;

/* ---- reading ---- */

typedef struct reading {
    int64_t step;
    cse_graph *graph;
    cse_logged_gradients *to;
    double *squares; /* [tracked][microbatches]; -1: not there */
    int *order;      /* [gradients] of tracked ones, by name: that of execution may be another */
    int gradients;
    int64_t *offsets; /* of each tracked one, in to->sum */
    int64_t summed;
} reading;

static double sum_of_squares(const float *values, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)values[i] * values[i];
    return sum;
}

static cse_status take_run(void *self, const cse_value_run *run)
{
    reading *r = self;
    if (run->step != r->step)
        return CSE_OK;
    if (run->tensor < 0 || run->tensor >= r->graph->tracked_count ||
        run->microbatch >= r->to->microbatches)
        return cse_fail(CSE_DATA, "values of a tensor that the step does not have");
    const cse_tracked_tensor *row = &r->graph->tracked[run->tensor];
    if (row->kind != CSE_TRACKED_GRADIENT)
        return CSE_OK;
    if (run->first + run->count > cse_shape_elements(row->node->shape))
        return cse_fail(CSE_DATA, "more values than %s has", row->name);
    if (run->microbatch != CSE_VALUES_OF_STEP) {
        r->squares[run->tensor * r->to->microbatches + run->microbatch] =
            sum_of_squares(run->values, run->count);
        return CSE_OK;
    }
    memcpy(r->to->sum + r->offsets[run->tensor] + run->first, run->values,
           (size_t)run->count * sizeof *run->values);
    r->summed += run->count;
    return CSE_OK;
}

static int compare_names(const void *a, const void *b, void *graph)
{
    const cse_tracked_tensor *tracked = ((const cse_graph *)graph)->tracked;
    return strcmp(tracked[*(const int *)a].name, tracked[*(const int *)b].name);
}

static void order_gradients(reading *r)
{
    r->order = cse_calloc((size_t)r->graph->tracked_count + 1, sizeof *r->order);
    for (int t = 0; t < r->graph->tracked_count; t++)
        if (r->graph->tracked[t].kind == CSE_TRACKED_GRADIENT)
            r->order[r->gradients++] = t;
    qsort_r(r->order, (size_t)r->gradients, sizeof *r->order, compare_names, r->graph);
}

static void prepare(reading *r)
{
    const cse_graph *graph = r->graph;
    const int64_t parts = graph->microbatch_count;
    r->to->microbatches = parts;
    r->squares = cse_calloc((size_t)(graph->tracked_count * parts) + 1, sizeof *r->squares);
    r->offsets = cse_calloc((size_t)graph->tracked_count + 1, sizeof *r->offsets);
    for (int64_t i = 0; i < graph->tracked_count * parts; i++)
        r->squares[i] = -1;
    order_gradients(r);
    for (int g = 0; g < r->gradients; g++) {
        r->offsets[r->order[g]] = r->to->elements;
        r->to->elements += cse_shape_elements(graph->tracked[r->order[g]].node->shape);
    }
    for (int n = 0; n < graph->node_count; n++)
        r->to->narrow = r->to->narrow || cse_dtype_size(graph->nodes[n]->dtype) == 2;
    r->to->norms = cse_calloc((size_t)parts + 1, sizeof *r->to->norms);
    r->to->sum = cse_calloc((size_t)r->to->elements + 1, sizeof *r->to->sum);
}

/* Parameter after parameter, so that the same gradients have the same norm. */
static void take_norms(const reading *r)
{
    const int64_t parts = r->to->microbatches;
    for (int64_t m = 0; m < parts; m++) {
        double sum = 0;
        for (int g = 0; g < r->gradients; g++) {
            const double squares = r->squares[r->order[g] * parts + m];
            sum += squares == -1 ? (double)NAN : squares;
        }
        r->to->norms[m] = sqrt(sum);
    }
}

cse_status cse_logged_gradients_read(const char *folder, int64_t step,
                                     cse_logged_gradients *gradients)
{
    reading r = { .step = step, .to = gradients };
    *gradients = (cse_logged_gradients){ .microbatches = 0 };
    CSE_TRY(cse_replay_graph(folder, &r.graph));
    prepare(&r);
    cse_status status = cse_value_logs_read(folder, take_run, &r);
    if (status == CSE_OK && r.summed < gradients->elements)
        status = cse_fail(CSE_INTERNAL, "%s has not all values of the step's gradient", folder);
    if (status == CSE_OK)
        take_norms(&r);
    free(r.squares);
    free(r.offsets);
    free(r.order);
    cse_graph_destroy(&r.graph);
    return status;
}

void cse_logged_gradients_clear(cse_logged_gradients *gradients)
{
    free(gradients->norms);
    free(gradients->sum);
    *gradients = (cse_logged_gradients){ .microbatches = 0 };
}

/* ---- why not ---- */

/* By node, in its `scratch`: whether it is computed from the data. */
static bool *find_dependent(const cse_graph *graph)
{
    bool *dependent = cse_calloc((size_t)graph->node_count + 1, sizeof *dependent);
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        dependent[n] = node->op == &cse_op_input;
        for (int i = 0; i < node->input_count; i++)
            dependent[n] = dependent[n] || dependent[node->inputs[i]->scratch];
    }
    return dependent;
}

/* The first node of the forward pass that computes rows of samples from what all samples of the
 * microbatch have in common; NULL: none is found. */
static const cse_node *find_mixing(const cse_graph *graph, const bool *rows, const bool *dependent)
{
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        if (!rows[n] || node->backward)
            continue;
        for (int i = 0; i < node->input_count; i++) {
            const int64_t input = node->inputs[i]->scratch;
            if (node->inputs[i]->batch && !rows[input] && dependent[input])
                return node;
        }
    }
    return NULL;
}

static cse_status no_sum(const char *folder, double difference)
{
    cse_graph *graph = NULL;
    CSE_TRY(cse_replay_graph(folder, &graph));
    bool *rows = cse_sample_rows(graph), *dependent = find_dependent(graph);
    const cse_node *node = find_mixing(graph, rows, dependent);
    cse_status status = cse_fail(
        CSE_NO_INPUT,
        "no gradient of a sample alone: the gradients of microbatches of one sample add up to "
        "another gradient than the step's (by %.2g of their size), so the step computes with "
        "several samples of a microbatch at once%s%s%s%s, as batch normalization does; leave out "
        "--gradients: the norms of the microbatches are exact",
        difference, node != NULL ? ", in " : "", node != NULL ? node->scope : "",
        node != NULL ? " by " : "", node != NULL ? node->op->name : "");
    free(rows);
    free(dependent);
    cse_graph_destroy(&graph);
    return status;
}

/* ---- the pass ---- */

/* The places of the first `count` samples, as a setting; NULL: of all. */
static const char *list_places(cse_arena *arena, const cse_sample_losses *losses, int64_t count)
{
    cse_text list = { 0 };
    for (int64_t i = 0; i < count; i++)
        cse_text_add(&list, "%s%" PRId64, i > 0 ? "," : "", losses->losses[i].place);
    const char *setting = count < losses->count
                              ? cse_arena_printf(arena, "numerics.microbatches=[%s]", list.data)
                              : NULL;
    cse_text_clear(&list);
    return setting;
}

/* What differs from `scale` times the step's gradient. */
static double difference_of(const cse_logged_gradients *alone, const cse_logged_gradients *whole,
                            double scale)
{
    double sum = 0;
    for (int64_t i = 0; i < alone->elements; i++) {
        const double difference = (double)alone->sum[i] - scale * whole->sum[i];
        sum += difference * difference;
    }
    return sqrt(sum);
}

static cse_status check_sum(const cse_replay *first, const cse_logged_gradients *alone,
                            const cse_logged_gradients *whole, double *difference)
{
    const double samples = (double)alone->microbatches / (double)whole->microbatches;
    double size = sqrt(sum_of_squares(alone->sum, alone->elements)), norms = 0;
    if (alone->elements != whole->elements)
        return cse_fail(CSE_INTERNAL, "the gradients of samples have other parameters");
    for (int64_t m = 0; m < alone->microbatches; m++)
        norms += isnan(alone->norms[m]) ? 0 : alone->norms[m];
    size = norms > size ? norms : size;
    /* The loss of a microbatch is a mean over its samples, or a sum whose divisor is the step's. */
    const double means = difference_of(alone, whole, samples);
    const double sums = difference_of(alone, whole, 1);
    *difference = size > 0 ? (sums < means ? sums : means) / size : 0;
    const double most = whole->narrow || alone->narrow ? MOST_NARROW_DIFFERENCE : MOST_DIFFERENCE;
    /* What is not finite has no sum to compare. */
    return *difference <= most || !isfinite(size) ? CSE_OK : no_sum(first->folder, *difference);
}

static int compare_norms(const void *a, const void *b)
{
    const cse_sample_loss *x = a, *y = b;
    if (x->has_gradient != y->has_gradient)
        return x->has_gradient ? -1 : 1;
    if (!x->has_gradient || x->gradient_norm == y->gradient_norm ||
        (isnan(x->gradient_norm) && isnan(y->gradient_norm)))
        return x->sample < y->sample ? -1 : x->sample > y->sample;
    return !(x->gradient_norm <= y->gradient_norm) && !isnan(y->gradient_norm) ? -1 : 1;
}

static cse_status take_samples(const char *folder, int64_t step, int64_t count,
                               const cse_logged_gradients *alone, cse_sample_losses *losses)
{
    cse_step_samples samples;
    cse_status status = cse_step_samples_read(folder, step, &samples);
    for (int64_t i = 0; status == CSE_OK && i < count; i++) {
        cse_sample_loss *loss = &losses->losses[i];
        if (loss->place >= samples.count || samples.numbers[loss->place] != loss->sample)
            status =
                cse_fail(CSE_INTERNAL, "sample %" PRId64 " has another place alone", loss->sample);
        else
            loss->gradient_norm = alone->norms[loss->place];
        loss->has_gradient = status == CSE_OK;
    }
    cse_step_samples_clear(&samples);
    if (status == CSE_OK)
        qsort(losses->losses, (size_t)losses->count, sizeof *losses->losses, compare_norms);
    return status;
}

static cse_status check_room(int64_t count, int64_t elements)
{
    const int64_t one = elements * (int64_t)sizeof(float);
    if (one == 0 || count <= CSE_MOST_GRADIENT_BYTES / one - 1)
        return CSE_OK;
    const int64_t room = CSE_MOST_GRADIENT_BYTES / one - 1;
    return cse_fail(CSE_USAGE,
                    "the gradients of %" PRId64 " samples take %" PRId64 " MiB each, and more than "
                    "1 GiB together: give --samples N, at most %" PRId64,
                    count, one >> 20, room > 1 ? room : 1);
}

static cse_status do_pass(const cse_sample_question *question, const cse_replay *first,
                          const char *const *settings, cse_replay *pass)
{
    CSE_TRY(cse_replay_run(&(cse_replay_options){ .model_dir = question->model_dir,
                                                  .step = question->step,
                                                  .num_csx = question->num_csx,
                                                  .latest = question->step - 1,
                                                  .begin = first->folder,
                                                  .values = ".*\\.gradient",
                                                  .settings = settings },
                           pass));
    return pass->differs > 0 && pass->samples_differ
               ? cse_fail(CSE_INTERNAL, "microbatches of one sample have other samples")
               : CSE_OK;
}

cse_status cse_sample_gradients_find(const cse_sample_question *question, const cse_replay *first,
                                     const cse_logged_gradients *whole, cse_sample_losses *losses)
{
    const int64_t most = question->gradient_most;
    const int64_t count = most > 0 && most < losses->count ? most : losses->count;
    cse_logged_gradients alone = { .microbatches = 0 };
    cse_replay pass = { .folder = "" };
    if (most != 1)
        CSE_TRY(check_room(count, whole->elements));
    cse_arena *arena = cse_arena_new();
    const char *const settings[] = { "fit.train_dataloader.micro_batch_size=1",
                                     list_places(arena, losses, count), NULL };
    cse_status status = do_pass(question, first, settings, &pass);
    if (status == CSE_OK)
        status = cse_logged_gradients_read(pass.folder, question->step, &alone);
    if (status == CSE_OK)
        status = check_sum(first, &alone, whole, &losses->sum_difference);
    if (status == CSE_OK)
        status = take_samples(pass.folder, question->step, count, &alone, losses);
    losses->has_gradients = status == CSE_OK;
    cse_logged_gradients_clear(&alone);
    cse_replay_clear(&pass);
    cse_arena_destroy(&arena);
    return status;
}
