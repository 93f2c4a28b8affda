/* `csengine predict`: what a trained model says of samples, one line each. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job.h"
#include "cli/json_values.h"
#include "cli/npy_writer.h"
#include "cli/option_values.h"
#include "cli/report.h"
#include "cli/table.h"
#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "run/infer/loaded_model.h"
#include "run/infer/prediction.h"

enum { MAX_TOP = 1000, PLACE_BYTES = 512 };

typedef struct class_score {
    double probability;
    int64_t number;
} class_score;

typedef struct predicting {
    const cse_command_line *line;
    cse_prediction_options options;
    const char *format;
    int64_t top;
    cse_table *table;
    cse_npy_writer *npy;
    int64_t samples, labelled, right;
} predicting;

/* ---- classes ---- */

static int most_likely_first(const void *left, const void *right)
{
    const class_score *a = left, *b = right;
    if (a->probability != b->probability)
        return a->probability > b->probability ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* The softmax of the logits of one sample, most likely first. */
static void classify(const float *logits, int64_t count, class_score *scores)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, (double)logits[i]);
    for (int64_t i = 0; i < count; i++) {
        scores[i] = (class_score){ exp((double)logits[i] - largest), i };
        sum += scores[i].probability;
    }
    for (int64_t i = 0; i < count; i++)
        scores[i].probability /= sum;
    qsort(scores, (size_t)count, sizeof *scores, most_likely_first);
}

static json_t *class_json(const class_score *score)
{
    return json_pack("{s:I, s:f}", "class", (json_int_t)score->number, "probability",
                     score->probability);
}

static void add_classes_json(const class_score *scores, int64_t count, json_t *line)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(list, class_json(&scores[i]));
    json_object_set_new(line, "classes", list);
}

/* ---- one sample ---- */

static void place_of(const cse_predicted *predicted, int64_t i, char place[PLACE_BYTES])
{
    const cse_element_place where = { .sample = predicted->first + i };
    place[0] = '\0';
    if (predicted->input->descriptor->locate != NULL)
        predicted->input->descriptor->locate(predicted->input, &where, place, PLACE_BYTES);
}

static json_t *values_json(const cse_predicted *predicted, int64_t i, int64_t count)
{
    json_t *list = json_array();
    for (int64_t k = 0; k < count; k++) {
        const int64_t at = i * count + k;
        json_array_append_new(list, predicted->dtype == CSE_INT32
                                        ? json_integer(((const int32_t *)predicted->values)[at])
                                        : cse_json_finite(((const float *)predicted->values)[at]));
    }
    return list;
}

static bool is_classes(const predicting *p, const cse_predicted *predicted)
{
    return p->options.output == NULL && predicted->shape.rank == 1 &&
           predicted->dtype == CSE_FLOAT32 && predicted->shape.dims[0] > 1;
}

static void show_json(const predicting *p, const cse_predicted *predicted, int64_t i,
                      const class_score *scores)
{
    char place[PLACE_BYTES];
    const int64_t count = cse_shape_elements(predicted->shape);
    place_of(predicted, i, place);
    json_t *line = json_pack("{s:I}", "sample", (json_int_t)(predicted->first + i));
    if (place[0] != '\0')
        json_object_set_new(line, "place", json_string(place));
    if (predicted->labels != NULL)
        json_object_set_new(line, "label", json_integer(predicted->labels[i]));
    if (scores != NULL)
        add_classes_json(scores, p->top < count ? p->top : count, line);
    else
        json_object_set_new(line, "values", values_json(predicted, i, count));
    cse_json_print(line);
    json_decref(line);
}

static void add_row(const predicting *p, const cse_predicted *predicted, int64_t i,
                    const class_score *scores)
{
    enum { SHOWN = 8 };
    const int64_t count = cse_shape_elements(predicted->shape);
    char text[PLACE_BYTES + 32 * MAX_TOP], *at = text, *end = text + sizeof text;
    cse_table_add(p->table, "%lld", (long long)(predicted->first + i));
    if (predicted->labels != NULL)
        cse_table_add(p->table, "%d", (int)predicted->labels[i]);
    else
        cse_table_add(p->table, "%s", "");
    text[0] = '\0';
    if (scores != NULL) {
        for (int64_t k = 0; k < p->top && k < count; k++)
            at += snprintf(at, (size_t)(end - at), "%s%lld (%.4f)", k > 0 ? ", " : "",
                           (long long)scores[k].number, scores[k].probability);
    } else {
        for (int64_t k = 0; k < count && k < SHOWN; k++)
            at += predicted->dtype == CSE_INT32
                      ? snprintf(at, (size_t)(end - at), "%d ",
                                 (int)((const int32_t *)predicted->values)[i * count + k])
                      : snprintf(at, (size_t)(end - at), "%.6g ",
                                 (double)((const float *)predicted->values)[i * count + k]);
        if (count > SHOWN)
            snprintf(at, (size_t)(end - at), "...");
    }
    cse_table_add(p->table, "%s", text);
}

static cse_status show_sample(predicting *p, const cse_predicted *predicted, int64_t i)
{
    class_score *scores = NULL;
    const int64_t count = cse_shape_elements(predicted->shape);
    p->samples++;
    if (is_classes(p, predicted)) {
        scores = cse_calloc((size_t)count, sizeof *scores);
        classify((const float *)predicted->values + i * count, count, scores);
        if (predicted->labels != NULL) {
            p->labelled++;
            p->right += scores[0].number == predicted->labels[i];
        }
    }
    if (p->npy == NULL && strcmp(p->format, "json") == 0)
        show_json(p, predicted, i, scores);
    else if (p->npy == NULL)
        add_row(p, predicted, i, scores);
    free(scores);
    return CSE_OK;
}

static cse_status on_predicted(void *self, const cse_predicted *predicted)
{
    predicting *p = self;
    if (strcmp(p->format, "npy") == 0) {
        if (p->npy == NULL)
            CSE_TRY(cse_npy_writer_open(cse_option_value(p->line, "file"), predicted->shape,
                                        predicted->dtype, &p->npy));
        CSE_TRY(cse_npy_writer_add(p->npy, predicted->values, predicted->count));
    }
    for (int64_t i = 0; i < predicted->count; i++)
        CSE_TRY(show_sample(p, predicted, i));
    return CSE_OK;
}

/* ---- the command ---- */

static cse_status read_options(predicting *p)
{
    static const char *const formats[] = { "table", "json", "npy", NULL };
    static const int64_t samples[] = { 0, INT64_MAX }, top[] = { 1, MAX_TOP };
    p->format = cse_option_is_on(p->line, "json") ? "json" : "table";
    p->top = 1;
    p->options.count = 20;
    p->options.may_be_fewer = cse_option_value(p->line, "samples") == NULL;
    p->options.output = cse_option_value(p->line, "output");
    CSE_TRY(cse_option_word(p->line, "format", formats, &p->format));
    if (strcmp(p->format, "npy") == 0)
        p->options.count = 0;
    CSE_TRY(cse_option_integer(p->line, "samples", samples, &p->options.count));
    CSE_TRY(cse_option_integer(p->line, "first", samples, &p->options.first));
    CSE_TRY(cse_option_integer(p->line, "top", top, &p->top));
    if ((strcmp(p->format, "npy") == 0) != (cse_option_value(p->line, "file") != NULL))
        return cse_fail(CSE_USAGE, "predict: --format npy needs --file NAME.npy, and --file is for "
                                   "it alone");
    return CSE_OK;
}

static cse_status choose_loader(const cse_job_settings *settings, predicting *p)
{
    const cse_config_plugin *loader =
        settings->val_dataloader != NULL ? settings->val_dataloader : settings->train_dataloader;
    if (loader == NULL)
        return cse_fail(CSE_CONFIG, "predict: the configuration has no data loader: neither "
                                    "validate.val_dataloader nor those of fit");
    p->options.loader = loader->settings;
    return CSE_OK;
}

static cse_status predict(predicting *p, const cse_job_settings *settings)
{
    static const char *const heads[] = { "SAMPLE", "LABEL", "PREDICTION", NULL };
    cse_loaded_model loaded = { .model = NULL };
    CSE_TRY(read_options(p));
    CSE_TRY(choose_loader(settings, p));
    CSE_TRY(cse_loaded_model_open(settings, &loaded));
    p->options.model = loaded.model;
    p->options.seed = settings->session.seed;
    if (strcmp(p->format, "table") == 0)
        p->table = cse_table_new(heads);
    cse_status status = cse_predict(&p->options, on_predicted, p);
    if (p->npy != NULL)
        status = cse_npy_writer_close(&p->npy, status);
    if (status == CSE_OK && p->table != NULL)
        cse_table_print(p->table, stdout);
    if (status == CSE_OK && !cse_option_is_on(p->line, "quiet")) {
        fprintf(stderr, "%lld samples; weights of step %lld: %s", (long long)p->samples,
                (long long)loaded.step, loaded.path);
        if (p->labelled > 0)
            fprintf(stderr, "; %lld of %lld as labelled (%.4f)", (long long)p->right,
                    (long long)p->labelled, (double)p->right / (double)p->labelled);
        fputc('\n', stderr);
    }
    return status;
}

static int run(const cse_command_line *line)
{
    cse_prepared_job job;
    predicting p = { .line = line };
    cse_status status = cse_job_prepare(line, CSE_JOB_INFER, &job);
    if (status == CSE_OK)
        status = predict(&p, &job.settings);
    int exit_code = cse_report_diagnostics(status, &job.diagnostics);
    cse_table_destroy(&p.table);
    cse_finish();
    cse_job_clear(&job);
    return exit_code;
}

static const cse_option options[] = {
    { "samples", "N", NULL,
      "so many samples, in the order of the data; 0, all; up to 20, or all to npy" },
    { "first", "N", NULL, "the first of them, counted from 0" },
    { "top", "K", NULL, "shows the K most likely classes; 1" },
    { "output", "SCOPE", NULL,
      "instead of the predictions the last value that is computed in this part of the model, as in "
      "model.fc_layers.0" },
    { "format", "FORMAT", NULL, "table, json (one line a sample), npy (all values, to --file)" },
    { "file", "NAME.npy", NULL, "the file that --format npy writes" },
    { "json", NULL, NULL, "as --format json" },
    { "quiet", NULL, NULL, "prints no summary" },
    CSE_INFERENCE_OPTIONS,
    { 0 },
};

static const cse_command_note examples[] = {
    { "predict configs/fc_mnist.yaml --samples 10 --top 3",
      "the three most likely classes of ten pictures" },
    { "predict configs/fc_mnist.yaml --output model.fc_layers.1 --format npy --file features.npy",
      "what a layer makes of every picture" },
    { 0 },
};

const cse_command cse_command_predict = {
    .name = "predict",
    .group = CSE_GROUP_RUN,
    .summary = "shows what a trained model says of samples",
    .arguments = "CONFIG.yaml",
    .doc = "Reads the samples of the validation's data loader, or else of the training's, in the "
           "order of the data. Takes the weights of --checkpoint_path, or else of the newest "
           "checkpoint of model_dir.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 1,
    .max_arguments = 1,
    .values = "format=table|json|npy",
    .examples = examples,
    .run = run,
};
