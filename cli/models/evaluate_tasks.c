/* Measures each file and prints a table, or a JSON line a file (and one a group of its rows). */
#include "cli/models/evaluate_tasks.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/arguments/option_values.h"
#include "cli/models/model_job.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/report.h"
#include "cli/terminal/stop_signal.h"
#include "cli/terminal/table.h"
#include "engine/base/error.h"
#include "run/infer/language_model.h"
#include "run/infer/language_tasks.h"
#include "run/infer/loaded_model.h"
#include "run/infer/task_run.h"

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

/* ---- tasks of data sets ---- */

static double error_of(int64_t right, int64_t questions)
{
    const cse_task_result result = { .questions = questions };
    return standard_error(right, &result);
}

/* One text has a perplexity, a choice may be judged by its length as well. */
static void print_score(const cse_task_order *order, const cse_task_score *s)
{
    const double count = (double)s->questions;
    json_t *line =
        json_pack("{s:s, s:s, s:i, s:I, s:f, s:f}", "task", order->task->name, "file", order->path,
                  "num_fewshot", order->num_fewshot, "questions", (json_int_t)s->questions, "acc",
                  (double)s->right / count, "acc_stderr", error_of(s->right, s->questions));
    if (s->group[0] != '\0')
        json_object_set_new(line, "group", json_string(s->group));
    if (order->task->by_bytes)
        json_object_update_new(
            line, json_pack("{s:f, s:f, s:f, s:f}", "acc_norm", (double)s->right_by_text / count,
                            "acc_norm_stderr", error_of(s->right_by_text, s->questions),
                            "acc_bytes", (double)s->right_by_bytes / count, "acc_bytes_stderr",
                            error_of(s->right_by_bytes, s->questions)));
    json_object_set_new(line, "log_likelihood", cse_json_finite(s->log_likelihood));
    if (order->task->one_text)
        json_object_set_new(line, "perplexity", cse_json_finite(exp(-s->log_likelihood / count)));
    cse_json_print(line);
    json_decref(line);
}

static void add_score(cse_table *table, const cse_task_order *order, const cse_task_score *s)
{
    char name[256];
    const double count = (double)s->questions;
    snprintf(name, sizeof name, "%s%s%s", order->task->name, s->group[0] != '\0' ? ": " : "",
             s->group);
    if (order->task->one_text)
        add_row(table, name, "perplexity", exp(-s->log_likelihood / count), -1);
    add_row(table, name, "acc", (double)s->right / count, error_of(s->right, s->questions));
    if (!order->task->by_bytes)
        return;
    add_row(table, name, "acc_norm", (double)s->right_by_text / count,
            error_of(s->right_by_text, s->questions));
    add_row(table, name, "acc_bytes", (double)s->right_by_bytes / count,
            error_of(s->right_by_bytes, s->questions));
}

/* NAME=PATH with the name of a task. *order.task NULL: the value is a path alone. */
static cse_status read_order(const cse_command_line *line, const char *value, cse_task_order *order)
{
    static const int64_t counts[] = { 0, 1024 };
    int64_t count = 0;
    char name[64] = "";
    struct stat found;
    const char *equals = strchr(value, '=');
    *order = (cse_task_order){ .stop_requested = cse_stop_signal_came };
    if (equals == NULL || stat(value, &found) == 0)
        return CSE_OK;
    snprintf(name, sizeof name, "%.*s", (int)(equals - value), value);
    order->task = cse_language_task_named(name);
    order->path = equals + 1;
    if (order->task == NULL)
        return cse_fail(CSE_USAGE, "--tasks: there is no task %s; accepted: %s, each with =FILE",
                        name, cse_language_task_names());
    CSE_TRY(cse_option_integer(line, "num_fewshot", counts, &count));
    order->num_fewshot = (int)count;
    const char **examples = cse_option_all_values(line, "fewshot_data");
    const size_t size = strlen(name);
    for (int i = 0; examples[i] != NULL; i++)
        if (strncmp(examples[i], name, size) == 0 && examples[i][size] == '=')
            order->examples = examples[i] + size + 1;
    free(examples);
    return count == 0 || order->examples != NULL
               ? CSE_OK
               : cse_fail(CSE_USAGE,
                          "--num_fewshot: give the rows that stand before each question as "
                          "--fewshot_data %s=FILE",
                          name);
}

static cse_status measure_task(const cse_loaded_model *loaded, cse_text_codec *codec,
                               const cse_task_order *order, cse_table *table)
{
    cse_task_scores scores;
    cse_status status = cse_task_run(loaded->model, codec, order, &scores);
    for (int i = 0; status == CSE_OK && i <= scores.group_count; i++) {
        const cse_task_score *one = i < scores.group_count ? &scores.groups[i] : &scores.whole;
        if (table == NULL)
            print_score(order, one);
        else
            add_score(table, order, one);
    }
    free(scores.groups);
    return status;
}

static cse_status measure_file(const cse_loaded_model *loaded, cse_text_codec *codec,
                               const char *path, cse_table *table)
{
    cse_task_result result;
    CSE_TRY(cse_language_task_run(loaded->model, codec, path, cse_stop_signal_came, &result));
    if (table == NULL)
        print_json(path, &result);
    else
        add_rows(table, path, &result);
    return CSE_OK;
}

/* Options of tasks beside which there is none. */
static cse_status check_examples(const cse_command_line *line, const char **paths)
{
    bool some = false;
    for (int i = 0; paths[i] != NULL; i++) {
        cse_task_order order;
        CSE_TRY(read_order(line, paths[i], &order));
        some = some || order.task != NULL;
    }
    const char **examples = cse_option_all_values(line, "fewshot_data");
    cse_status status = CSE_OK;
    for (int i = 0; examples[i] != NULL && status == CSE_OK; i++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(examples[i], "="), examples[i]);
        if (strchr(examples[i], '=') == NULL || cse_language_task_named(name) == NULL)
            status = cse_fail(CSE_USAGE, "--fewshot_data %s: accepted: %s, each with =FILE",
                              examples[i], cse_language_task_names());
    }
    if (status == CSE_OK && !some &&
        (examples[0] != NULL || cse_option_value(line, "num_fewshot") != NULL))
        status = cse_fail(CSE_USAGE, "--num_fewshot and --fewshot_data are of tasks by name, as in "
                                     "--tasks mmlu=test.jsonl");
    free(examples);
    return status;
}

static cse_status evaluate(const cse_command_line *line, const cse_job_settings *settings)
{
    static const char *const heads[] = { "TASK", "MEASURE", "VALUE", "STDERR", NULL };
    cse_loaded_model loaded = { .model = NULL };
    const bool json = cse_option_is_on(line, "json");
    const char **paths = cse_option_all_values(line, "tasks");
    cse_text_codec *codec = NULL;
    cse_table *table = json ? NULL : cse_table_new(heads);
    cse_status status = check_examples(line, paths);
    if (status == CSE_OK)
        status = cse_loaded_model_open(settings, &loaded);
    if (status == CSE_OK)
        status = cse_text_codec_find(
            &(cse_text_codec_places){ .given = cse_option_value(line, "tokenizer"),
                                      .weights = loaded.path,
                                      .model_dir = settings->session.model_dir },
            cse_model_vocabulary(loaded.model), &codec);
    for (int i = 0; paths[i] != NULL && status == CSE_OK; i++) {
        cse_task_order order;
        status = read_order(line, paths[i], &order);
        if (status == CSE_OK)
            status = order.task != NULL ? measure_task(&loaded, codec, &order, table)
                                        : measure_file(&loaded, codec, paths[i], table);
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
    cse_status status = cse_model_prepare(line, &job);
    if (status == CSE_OK)
        status = evaluate(line, &job.settings);
    int exit_code = cse_report_diagnostics(status, &job.diagnostics);
    cse_finish();
    cse_job_clear(&job);
    return exit_code;
}
