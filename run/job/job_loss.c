/* Balanced weights are those of scikit-learn: samples / (classes * samples of the class), so that
 * their mean over the samples is 1. */
#include "run/job/job_loss.h"

#include <stdlib.h>

#include "dataloader/label_list.h"
#include "engine/base/arena.h"
#include "engine/base/config/loss_settings.h"
#include "engine/nn/class_loss.h"

static const char setting[] = "loss.class_weights: balanced";

static cse_status weights_of(const cse_input *input, const int64_t *counts, int64_t classes,
                             float *weights)
{
    for (int64_t c = 0; c < classes; c++) {
        if (counts[c] == 0)
            return cse_fail(CSE_DATA,
                            "no sample of %s has class %lld, whose weight is therefore not known: "
                            "leave it out, or give the weights as a list",
                            input->source[0] != '\0' ? input->source : "the training data",
                            (long long)c);
        weights[c] = (float)((double)input->sample_count / ((double)classes * (double)counts[c]));
    }
    return CSE_OK;
}

static cse_status balance(cse_arena *arena, const cse_input *input, const int32_t *labels,
                          cse_class_loss *loss)
{
    int64_t *counts = NULL, classes = 0;
    CSE_TRY(cse_label_counts(input, labels, &counts, &classes));
    float *weights = cse_arena_alloc(arena, (size_t)classes * sizeof *weights);
    loss->weights = weights;
    loss->weight_count = (int)classes;
    cse_status status = weights_of(input, counts, classes, weights);
    free(counts);
    return status;
}

static cse_status within_setting(cse_status status)
{
    return status == CSE_OK ? CSE_OK : cse_fail_within(status, "%s: ", setting);
}

/* Without its mixing, the labels are what the data say. */
static cse_status balance_by_data(const cse_job *j, cse_class_loss *loss)
{
    const cse_config_plugin *data = j->settings->train_dataloader;
    cse_dataloader *loader = NULL;
    int32_t *labels = NULL;
    if (data == NULL)
        return cse_fail(CSE_CONFIG,
                        "%s (%s) goes by the training data, and there is no train_dataloader: give "
                        "the weights as a list",
                        setting, loss->weights_origin);
    CSE_TRY(within_setting(
        cse_dataloader_open_plain(data->settings, j->session->configuration.seed, &loader)));
    cse_input *input = cse_dataloader_open_input(loader);
    cse_status status = cse_label_list_read(input, setting, loss->weights_origin, &labels);
    if (status == CSE_OK)
        status = within_setting(balance(j->session->arena, input, labels, loss));
    free(labels);
    cse_dataloader_close(&loader);
    return status;
}

cse_status cse_job_make_loss(cse_job *j)
{
    const cse_settings *s = j->settings->loss;
    float *weights = NULL;
    if (s == NULL || j->settings->mode == CSE_JOB_INFER)
        return CSE_OK;
    cse_class_loss *loss = cse_arena_alloc(j->session->arena, sizeof *loss);
    *loss = (cse_class_loss){ .label_smoothing = cse_settings_number(s, "label_smoothing"),
                              .smoothing_origin = cse_settings_origin(s, "label_smoothing"),
                              .weights_origin = cse_settings_origin(s, "class_weights") };
    loss->weight_count = cse_loss_weights_read(s, j->session->arena, &weights);
    loss->weights = weights;
    if (cse_loss_weights_are_balanced(s))
        CSE_TRY(balance_by_data(j, loss));
    if (loss->weights != NULL || loss->label_smoothing > 0)
        j->session->network.class_loss = loss;
    return CSE_OK;
}
