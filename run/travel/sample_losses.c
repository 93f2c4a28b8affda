/* The first replay names the rows of the loss and leaves the states before the step, from which the
 * second begins, which keeps values. */
#include "run/travel/sample_losses.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/types/shape.h"
#include "run/travel/computed_values.h"
#include "run/travel/first_value.h"
#include "run/travel/sample_gradients.h"
#include "run/travel/sample_rows.h"

/* ---- the rows of the loss ---- */

/* What is known after the first replay. */
typedef struct facts {
    const char *name;     /* of the rows of the loss */
    int64_t microbatches; /* of the step, whose gradient has so many bytes: */
    int64_t gradient_bytes;
} facts;

typedef struct search {
    cse_graph *graph;
    bool *rows, *trained, *seen; /* by node, in its `scratch` */
    const cse_node *found;
} search;

/* By node: whether it is computed from something that is trained. */
static bool *find_trained(const cse_graph *graph)
{
    bool *trained = cse_calloc((size_t)graph->node_count + 1, sizeof *trained);
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        trained[n] =
            node->op == &cse_op_state && graph->states[node->attributes.integers[0]].trainable;
        for (int i = 0; i < node->input_count; i++)
            trained[n] = trained[n] || trained[node->inputs[i]->scratch];
    }
    return trained;
}

/* From the loss back to the sums over samples; the first of rows that depend on weights is it.
 * Those of a mask, whose sum the loss is divided by, do not. */
static void find_rows(search *s, cse_node *node)
{
    if (s->found != NULL || s->seen[node->scratch])
        return;
    s->seen[node->scratch] = true;
    if (node->op == &cse_op_batch_sum) {
        find_rows(s, s->graph->reductions[node->attributes.integers[0]].partial);
        return;
    }
    for (int i = 0; i < node->input_count; i++) {
        cse_node *input = cse_node_storage(node->inputs[i]);
        if (node->op->kind == CSE_OP_REDUCE && !s->rows[node->scratch] && s->rows[input->scratch] &&
            s->trained[input->scratch]) {
            s->found = input;
            return;
        }
        find_rows(s, input);
    }
}

static cse_status name_rows(const cse_replay *first, cse_arena *arena, facts *known)
{
    *known = (facts){ .name = NULL };
    search s = { .found = NULL };
    CSE_TRY(cse_replay_graph(first->folder, &s.graph));
    s.rows = cse_sample_rows(s.graph);
    s.trained = find_trained(s.graph);
    s.seen = cse_calloc((size_t)s.graph->node_count + 1, sizeof *s.seen);
    for (int f = 0; f < s.graph->fetch_count; f++)
        if (strcmp(s.graph->fetches[f].name, "loss") == 0)
            find_rows(&s, s.graph->fetches[f].value);
    known->name = s.found != NULL && s.found->tracked > 0
                      ? cse_arena_string(arena, s.graph->tracked[s.found->tracked - 1].name)
                      : NULL;
    known->microbatches = s.graph->microbatch_count;
    for (int i = 0; i < s.graph->state_count; i++)
        if (s.graph->states[i].trainable)
            known->gradient_bytes += cse_shape_elements(s.graph->states[i].shape) * 4;
    free(s.rows);
    free(s.trained);
    free(s.seen);
    cse_graph_destroy(&s.graph);
    return known->name != NULL
               ? CSE_OK
               : cse_fail(CSE_NO_INPUT,
                          "the loss of the step is no sum over rows of samples that its "
                          "values are kept of, so that none can be named");
}

/* ---- losses ---- */

static int compare_losses(const void *a, const void *b)
{
    const cse_sample_loss *x = a, *y = b;
    if (isnan(x->loss) != isnan(y->loss))
        return isnan(x->loss) ? -1 : 1;
    if (x->loss != y->loss && !isnan(x->loss))
        return x->loss > y->loss ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static cse_sample_loss loss_of(const float *terms, int64_t count)
{
    cse_sample_loss loss = { .worst = 0, .worst_loss = terms[0] };
    for (int64_t i = 0; i < count; i++) {
        loss.loss += terms[i] / (double)count;
        if (terms[i] > loss.worst_loss || (isnan(terms[i]) && !isnan(loss.worst_loss))) {
            loss.worst = i;
            loss.worst_loss = terms[i];
        }
    }
    return loss;
}

static cse_status take_losses(const cse_step_samples *samples, const cse_checkpoint_tensor *rows,
                              cse_sample_losses *all)
{
    const int64_t elements = cse_shape_elements(rows->shape);
    if (samples->count == 0 || elements % samples->count != 0)
        return cse_fail(CSE_INTERNAL, "%" PRId64 " losses of %" PRId64 " samples", elements,
                        samples->count);
    all->count = samples->count;
    all->terms = elements / samples->count;
    all->microbatches = samples->count / samples->micro_batch_size;
    all->losses = cse_calloc((size_t)all->count, sizeof *all->losses);
    for (int64_t i = 0; i < all->count; i++) {
        all->losses[i] = loss_of((const float *)rows->data + i * all->terms, all->terms);
        all->losses[i].sample = samples->numbers[i];
        all->losses[i].place = i;
        all->losses[i].microbatch = i / samples->micro_batch_size;
    }
    qsort(all->losses, (size_t)all->count, sizeof *all->losses, compare_losses);
    return CSE_OK;
}

static const cse_computed_part whole = { .microbatch = -1, .sample = -1 };

static cse_status take_rows(const cse_computed_values *values, const char *name,
                            cse_sample_losses *all)
{
    cse_tensor_view view;
    const cse_checkpoint_tensor *rows = NULL;
    cse_tensor_view_begin(&view);
    cse_status status = cse_computed_values_add(values, whole, &view);
    for (int i = 0; status == CSE_OK && i < view.count; i++)
        if (strcmp(view.tensors[i].name, name) == 0)
            rows = &view.tensors[i];
    if (status == CSE_OK)
        status = rows != NULL ? take_losses(cse_computed_values_samples(values), rows, all)
                              : cse_fail(CSE_INTERNAL, "the replay kept no %s", name);
    cse_tensor_view_clear(&view);
    return status;
}

/* ---- gradients ---- */

/* Does the step again from the states that the first replay left before it, and keeps values. */
static cse_status keep_values(const cse_sample_question *question, const cse_replay *first,
                              const char *values, const char *const *settings, cse_replay *replay)
{
    return cse_replay_run(&(cse_replay_options){ .model_dir = question->model_dir,
                                                 .step = question->step,
                                                 .num_csx = question->num_csx,
                                                 .latest = question->step - 1,
                                                 .begin = first->folder,
                                                 .values = values,
                                                 .settings = settings },
                          replay);
}

/* The gradients of the step as it was: `second` has them, or they are too large for all
 * microbatches, and are those of the first one and the sum. */
static cse_status read_whole(const cse_sample_question *question, const cse_replay *first,
                             const cse_replay *second, bool all_there, cse_logged_gradients *step)
{
    static const char *const one[] = { "numerics.microbatches=[0]", NULL };
    cse_replay third = { .folder = "" };
    cse_status status = CSE_OK;
    if (all_there)
        return cse_logged_gradients_read(second->folder, question->step, step);
    status = keep_values(question, first, ".*\\.gradient", one, &third);
    if (status == CSE_OK)
        status = cse_logged_gradients_read(third.folder, question->step, step);
    cse_replay_clear(&third);
    return status;
}

static cse_status take_gradients(const cse_sample_question *question, const cse_replay *first,
                                 const cse_replay *second, bool all_there, cse_sample_losses *all)
{
    cse_logged_gradients step = { .microbatches = 0 };
    cse_status status = read_whole(question, first, second, all_there, &step);
    if (status == CSE_OK && question->gradients)
        status = cse_sample_gradients_find(question, first, &step, all);
    if (all_there && status == CSE_OK) {
        all->gradient_norms = step.norms;
        step.norms = NULL;
    }
    cse_logged_gradients_clear(&step);
    return status;
}

/* ---- both ---- */

static cse_status read_rows(const cse_replay *second, const char *name, cse_sample_losses *all)
{
    cse_computed_values *values = NULL;
    cse_status status = cse_computed_values_open(second->folder, second->step, &values);
    if (status == CSE_OK)
        status = take_rows(values, name, all);
    cse_computed_values_close(&values);
    return status;
}

static cse_status take_all(const cse_sample_question *question, const cse_replay *first,
                           const facts *known, cse_arena *arena, cse_sample_losses *all)
{
    cse_replay second = { .folder = "" };
    const bool norms = known->gradient_bytes * (known->microbatches + 1) <= CSE_MOST_GRADIENT_BYTES;
    const char *pattern = cse_arena_printf(arena, "%s%s", cse_exact_pattern(arena, known->name),
                                           norms ? "|.*\\.gradient" : "");
    cse_status status = keep_values(question, first, pattern, NULL, &second);
    if (status == CSE_OK && second.verdict == CSE_REPLAY_OTHER)
        status = cse_fail(CSE_DATA, "%s", second.words.data);
    if (status == CSE_OK)
        status = read_rows(&second, known->name, all);
    if (status == CSE_OK && (norms || question->gradients))
        status = take_gradients(question, first, &second, norms, all);
    cse_replay_clear(&second);
    return status;
}

cse_status cse_sample_losses_find(const cse_sample_question *question, cse_replay *replay,
                                  cse_sample_losses *losses)
{
    const int64_t step = question->step;
    cse_arena *arena = cse_arena_new();
    facts known;
    *losses = (cse_sample_losses){ .count = 0 };
    *replay = (cse_replay){ .step = step };
    cse_status status =
        cse_replay_run(&(cse_replay_options){ .model_dir = question->model_dir,
                                              .step = step,
                                              .num_csx = question->num_csx,
                                              .every = step > 1 ? step - 1 : 0,
                                              .latest = step - 1,
                                              .kept = question->kept,
                                              .settings = cse_first_value_settings(arena, step) },
                       replay);
    if (status == CSE_OK)
        status = name_rows(replay, arena, &known);
    if (status == CSE_OK && replay->verdict != CSE_REPLAY_OTHER)
        status = take_all(question, replay, &known, arena, losses);
    cse_arena_destroy(&arena);
    return status;
}

void cse_sample_losses_clear(cse_sample_losses *losses)
{
    free(losses->losses);
    free(losses->gradient_norms);
    *losses = (cse_sample_losses){ .count = 0 };
}
