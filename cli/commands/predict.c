/* `csengine predict`: what a trained model says of samples, one line each. */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/class_scores.h"
#include "cli/job.h"
#include "cli/json_values.h"
#include "cli/npy_writer.h"
#include "cli/option_values.h"
#include "cli/predict_texts.h"
#include "cli/report.h"
#include "cli/table.h"
#include "csengine/model.h"
#include "dataloader/class_names.h"
#include "dataloader/inputs/token_streams.h"
#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/config/settings.h"
#include "run/infer/loaded_model.h"
#include "run/infer/prediction.h"

enum { MAX_TOP = 1000, PLACE_BYTES = 512, MOST_NAME_BYTES = 1100 };

typedef struct predicting {
    const cse_command_line *line;
    cse_prediction_options options;
    const char *format;
    int64_t top;
    cse_table *table;
    cse_npy_writer *npy;
    cse_picture_files *files; /* NULL: the samples are those of the data loader */
    bool of_texts;            /* the files that are named are texts of a language model */
    bool shows_places;        /* samples are told by where they are, not by their numbers */
    cse_class_names names;
    int64_t samples, labelled, right, bad_files;
    cse_status first_bad;
    bool answers_numbers; /* not classes */
} predicting;

/* ---- classes ---- */

static json_t *class_json(const predicting *p, const cse_class_score *score)
{
    const char *name = cse_class_name(&p->names, score->number);
    json_t *entry = json_pack("{s:I}", "class", (json_int_t)score->number);
    if (name != NULL)
        json_object_set_new(entry, "name", json_string(name));
    json_object_set_new(entry, "probability", json_real(score->probability));
    return entry;
}

static void add_classes_json(const predicting *p, const cse_class_score *scores, int64_t count,
                             json_t *line)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(list, class_json(p, &scores[i]));
    json_object_set_new(line, "classes", list);
}

/* ---- one sample ---- */

static void place_of(const cse_predicted *predicted, int64_t i, char place[PLACE_BYTES])
{
    const cse_element_place where = { .sample = predicted->first + i };
    place[0] = '\0';
    if (predicted->input != NULL && predicted->input->descriptor->locate != NULL)
        predicted->input->descriptor->locate(predicted->input, &where, place, PLACE_BYTES);
}

/* The label of a sample; NULL: it has none. */
static const int32_t *label_of(const cse_predicted *predicted, int64_t i)
{
    return predicted->labels != NULL && predicted->labels[i] != CSE_IGNORED_LABEL
               ? &predicted->labels[i]
               : NULL;
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
    return p->options.output == NULL && !p->answers_numbers && predicted->shape.rank == 1 &&
           predicted->dtype == CSE_FLOAT32 && predicted->shape.dims[0] > 1;
}

/* Names of files need not be UTF-8, which JSON is. */
static json_t *file_json(const predicting *p, int64_t file)
{
    char printable[PATH_MAX];
    json_t *line = json_object();
    cse_text_printable(cse_picture_files_path(p->files, file), printable, sizeof printable);
    json_object_set_new(line, "file", json_string(printable));
    return line;
}

static void show_json(const predicting *p, const cse_predicted *predicted, int64_t i,
                      const cse_class_score *scores)
{
    char place[PLACE_BYTES];
    const int64_t count = cse_shape_elements(predicted->shape);
    place_of(predicted, i, place);
    json_t *line = predicted->samples != NULL
                       ? file_json(p, predicted->samples[i])
                       : json_pack("{s:I}", "sample", (json_int_t)(predicted->first + i));
    if (place[0] != '\0')
        json_object_set_new(line, "place", json_string(place));
    if (label_of(predicted, i) != NULL)
        json_object_set_new(line, "label", json_integer(*label_of(predicted, i)));
    if (scores != NULL)
        add_classes_json(p, scores, p->top < count ? p->top : count, line);
    else
        json_object_set_new(line, "values", values_json(predicted, i, count));
    cse_json_print(line);
    json_decref(line);
}

static void add_class_cell(const predicting *p, int64_t number)
{
    const char *name = cse_class_name(&p->names, number);
    if (name != NULL)
        cse_table_add(p->table, "%s", name);
    else
        cse_table_add(p->table, "%lld", (long long)number);
}

static void add_row_head(const predicting *p, const cse_predicted *predicted, int64_t i)
{
    char printable[PATH_MAX];
    if (predicted->samples != NULL) {
        cse_text_printable(cse_picture_files_path(p->files, predicted->samples[i]), printable,
                           sizeof printable);
        cse_table_add(p->table, "%s", printable);
        return;
    }
    if (p->shows_places) {
        place_of(predicted, i, printable);
        cse_table_add(p->table, "%s", printable);
    } else {
        cse_table_add(p->table, "%lld", (long long)(predicted->first + i));
    }
    if (label_of(predicted, i) != NULL)
        add_class_cell(p, *label_of(predicted, i));
    else
        cse_table_add(p->table, "%s", "");
}

static int class_words(const predicting *p, const cse_class_score *score, char *text, size_t size)
{
    const char *name = cse_class_name(&p->names, score->number);
    return name != NULL
               ? snprintf(text, size, "%s (%.4f)", name, score->probability)
               : snprintf(text, size, "%lld (%.4f)", (long long)score->number, score->probability);
}

static void add_row(const predicting *p, const cse_predicted *predicted, int64_t i,
                    const cse_class_score *scores)
{
    enum { SHOWN = 8 };
    const int64_t count = cse_shape_elements(predicted->shape);
    char text[2 * MOST_NAME_BYTES + 64 * MAX_TOP], *at = text, *end = text + sizeof text;
    add_row_head(p, predicted, i);
    text[0] = '\0';
    if (scores != NULL) {
        for (int64_t k = 0; k < p->top && k < count && end - at > MOST_NAME_BYTES; k++) {
            at += snprintf(at, (size_t)(end - at), "%s", k > 0 ? ", " : "");
            at += class_words(p, &scores[k], at, (size_t)(end - at));
        }
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
    cse_class_score *scores = NULL;
    const int64_t count = cse_shape_elements(predicted->shape);
    p->samples++;
    if (is_classes(p, predicted)) {
        scores = cse_calloc((size_t)count, sizeof *scores);
        cse_class_scores((const float *)predicted->values + i * count, count, scores);
        if (label_of(predicted, i) != NULL) {
            p->labelled++;
            p->right += scores[0].number == *label_of(predicted, i);
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

/* Told at once; the others are predicted, and the exit code is that of the first. A file for NumPy
 * would lose the order of its rows. */
static cse_status on_bad_file(void *self, int64_t file, cse_status status)
{
    predicting *p = self;
    if (strcmp(p->format, "npy") == 0)
        return status;
    if (p->bad_files++ == 0)
        p->first_bad = status;
    if (strcmp(p->format, "json") == 0) {
        json_t *line = file_json(p, file);
        json_object_set_new(line, "error", json_string(cse_error_message()));
        cse_json_print(line);
        json_decref(line);
    }
    cse_report(status);
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

static const cse_config_plugin *loader_of(const cse_job_settings *settings)
{
    return settings->val_dataloader != NULL ? settings->val_dataloader : settings->train_dataloader;
}

static cse_status refuse_options_of_samples(const predicting *p)
{
    if (p->options.first > 0 || cse_option_value(p->line, "samples") != NULL)
        return cse_fail(CSE_USAGE, "predict: --first and --samples are for samples of the data "
                                   "loader; files are given by name");
    return CSE_OK;
}

/* Whether the data loader makes samples of the texts in the files of its setting path. */
static bool is_of_texts(const cse_input_descriptor *descriptor)
{
    return cse_setting_table_has(descriptor->settings, "vocabulary") &&
           cse_setting_table_has(descriptor->settings, "path");
}

/* A data loader of texts reads the files that are named in place of its own, a batch of one. */
static cse_status name_texts(predicting *p, const cse_settings *loader)
{
    static const cse_place place = { "arguments", 0, 0 };
    cse_arena *arena = loader->arena;
    cse_settings *changed = NULL;
    const cse_yaml_node *own = loader->node;
    cse_yaml_node *node = cse_yaml_mapping_new(arena, own->place);
    cse_yaml_node *paths = cse_yaml_sequence_new(arena, place);
    for (int i = 0; i < own->count; i++)
        if (strcmp(own->keys[i].text, "micro_batch_size") != 0)
            cse_yaml_put(arena, node, own->keys[i], own->children[i]);
    for (int i = 1; i < p->line->argument_count; i++)
        cse_yaml_append(arena, paths, cse_yaml_scalar_new(arena, place, p->line->arguments[i]));
    cse_yaml_put(arena, node, (cse_yaml_key){ "path", place }, paths);
    cse_yaml_put(arena, node, (cse_yaml_key){ "batch_size", place },
                 cse_yaml_scalar_new(arena, place, "1"));
    CSE_TRY(cse_dataloader_settings_read(arena, node, &changed));
    p->options.loader = changed;
    p->options.count = 0;
    p->shows_places = true;
    return CSE_OK;
}

static cse_status choose_source(const cse_job_settings *settings, predicting *p)
{
    const cse_config_plugin *loader = loader_of(settings);
    const bool has_files = p->line->argument_count > 1;
    if (has_files)
        CSE_TRY(refuse_options_of_samples(p));
    if (has_files && loader != NULL && is_of_texts(loader->descriptor))
        return name_texts(p, loader->settings);
    p->of_texts = has_files && (loader == NULL || !cse_picture_files_fit(loader->descriptor));
    if (p->of_texts)
        return CSE_OK;
    if (loader == NULL)
        return cse_fail(CSE_CONFIG, "predict: the configuration has no data loader: neither "
                                    "validate.val_dataloader nor those of fit");
    p->options.loader = loader->settings;
    if (!has_files)
        return CSE_OK;
    CSE_TRY(cse_picture_files_new(loader->descriptor, loader->settings, &p->files));
    for (int i = 1; i < p->line->argument_count; i++)
        CSE_TRY(cse_picture_files_add(p->files, p->line->arguments[i]));
    p->options.files = p->files;
    return CSE_OK;
}

static cse_status find_names(predicting *p, const cse_job_settings *settings,
                             const cse_loaded_model *loaded)
{
    return cse_class_names_find(cse_option_value(p->line, "classes"), loaded->path,
                                settings->session.model_dir, &p->names);
}

/* What was not printed to stdout. */
static void summarize(const predicting *p, const cse_loaded_model *loaded)
{
    fprintf(stderr, "%lld %s; %s", (long long)p->samples, p->of_texts ? "texts" : "samples",
            loaded->described);
    if (p->labelled > 0)
        fprintf(stderr, "; %lld of %lld as labelled (%.4f)", (long long)p->right,
                (long long)p->labelled, (double)p->right / (double)p->labelled);
    if (p->bad_files > 0)
        fprintf(stderr, "; files that could not be read: %lld", (long long)p->bad_files);
    fputc('\n', stderr);
}

static cse_status predict_texts(predicting *p, const cse_job_settings *settings,
                                const cse_loaded_model *loaded)
{
    static const char *const others[] = { "output", "classes", "file" };
    cse_predict_texts_result result;
    for (int i = 0; i < 3; i++)
        if (cse_option_value(p->line, others[i]) != NULL)
            return cse_fail(CSE_USAGE, "predict: --%s does not go with files of text", others[i]);
    cse_status status = cse_predict_texts(
        &(cse_predict_texts_options){ .paths = p->line->arguments + 1,
                                      .path_count = p->line->argument_count - 1,
                                      .tokenizer = cse_option_value(p->line, "tokenizer"),
                                      .model_dir = settings->session.model_dir,
                                      .top = p->top,
                                      .json = strcmp(p->format, "json") == 0,
                                      .model_name = settings->model->name,
                                      .loader = loader_of(settings) },
        loaded, &result);
    p->samples = result.texts;
    p->bad_files = result.bad_files;
    p->first_bad = result.first_bad;
    if (status == CSE_OK && !cse_option_is_on(p->line, "quiet"))
        summarize(p, loaded);
    return status;
}

/* Whether a classifier of texts was trained for numbers, or for several classes at once: its values
 * are shown as they are, since they are no logits of one class. */
static bool answers_numbers(const char *name, const cse_model *model)
{
    return strcmp(name, "bert/classifier") == 0 &&
           strcmp(cse_settings_text(cse_model_settings_view(model), "problem_type"),
                  "single_label_classification") != 0;
}

static cse_status predict(predicting *p, const cse_job_settings *settings)
{
    static const char *const heads[] = { "SAMPLE", "LABEL", "PREDICTION", NULL };
    static const char *const file_heads[] = { "FILE", "PREDICTION", NULL };
    cse_loaded_model loaded = { .model = NULL };
    CSE_TRY(read_options(p));
    CSE_TRY(choose_source(settings, p));
    CSE_TRY(cse_loaded_model_open(settings, &loaded));
    if (p->of_texts)
        return predict_texts(p, settings, &loaded);
    CSE_TRY(find_names(p, settings, &loaded));
    p->options.model = loaded.model;
    p->answers_numbers = answers_numbers(settings->model->name, loaded.model);
    p->options.seed = settings->session.seed;
    if (strcmp(p->format, "table") == 0)
        p->table = cse_table_new(p->files != NULL ? file_heads : heads);
    cse_status status = p->files != NULL
                            ? cse_predict_files(&p->options, on_predicted, on_bad_file, p)
                            : cse_predict(&p->options, on_predicted, p);
    if (p->npy != NULL)
        status = cse_npy_writer_close(&p->npy, status);
    if (status == CSE_OK && p->table != NULL && p->samples > 0)
        cse_table_print(p->table, stdout);
    if (status == CSE_OK && !cse_option_is_on(p->line, "quiet"))
        summarize(p, &loaded);
    return status;
}

static int run(const cse_command_line *line)
{
    cse_prepared_job job;
    predicting p = { .line = line };
    cse_command_line configuration = *line;
    configuration.argument_count = 1;
    cse_status status = cse_job_prepare(&configuration, CSE_JOB_INFER, &job);
    if (status == CSE_OK)
        status = predict(&p, &job.settings);
    int exit_code = cse_report_diagnostics(status, &job.diagnostics);
    if (status == CSE_OK && p.bad_files > 0)
        exit_code = cse_status_exit_code(p.first_bad);
    cse_table_destroy(&p.table);
    cse_picture_files_destroy(&p.files);
    cse_class_names_clear(&p.names);
    cse_finish();
    cse_job_clear(&job);
    return exit_code;
}

static const cse_option options[] = {
    { "samples", "N", NULL,
      "so many samples, in the order of the data; 0, all; up to 20, or all to npy" },
    { "first", "N", NULL, "the first of them, counted from 0" },
    { "top", "K", NULL, "shows the K most likely classes, or tokens that follow a text; 1" },
    { "output", "SCOPE", NULL,
      "instead of the predictions the last value that is computed in this part of the model, as in "
      "model.fc_layers.0" },
    { "format", "FORMAT", NULL, "table, json (one line a sample), npy (all values, to --file)" },
    { "file", "NAME.npy", NULL, "the file that --format npy writes" },
    { "json", NULL, NULL, "as --format json" },
    { "quiet", NULL, NULL, "prints no summary" },
    { "classes", "FILE", NULL,
      "the names of the classes, a line each; classes.txt beside the checkpoint or in model_dir" },
    { "tokenizer", "PATH", NULL,
      "of texts: tokenizer.json, or a folder that holds it; without it that of model_dir, or "
      "bytes" },
    CSE_INFERENCE_OPTIONS,
    { 0 },
};

static const cse_command_note examples[] = {
    { "predict configs/fc_mnist.yaml --samples 10 --top 3",
      "the three most likely classes of ten pictures" },
    { "predict pictures.yaml photo.jpg holidays --top 3",
      "the classes of pictures of your own: files, and all of a folder" },
    { "predict configs/gpt2_bytes.yaml letter.txt --top 5",
      "how likely a text is, and the five most likely ways in which it goes on" },
    { "predict configs/fc_mnist.yaml --output model.fc_layers.1 --format npy --file features.npy",
      "what a layer makes of every picture" },
    { 0 },
};

const cse_command cse_command_predict = {
    .name = "predict",
    .group = CSE_GROUP_RUN,
    .summary = "shows what a trained model says of samples, pictures or texts",
    .arguments = "CONFIG.yaml [PICTURE | FOLDER | TEXT ...]",
    .doc =
        "Takes the pictures that are named (JPEG, PNG, folders of them), decoded and resized as "
        "the data loader of the configuration does it, without chance; the folder of the "
        "training is not needed. With a language model the files that are named are texts: shown "
        "are the tokens of each, its perplexity, and the most likely tokens after it. With the "
        "data loader sentences they are texts to be classified (.txt), or tables and lines of "
        "them, of which all are read or none. "
        "Without names, reads the samples of the validation's data "
        "loader, or else of the training's, in the "
        "order of the data. Takes the weights of --checkpoint_path, or else of the newest "
        "checkpoint of model_dir. A file that cannot be read is told, and the others are "
        "predicted; the exit code is then 65, or what the first such file has.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 1,
    .max_arguments = 100000,
    .values = "format=table|json|npy",
    .examples = examples,
    .run = run,
};
