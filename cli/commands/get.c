/* `csengine get`: the jobs of a server as a table, or the details of one job. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cli/client/client_command.h"
#include "cli/client/follow.h"
#include "cli/client/run_source.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "cli/terminal/table.h"

enum { PAGE = 200 };

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* ---- cells ---- */

/* From the start to the end, or to now. */
static double duration_s(const json_t *job)
{
    double started = cse_json_real(job, "started_ms", NAN);
    double ended = cse_json_real(job, "ended_ms", now_ms());
    return (ended - started) / 1e3;
}

static void add_labels(cse_text *text, const json_t *job)
{
    const char *key;
    json_t *value, *labels = json_object_get(job, "labels");
    json_object_foreach(labels, key, value)
        cse_text_add(text, "%s%s=%s", text->size > 0 ? "," : "", key, json_string_value(value));
}

/* "1200/4800 25%". */
static void add_progress(cse_text *text, const json_t *job)
{
    const json_t *progress = json_object_get(job, "progress");
    int64_t step = cse_json_whole(progress, "step", -1);
    int64_t last = cse_json_whole(progress, "last_step", -1);
    if (step < 0)
        return;
    cse_text_add(text, "%lld", (long long)step);
    if (last > 0)
        cse_text_add(text, "/%lld %d%%", (long long)last, (int)(100 * step / last));
}

/* "diverged, skipping". */
static void add_health(cse_text *text, const json_t *job)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(job, "health"), i, one)
        cse_text_add(text, "%s%s", text->size > 0 ? ", " : "", cse_json_text(one, "kind", ""));
}

static const char *shown(const cse_text *text)
{
    return text->data != NULL ? text->data : "";
}

static void add_row(cse_table *table, const json_t *job)
{
    char age[CSE_AGE_BYTES], duration[CSE_AGE_BYTES];
    cse_text labels = { 0 }, progress = { 0 }, health = { 0 };
    const char *reason = cse_json_text(job, "reason", "");
    add_labels(&labels, job);
    add_health(&health, job);
    add_progress(&progress, job);
    cse_table_add(table, "%s", cse_json_text(job, "id", ""));
    cse_table_add(table, "%s", cse_json_text(job, "name", ""));
    cse_table_add(table, "%s%s%s%s%s", cse_json_text(job, "state", ""), *reason != '\0' ? ":" : "",
                  reason, health.size > 0 ? " " : "", shown(&health));
    cse_table_add(table, "%s", cse_json_text(job, "priority", ""));
    double created = cse_json_real(job, "created_ms", NAN);
    cse_table_add(table, "%s", cse_age_text((now_ms() - created) / 1e3, age));
    cse_table_add(table, "%s", cse_age_text(duration_s(job), duration));
    cse_table_add(table, "%s", shown(&progress));
    cse_table_add(table, "%s", shown(&labels));
    cse_table_add(table, "%s", cse_json_text(job, "waiting_for", ""));
    cse_text_clear(&labels);
    cse_text_clear(&progress);
    cse_text_clear(&health);
}

/* ---- jobs ---- */

/* "RUNNING,PAUSED" means the same as repeating the option. */
static void add_states(cse_text *path, const char *states)
{
    char word[32];
    while (*states != '\0') {
        size_t length = strcspn(states, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, states);
        for (char *c = word; *c != '\0'; c++)
            if (*c >= 'a' && *c <= 'z')
                *c = (char)(*c - 'a' + 'A');
        cse_text_add(path, "&state=");
        cse_url_encode(path, word);
        states += length + (states[length] == ',');
    }
}

static void jobs_path(const cse_command_line *line, const char *page_token, cse_text *path)
{
    cse_text_add(path, "/api/v1/jobs?limit=%d", PAGE);
    for (int i = 0; i < line->option_count; i++) {
        const char *name = line->options[i].option->name, *value = line->options[i].value;
        if (strcmp(name, "state") == 0)
            add_states(path, value);
        else if (strcmp(name, "label") == 0 || strcmp(name, "name") == 0 ||
                 strcmp(name, "health") == 0 || strcmp(name, "where") == 0) {
            cse_text_add(path, "&%s=", name);
            cse_url_encode(path, value);
        }
    }
    if (page_token != NULL) {
        cse_text_add(path, "&page_token=");
        cse_url_encode(path, page_token);
    }
}

/* Joins all pages of the list into one response. */
static cse_status read_jobs(cse_client *api, const cse_command_line *line, json_t **list)
{
    cse_status status = CSE_OK;
    json_t *jobs = json_array();
    char *token = NULL;
    do {
        cse_text path = { 0 };
        cse_client_answer answer = { 0 };
        jobs_path(line, token, &path);
        free(token);
        token = NULL;
        status =
            cse_client_ask(api, line, &(cse_client_request){ .path = path.data }, false, &answer);
        if (status == CSE_OK) {
            const char *next = cse_json_text(answer.json, "next_page_token", NULL);
            token = next != NULL ? strdup(next) : NULL;
            json_array_extend(jobs, json_object_get(answer.json, "jobs"));
        }
        cse_client_answer_clear(&answer);
        cse_text_clear(&path);
    } while (status == CSE_OK && token != NULL);
    *list = json_pack("{s:o, s:n, s:I}", "jobs", jobs, "next_page_token", "total",
                      (json_int_t)json_array_size(jobs));
    return status;
}

static cse_status get_jobs(cse_client *api, const cse_command_line *line)
{
    static const char *const heads[] = { "ID",       "NAME",     "STATE",  "PRIORITY",    "AGE",
                                         "DURATION", "PROGRESS", "LABELS", "WAITING FOR", NULL };
    json_t *list = NULL, *job;
    size_t i;
    cse_status status = read_jobs(api, line, &list);
    if (status == CSE_OK && cse_option_is_on(line, "json")) {
        cse_json_print(list);
    } else if (status == CSE_OK) {
        cse_table *table = cse_table_new(heads);
        json_array_foreach(json_object_get(list, "jobs"), i, job) add_row(table, job);
        cse_table_print(table, stdout);
        cse_table_destroy(&table);
    }
    json_decref(list);
    return status;
}

/* ---- one job ---- */

static void show_text(const char *name, const char *text)
{
    if (text != NULL && *text != '\0')
        cse_print("%-17s %s\n", name, text);
}

static void show_time(const char *name, const json_t *job, const char *member)
{
    char text[40];
    struct tm local;
    time_t seconds = (time_t)(cse_json_whole(job, member, 0) / 1000);
    if (seconds == 0)
        return;
    localtime_r(&seconds, &local);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &local);
    show_text(name, text);
}

static void show_progress(const json_t *job)
{
    static const char *const members[] = { "loss", "minimum_loss", "samples_per_second",
                                           "steps_per_second" };
    const json_t *progress = json_object_get(job, "progress");
    const char *phase = cse_json_text(job, "phase", "");
    bool is_now = strcmp(phase, "train") == 0 || strcmp(phase, "save") == 0;
    char age[CSE_AGE_BYTES];
    cse_text text = { 0 };
    add_progress(&text, job);
    show_text("progress", shown(&text));
    cse_text_clear(&text);
    for (int i = 0; i < 4; i++)
        if (json_is_number(json_object_get(progress, members[i])))
            cse_print("%-17s %.6g%s\n",
                      i < 2    ? members[i]
                      : i == 2 ? "samples/s"
                               : "steps/s",
                      cse_json_real(progress, members[i], 0), i < 2 || is_now ? "" : " before");
    if (json_is_number(json_object_get(progress, "eta_seconds")))
        show_text("remaining", cse_age_text(cse_json_real(progress, "eta_seconds", -1), age));
}

/* "validate, batch 3 of 390". */
static void show_phase(const json_t *job)
{
    char text[128];
    const char *phase = cse_json_text(job, "phase", NULL);
    int64_t steps = cse_json_whole(job, "phase_steps", -1);
    if (phase == NULL)
        return;
    snprintf(text, sizeof text, "%s", phase);
    if (steps > 0)
        snprintf(text, sizeof text, "%s, %sbatch %lld of %lld", phase,
                 strcmp(phase, "validate") == 0 ? "" : "in a validation, ",
                 (long long)cse_json_whole(job, "phase_step", 0), (long long)steps);
    show_text("phase", text);
}

/* How often a lost process was replaced, what that cost, and the last one. */
static void show_recovery(const json_t *job)
{
    const json_t *recovery = json_object_get(job, "recovery");
    const json_t *last = json_object_get(recovery, "last");
    int64_t count = cse_json_whole(recovery, "count", 0);
    if (count > 0)
        cse_print("%-17s %lld, %.3f s in all; last: %s %s\n", "recoveries", (long long)count,
                  cse_json_real(recovery, "milliseconds", 0) / 1e3,
                  cse_json_text(last, "process", "a process"),
                  cse_json_text(last, "reason", "was lost"));
}

static void show_health(const json_t *job)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(job, "health"), i, one)
        cse_print("%-17s %s\n", cse_json_text(one, "kind", ""), cse_json_text(one, "message", ""));
}

static void show_job(const json_t *job)
{
    static const char *const texts[][2] = { { "id", "id" },
                                            { "name", "name" },
                                            { "state", "state" },
                                            { "reason", "reason" },
                                            { "message", "message" },
                                            { "waiting for", "waiting_for" },
                                            { "model", "model" },
                                            { "optimizer", "optimizer" },
                                            { "priority", "priority" },
                                            { "directory", "model_dir" } };
    static const char *const counts[] = { "attempt",          "num_csx", "batch_size",
                                          "micro_batch_size", "seed",    "exit_code" };
    char duration[CSE_AGE_BYTES];
    cse_text labels = { 0 };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        show_text(texts[i][0], cse_json_text(job, texts[i][1], ""));
        if (strcmp(texts[i][0], "state") == 0)
            show_phase(job);
    }
    show_health(job);
    show_recovery(job);
    add_labels(&labels, job);
    show_text("labels", shown(&labels));
    cse_text_clear(&labels);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (json_is_integer(json_object_get(job, counts[i])))
            cse_print("%-17s %lld\n", counts[i], (long long)cse_json_whole(job, counts[i], 0));
    show_time("created", job, "created_ms");
    show_time("started", job, "started_ms");
    show_time("ended", job, "ended_ms");
    show_text("duration", cse_age_text(duration_s(job), duration));
    if (json_is_true(json_object_get(job, "folder_gone")))
        show_text("folder is gone", cse_json_text(job, "model_dir", ""));
    const json_t *failure = json_object_get(job, "store_failure");
    show_time("not recorded since", failure, "since_ms");
    show_text("because", cse_json_text(failure, "message", ""));
    show_progress(job);
}

static cse_status get_job(const cse_command_line *line)
{
    cse_run_source from;
    cse_text body = { 0 };
    const bool json = cse_option_is_on(line, "json");
    if (line->argument_count < 2)
        return cse_fail(CSE_USAGE, "get job: the job's id is missing; `csengine get jobs` shows "
                                   "them");
    cse_status status = cse_run_source_open(line, line->arguments[1], &from);
    from.shows_problems = json;
    if (status == CSE_OK)
        status = cse_run_source_ask(&from, &(cse_run_question){ "", "getJob", NULL }, &body);
    if (status == CSE_OK && json) {
        cse_json_print_text(body.data);
    } else if (status == CSE_OK) {
        json_t *job = cse_json_from_others(body.data, body.size);
        show_job(job);
        json_decref(job);
    }
    cse_text_clear(&body);
    cse_run_source_close(&from);
    return status;
}

static int run(const cse_command_line *line)
{
    if (strcmp(line->arguments[0], "job") == 0)
        return cse_report(get_job(line));
    if (line->argument_count > 1)
        return cse_report(cse_fail(CSE_USAGE,
                                   "get jobs: \"%s\" is one argument too many; one job is shown by "
                                   "`csengine get job %s`",
                                   line->arguments[1], line->arguments[1]));
    return cse_client_command(line, get_jobs);
}

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    { "label", "K[=V]", NULL, "jobs: only those with this label; repeatable" },
    { "state", "STATE,...", NULL, "jobs: only those in one of these states" },
    { "health", "KIND,...", NULL,
      "jobs: only those with a finding of one of these kinds: diverged, plateau, overflowed, "
      "skipping, starving" },
    { "where", "EXPR", NULL,
      "jobs: only those for which it holds: 'state=FAILED', 'val_accuracy>0.8 lr<=0.01', "
      "'team=vision or not health=diverged'" },
    { "name", "TEXT", NULL, "jobs: only those with TEXT in their name or id" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "get jobs --state RUNNING", "the jobs that run" },
    { "get jobs --where 'min(val_loss)<2 optimizer.SGD.lr>0.01'",
      "the jobs with such a series and such a setting" },
    { "get jobs --health diverged,skipping", "the jobs whose training is in trouble" },
    { 0 },
};

const cse_command cse_command_get = {
    .name = "get",
    .group = CSE_GROUP_LOOK,
    .summary = "shows the jobs of a server, or one of them",
    .arguments = "jobs|job [JOB|MODEL_DIR]",
    .doc = "jobs: a table, newest first. job: the details of one.",
    .options = options,
    .letters = "l=label",
    .min_arguments = 1,
    .max_arguments = 2,
    .words = "jobs|job",
    .values = "state=@states health=diverged|plateau|overflowed|skipping|starving",
    .examples = examples,
    .run = run,
};
