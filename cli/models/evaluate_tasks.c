/* Measures each file and prints a table, or a JSON line a file. */
#include "cli/models/evaluate_tasks.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/arguments/option_values.h"
#include "cli/runs/job.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/report.h"
#include "cli/terminal/stop_signal.h"
#include "cli/terminal/table.h"
#include "engine/base/error.h"
#include "run/infer/language_model.h"
#include "run/infer/language_tasks.h"
#include "run/infer/loaded_model.h"

static double share(int64_t right, const cse_task_result *result)
{
    return (double)right / (double)result->questions;
}

/* Of a share of right answers, by the binomial distribution. */
static double standard_error(int64_t right, const cse_task_result *result)
{
    const double p = share(right, result);
    return sqrt(p * (1 - p) / (double)(result->questions > 1 ? result->questions - 1 : 1));
}

static void print_json(const char *path, const cse_task_result *result)
{
    json_t *line = json_pack("{s:s}", "file", path);
    if (result->texts > 0)
        json_object_update_new(
            line, json_pack("{s:I, s:I, s:I, s:f, s:o, s:o}", "texts", (json_int_t)result->texts,
                            "tokens", (json_int_t)result->tokens, "bytes",
                            (json_int_t)result->bytes, "log_likelihood", result->log_likelihood,
                            "perplexity", cse_json_finite(cse_task_perplexity(result)),
                            "bits_per_byte", cse_json_finite(cse_task_bits_per_byte(result))));
    if (result->questions > 0)
        json_object_update_new(
            line, json_pack("{s:I, s:f, s:f, s:f, s:f}", "questions", (json_int_t)result->questions,
                            "acc", share(result->right, result), "acc_stderr",
                            standard_error(result->right, result), "acc_norm",
                            share(result->right_by_length, result), "acc_norm_stderr",
                            standard_error(result->right_by_length, result)));
    cse_json_print(line);
    json_decref(line);
}

static void add_row(cse_table *table, const char *path, const char *measure, double value,
                    double error)
{
    cse_table_add(table, "%s", path);
    cse_table_add(table, "%s", measure);
    cse_table_add(table, "%.6g", value);
    if (error >= 0)
        cse_table_add(table, "%.4f", error);
    else
        cse_table_add(table, "%s", "");
}

static void add_rows(cse_table *table, const char *path, const cse_task_result *result)
{
    if (result->texts > 0) {
        add_row(table, path, "perplexity", cse_task_perplexity(result), -1);
        add_row(table, path, "bits_per_byte", cse_task_bits_per_byte(result), -1);
    }
    if (result->questions > 0) {
        add_row(table, path, "acc", share(result->right, result),
                standard_error(result->right, result));
        add_row(table, path, "acc_norm", share(result->right_by_length, result),
                standard_error(result->right_by_length, result));
    }
}

static cse_status evaluate(const cse_command_line *line, const cse_job_settings *settings)
{
    static const char *const heads[] = { "TASK", "MEASURE", "VALUE", "STDERR", NULL };
    cse_loaded_model loaded = { .model = NULL };
    CSE_TRY(cse_loaded_model_open(settings, &loaded));
    const bool json = cse_option_is_on(line, "json");
    const char **paths = cse_option_all_values(line, "tasks");
    cse_text_codec *codec = NULL;
    cse_table *table = json ? NULL : cse_table_new(heads);
    cse_status status =
        cse_text_codec_find(&(cse_text_codec_places){ .given = cse_option_value(line, "tokenizer"),
                                                      .weights = loaded.path,
                                                      .model_dir = settings->session.model_dir },
                            cse_model_vocabulary(loaded.model), &codec);
    for (int i = 0; paths[i] != NULL && status == CSE_OK; i++) {
        cse_task_result result;
        status =
            cse_language_task_run(loaded.model, codec, paths[i], cse_stop_signal_came, &result);
        if (status == CSE_OK && json)
            print_json(paths[i], &result);
        else if (status == CSE_OK)
            add_rows(table, paths[i], &result);
    }
    if (status == CSE_OK && table != NULL)
        cse_table_print(table, stdout);
    cse_table_destroy(&table);
    cse_text_codec_close(&codec);
    free(paths);
    return status;
}

int cse_evaluate_tasks(const cse_command_line *line)
{
    cse_prepared_job job;
    cse_stop_signal_note();
    cse_status status = cse_job_prepare(line, CSE_JOB_INFER, &job);
    if (status == CSE_OK)
        status = evaluate(line, &job.settings);
    int exit_code = cse_report_diagnostics(status, &job.diagnostics);
    cse_finish();
    cse_job_clear(&job);
    return exit_code;
}
