/* `csengine predict`: what a trained model says of samples, one line each. */
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/class_scores.h"
#include "cli/job.h"
#include "cli/json_values.h"
#include "cli/npy_writer.h"
#include "cli/option_values.h"
#include "cli/predict_texts.h"
#include "cli/prediction_rows.h"
#include "cli/printing.h"
#include "cli/report.h"
#include "cli/table.h"
#include "csengine/model.h"
#include "dataloader/class_names.h"
#include "dataloader/inputs/token_streams.h"
#include "engine/base/arena.h"
#include "engine/base/config/settings.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
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
    bool of_tables;           /* they are read in place of the data loader's files */
    bool takes_all_files;     /* by one data loader */
    const cse_config_plugin *loader;
    cse_class_names columns; /* of the training's table */
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
    const cse_element_place where = { .sample = predicted->first + i, .whole = true };
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
                      const cse_class_score *scores, const cse_prediction_row *row)
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
    else if (predicted->targets != NULL && isfinite(predicted->targets[i]))
        json_object_set_new(line, "label", json_real((double)predicted->targets[i]));
    if (scores != NULL)
        add_classes_json(p, scores, p->top < count ? p->top : count, line);
    else
        json_object_set_new(line, "values", values_json(predicted, i, count));
    if (scores == NULL && count == 1)
        json_object_set(line, "prediction", json_array_get(json_object_get(line, "values"), 0));
    cse_prediction_row_json(row, line);
    cse_json_print(line);
    json_decref(line);
}

static void class_text(const predicting *p, int64_t number, char text[MOST_NAME_BYTES])
{
    const char *name = cse_class_name(&p->names, number);
    if (name != NULL)
        snprintf(text, MOST_NAME_BYTES, "%s", name);
    else
        snprintf(text, MOST_NAME_BYTES, "%lld", (long long)number);
}

static void value_text(const cse_predicted *predicted, int64_t at, const char *format, char *text)
{
    if (predicted->dtype == CSE_INT32)
        snprintf(text, MOST_NAME_BYTES, "%d", (int)((const int32_t *)predicted->values)[at]);
    else
        snprintf(text, MOST_NAME_BYTES, format, (double)((const float *)predicted->values)[at]);
}

/* Where the sample is, and what the data say of it. */
static void add_head(const predicting *p, const cse_predicted *predicted, int64_t i,
                     cse_prediction_row *row)
{
    char text[PATH_MAX], place[PLACE_BYTES];
    row->sample = predicted->first + i;
    if (predicted->samples != NULL) {
        row->sample = predicted->samples[i];
        cse_text_printable(cse_picture_files_path(p->files, row->sample), text, sizeof text);
        row->place = cse_strdup(text);
    } else {
        place_of(predicted, i, place);
        cse_text_printable(place, text, sizeof text);
        row->place = place[0] != '\0' ? cse_strdup(text) : NULL;
    }
    if (label_of(predicted, i) != NULL)
        class_text(p, *label_of(predicted, i), text);
    else if (predicted->targets != NULL && isfinite(predicted->targets[i]))
        snprintf(text, sizeof text, "%.9g", (double)predicted->targets[i]);
    else
        return;
    row->label = cse_strdup(text);
}

/* The most likely classes; or the values, of which a table shows the first ones. */
static void add_predictions(const predicting *p, const cse_predicted *predicted, int64_t i,
                            const cse_class_score *scores, cse_prediction_row *row)
{
    enum { SHOWN = 8 };
    char text[MOST_NAME_BYTES];
    cse_text values = { 0 };
    const int64_t count = cse_shape_elements(predicted->shape);
    const bool is_table = p->table != NULL;
    for (int64_t k = 0; scores != NULL && k < p->top && k < count; k++) {
        class_text(p, scores[k].number, text);
        cse_prediction_row_add(row, text, scores[k].probability);
    }
    for (int64_t k = 0; scores == NULL && k < count && (!is_table || k < SHOWN); k++) {
        value_text(predicted, i * count + k, is_table ? "%.6g" : "%.9g", text);
        cse_text_add(&values, "%s%s", k > 0 ? " " : "", text);
    }
    if (scores == NULL && is_table && count > SHOWN)
        cse_text_add(&values, " ...");
    if (values.size > 0)
        cse_prediction_row_add(row, values.data, (double)NAN);
    cse_text_clear(&values);
}

static void show_row(predicting *p, const cse_predicted *predicted, int64_t i,
                     const cse_class_score *scores)
{
    cse_prediction_row row = { .sample = 0 };
    add_head(p, predicted, i, &row);
    add_predictions(p, predicted, i, scores, &row);
    if (p->table != NULL)
        cse_prediction_row_table(&row, p->table);
    else if (strcmp(p->format, "json") == 0)
        show_json(p, predicted, i, scores, &row);
    else
        cse_prediction_row_csv(&row, p->samples == 1);
    cse_prediction_row_clear(&row);
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
    if (p->npy == NULL)
        show_row(p, predicted, i, scores);
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
    static const char *const formats[] = { "table", "json", "csv", "npy", NULL };
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

/* The setting that names the file of samples, of a data loader whose samples may be those of other
 * files: texts, and tables of numbers. NULL: it is none. */
static const char *file_setting(const cse_config_plugin *loader)
{
    const cse_input_descriptor *descriptor = loader->descriptor;
    const cse_setting *table = descriptor->settings;
    const bool has_path = cse_setting_table_has(table, "path");
    if (has_path && cse_setting_table_has(table, "vocabulary"))
        return "path";
    if (!cse_setting_table_has(table, "missing_values") ||
        (cse_setting_table_has(table, "tokenizer") &&
         cse_settings_has(loader->settings, "tokenizer")))
        return NULL;
    return has_path ? "path" : "features";
}

static bool takes_list(const cse_setting *table, const char *name)
{
    while (table->name != NULL && strcmp(table->name, name) != 0)
        table++;
    return table->type == CSE_SETTING_PATHS;
}

static const cse_place of_arguments = { "arguments", 0, 0 };

/* The columns of a table in the order of the training, where the table names them. */
static void name_columns(const predicting *p, const cse_settings *own, cse_yaml_node *node)
{
    if (p->columns.count == 0 || !cse_setting_table_has(own->table, "features") ||
        !cse_setting_table_has(own->table, "class_names") ||
        (cse_setting_table_has(own->table, "header") && !cse_settings_bool(own, "header")) ||
        cse_settings_count(own, "features") > 0)
        return;
    cse_yaml_node *list = cse_yaml_sequence_new(own->arena, of_arguments);
    for (int i = 0; i < p->columns.count; i++)
        cse_yaml_append(own->arena, list,
                        cse_yaml_scalar_new(own->arena, of_arguments, p->columns.names[i]));
    cse_yaml_put(own->arena, node, (cse_yaml_key){ "features", of_arguments }, list);
}

static bool is_replaced(const char *key, const char *setting)
{
    return strcmp(key, setting) == 0 || strcmp(key, "micro_batch_size") == 0 ||
           strcmp(key, "batch_size") == 0 ||
           (strcmp(setting, "features") == 0 &&
            (strcmp(key, "answers") == 0 || strcmp(key, "answers_key") == 0));
}

/* The data loader's settings with the files `paths` [count] in place of its own, a batch of one. */
static cse_status with_files(predicting *p, const char *const paths[], int count)
{
    const cse_settings *own = p->loader->settings;
    const char *setting = file_setting(p->loader);
    cse_arena *arena = own->arena;
    cse_settings *changed = NULL;
    cse_yaml_node *node = cse_yaml_mapping_new(arena, own->node->place);
    cse_yaml_node *list = cse_yaml_sequence_new(arena, of_arguments);
    for (int i = 0; i < own->node->count; i++)
        if (!is_replaced(own->node->keys[i].text, setting))
            cse_yaml_put(arena, node, own->node->keys[i], own->node->children[i]);
    for (int i = 0; i < count; i++)
        cse_yaml_append(arena, list, cse_yaml_scalar_new(arena, of_arguments, paths[i]));
    cse_yaml_put(arena, node, (cse_yaml_key){ setting, of_arguments },
                 p->takes_all_files ? list : list->children[0]);
    cse_yaml_put(arena, node, (cse_yaml_key){ "batch_size", of_arguments },
                 cse_yaml_scalar_new(arena, of_arguments, "1"));
    name_columns(p, own, node);
    CSE_TRY(cse_dataloader_settings_read(arena, node, &changed));
    p->options.loader = changed;
    p->options.count = 0;
    return CSE_OK;
}

/* Its own files, with the columns of a table in the order of the training. */
static cse_status with_own_files(predicting *p)
{
    const cse_settings *own = p->loader->settings;
    cse_settings *changed = NULL;
    p->options.loader = own;
    if (p->columns.count == 0)
        return CSE_OK;
    cse_yaml_node *node = cse_yaml_mapping_new(own->arena, own->node->place);
    for (int i = 0; i < own->node->count; i++)
        cse_yaml_put(own->arena, node, own->node->keys[i], own->node->children[i]);
    name_columns(p, own, node);
    CSE_TRY(cse_dataloader_settings_read(own->arena, node, &changed));
    p->options.loader = changed;
    return CSE_OK;
}

/* One file after the other, where the data loader takes one. */
static cse_status predict_samples(predicting *p)
{
    const char *const *paths = p->line->arguments + 1;
    const int count = p->line->argument_count - 1;
    if (!p->of_tables) {
        CSE_TRY(with_own_files(p));
        return cse_predict(&p->options, on_predicted, p);
    }
    if (p->takes_all_files) {
        CSE_TRY(with_files(p, paths, count));
        return cse_predict(&p->options, on_predicted, p);
    }
    for (int i = 0; i < count; i++) {
        CSE_TRY(with_files(p, paths + i, 1));
        CSE_TRY(cse_predict(&p->options, on_predicted, p));
    }
    return CSE_OK;
}

static cse_status choose_source(const cse_job_settings *settings, predicting *p)
{
    const cse_config_plugin *loader = loader_of(settings);
    const bool has_files = p->line->argument_count > 1;
    if (has_files)
        CSE_TRY(refuse_options_of_samples(p));
    p->loader = loader;
    p->of_tables = has_files && loader != NULL && file_setting(loader) != NULL;
    if (p->of_tables) {
        p->takes_all_files = takes_list(loader->settings->table, file_setting(loader));
        return CSE_OK;
    }
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
    CSE_TRY(cse_feature_names_find(loaded->path, settings->session.model_dir, &p->columns));
    return cse_class_names_find(cse_option_value(p->line, "classes"), loaded->path,
                                settings->session.model_dir, &p->names);
}

/* What was not printed to stdout. */
static void summarize(const predicting *p, const cse_loaded_model *loaded)
{
    cse_print_to(stderr, "%lld %s; %s", (long long)p->samples, p->of_texts ? "texts" : "samples",
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
                                      .format = p->format,
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
    static const char *const heads[] = { CSE_PREDICTION_HEADS, NULL };
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
        p->table = cse_table_new(heads);
    cse_status status = p->files != NULL
                            ? cse_predict_files(&p->options, on_predicted, on_bad_file, p)
                            : predict_samples(p);
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
    cse_class_names_clear(&p.columns);
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
    { "format", "FORMAT", NULL,
      "table, json (one line a sample), csv (one line a prediction), npy (all values, to --file)" },
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
    .summary = "shows what a trained model says of samples, pictures, texts or tables",
    .arguments = "CONFIG.yaml [PICTURE | FOLDER | TEXT | TABLE ...]",
    .doc =
        "Takes the pictures that are named (JPEG, PNG, WebP, folders of them), decoded and resized "
        "as "
        "the data loader of the configuration does it, without chance; the folder of the "
        "training is not needed. With a language model the files that are named are texts: shown "
        "are the tokens of each, its perplexity, and the most likely tokens after it. With the "
        "data loader sentences they are texts to be classified (.txt), or tables and lines of "
        "them, of which all are read or none; with csv, npy, jsonl and parquet tables, which need "
        "no "
        "column of the answer. Columns of a table with a header are found by the names that they "
        "had in training. "
        "Without names, reads the samples of the validation's data "
        "loader, or else of the training's, in the "
        "order of the data. Takes the weights of --checkpoint_path, or else of the newest "
        "checkpoint of model_dir. A file that cannot be read is told, and the others are "
        "predicted; the exit code is then 65, or what the first such file has.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 1,
    .max_arguments = 100000,
    .values = "format=table|json|csv|npy",
    .examples = examples,
    .computes = true,
    .run = run,
};
