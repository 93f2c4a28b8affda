/* What validations measure: loss, accuracy, and the metrics that the configuration names.
 *
 * The contract of a metric says what it takes (csengine/metric.h), and a validation has these: the
 * `labels` of the data, the model's outputs as `scores`, the class of the highest one as
 * `predictions`, with two classes the probability of the second as `probabilities`, and the model's
 * loss, as `value` and, times the number of labels, as the `loss` that is summed over them. So a
 * metric of a library needs no code in the model. */
#include <stdio.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/base/arena.h"
#include "engine/base/config/settings.h"
#include "engine/graph/ops/loss_quotient.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/configured.h"
#include "engine/nn/plugins.h"
#include "run/job/job_parts.h"

enum { OWN_METRICS = 2, MOST_NAME_BYTES = 32 };

/* ---- names ---- */

static bool is_named(const cse_job *j, const char *name)
{
    for (int m = 0; m < j->metric_count; m++)
        if (strcmp(j->metrics[m].name, name) == 0)
            return true;
    return false;
}

/* A second one of the same name, with other settings, has a number behind it. */
static void add(cse_job *j, const char *name, const cse_config_plugin *plugin)
{
    const char *unique = name;
    for (int number = 2; is_named(j, unique); number++)
        unique = cse_arena_printf(j->session->arena, "%s_%d", name, number);
    j->metrics[j->metric_count++] = (cse_job_metric){ .name = unique, .plugin = plugin };
}

void cse_job_name_metrics(cse_job *j)
{
    const cse_job_settings *s = j->settings;
    if (j->metric_count > 0)
        return;
    j->metrics = cse_arena_alloc(j->session->arena,
                                 ((size_t)s->metric_count + OWN_METRICS) * sizeof *j->metrics);
    add(j, "loss", NULL);
    add(j, "accuracy", NULL);
    for (int m = 0; m < s->metric_count; m++)
        add(j, s->metrics[m].name, &s->metrics[m]);
}

cse_status cse_job_make_metrics(cse_job *j)
{
    cse_job_name_metrics(j);
    for (int m = 0; m < j->metric_count; m++) {
        cse_job_metric *own = &j->metrics[m];
        if (strlen(own->name) > MOST_NAME_BYTES)
            return cse_fail_at(CSE_ERROR_AT("configuration: ", own->plugin->place),
                               "metrics: the name %s is longer than %d bytes, which series have",
                               own->name, MOST_NAME_BYTES);
        if (own->plugin != NULL)
            own->metric = cse_configured_metric(own->plugin, own->name);
        else
            own->metric = cse_metric_new(m == 0 ? "mean" : own->name, own->name);
    }
    return cse_session_status();
}

cse_status cse_job_reset_metrics(const cse_job *j)
{
    for (int m = 0; m < j->metric_count; m++)
        CSE_TRY(cse_metric_reset(j->metrics[m].metric));
    return CSE_OK;
}

/* ---- the step ---- */

/* The tensors of a validation's step; no labels: NULL. */
typedef struct validated {
    cse_tensor *loss, *predictions, *labels;
    cse_tensor *token_losses, *token_weights; /* of cse_loss_of_tokens; NULL */
} validated;

cse_tensor *cse_job_labels_of(const cse_step *step, const cse_tensor *predictions)
{
    cse_shape rows = cse_tensor_shape(predictions);
    if (rows.rank-- == 0)
        return NULL;
    if (step->answers != NULL)
        return cse_shape_equal(cse_tensor_shape(step->answers), rows) ? step->answers : NULL;
    for (int i = 0; i < step->graph->input_count; i++) {
        cse_node *input = step->graph->inputs[i].node;
        if (strcmp(step->graph->inputs[i].name, "labels") == 0 && input->dtype == CSE_INT32 &&
            cse_shape_equal(input->shape, rows))
            return input;
    }
    return NULL;
}

static bool is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && strncmp(word, text, length) == 0;
}

/* Of the second of two classes; NULL where there are more or less. */
static cse_tensor *probabilities_of(const validated *v)
{
    const cse_shape shape = cse_tensor_shape(v->predictions);
    if (shape.dims[shape.rank - 1] != 2)
        return NULL;
    cse_tensor *both = cse_softmax(cse_cast(v->predictions, CSE_FLOAT32), -1);
    return cse_reshape(cse_slice_axis(both, -1, 1, 2), v->labels->shape);
}

/* What a validation has, by the name of a metric's argument; NULL: nothing of that name. Only what
 * is asked for is traced. */
static cse_tensor *argument(const char *name, size_t length, const validated *v)
{
    if (is_word("value", name, length))
        return v->loss;
    if (is_word("scores", name, length))
        return cse_cast(v->predictions, CSE_FLOAT32);
    if (v->labels == NULL)
        return NULL;
    if (is_word("labels", name, length))
        return v->labels;
    if (is_word("predictions", name, length))
        return cse_argmax(v->predictions, -1);
    if (is_word("probabilities", name, length))
        return probabilities_of(v);
    if (is_word("loss", name, length) && v->token_losses != NULL)
        return v->token_losses;
    if (is_word("loss", name, length))
        return cse_scale(v->loss, (double)cse_shape_elements(v->labels->shape));
    if (is_word("weights", name, length))
        return v->token_weights;
    return NULL;
}

/* Whether the model says of each label how much it counts. */
static bool has_weights(const validated *v)
{
    return v->labels != NULL && v->token_weights != NULL &&
           cse_shape_equal(v->token_weights->shape, v->labels->shape);
}

/* How many arguments a metric is given: the weights, which are the last one, where the model has
 * some for each label. */
static int arguments_of(const cse_metric_descriptor *descriptor, const validated *v)
{
    const bool weighed = has_weights(v) && strstr(descriptor->arguments, "labels") != NULL &&
                         strstr(descriptor->arguments, "[, weights]") != NULL;
    return descriptor->min_arguments + weighed;
}

/* The loss of a quotient counts by what its batches count; one that is made of several counts by
 * the samples of its batch, where batches differ in size. */
static void update_mean(cse_metric *metric, const cse_step *step, cse_tensor *loss)
{
    const cse_quotient *quotient = cse_quotient_of(loss);
    const cse_graph *graph = step->graph;
    if (quotient == NULL && cse_loss_parts_of(loss) == NULL) {
        cse_metric_update(metric, loss);
        return;
    }
    if (quotient == NULL) {
        const double samples = graph->uneven ? (double)cse_step_batch_size(step) : 1;
        cse_metric_update(metric, cse_batch_mean(loss), cse_constant(samples));
        return;
    }
    cse_tensor *nothing = cse_equal(quotient->count, cse_constant(0)), *weight = quotient->count;
    cse_tensor *count = cse_where(nothing, cse_constant(1), quotient->count);
    if (quotient->of_means && graph->uneven)
        weight = cse_scale(weight, (double)graph->micro_batch_size);
    cse_metric_update(metric, cse_div(loss, count), weight);
}

static void update(cse_metric *metric, const cse_metric_descriptor *descriptor, const validated *v)
{
    cse_tensor *arguments[CSE_MAX_METRIC_ARGUMENTS];
    const char *name = descriptor->arguments;
    const int count = arguments_of(descriptor, v);
    for (int i = 0; i < count; i++) {
        name += strspn(name, ", [");
        const size_t length = strcspn(name, ",[] ");
        arguments[i] = argument(name, length, v);
        if (arguments[i] == NULL) {
            cse_trace_fail(CSE_CONFIG,
                           "metric %s takes (%s), and a validation of this model and data has no "
                           "%.*s; it has%s scores and value: use a metric that takes those, or "
                           "call it in a program",
                           descriptor->name, descriptor->arguments, (int)length, name,
                           v->labels != NULL ? " labels, predictions, loss," : "");
            return;
        }
        name += length;
    }
    cse_metric_update_array(metric, arguments, count);
}

void cse_job_trace_metrics(cse_job *j, const cse_step *step, cse_tensor *loss,
                           cse_tensor *predictions)
{
    const validated v = { loss, predictions, cse_job_labels_of(step, predictions),
                          step->token_losses, step->token_weights };
    const bool has_accuracy = v.labels != NULL && v.labels->shape.rank == 1;
    update_mean(j->metrics[0].metric, step, loss);
    j->metrics[0].is_traced = true;
    j->metrics[1].is_traced = has_accuracy;
    if (has_accuracy && has_weights(&v))
        cse_metric_update(j->metrics[1].metric, v.labels, cse_argmax(predictions, -1),
                          v.token_weights);
    else if (has_accuracy)
        cse_metric_update(j->metrics[1].metric, v.labels, cse_argmax(predictions, -1));
    for (int m = OWN_METRICS; m < j->metric_count; m++) {
        update(j->metrics[m].metric, j->metrics[m].plugin->descriptor, &v);
        j->metrics[m].is_traced = true;
    }
}
