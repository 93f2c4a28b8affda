/* `csengine submit`: puts a job into a server's queue.
 *
 * It sends the configuration's text instead of its path, since the server may be another machine
 * and the file may change while the job waits. An idempotency key lets it repeat a submission after
 * a lost connection without creating two jobs. Before submission the server checks the
 * configuration and traces the step, so that errors are reported immediately. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/option_values.h"
#include "cli/client/client_command.h"
#include "cli/client/follow.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "engine/base/log.h"

enum { MAX_CONFIG_BYTES = 1 << 20 };

static cse_status read_config(const char *path, cse_text *text)
{
    bool is_input = strcmp(path, "-") == 0;
    FILE *file = is_input ? stdin : fopen(path, "re");
    char buffer[65536];
    size_t size;
    if (file == NULL)
        return cse_fail(errno == EACCES ? CSE_PERMISSION : CSE_NO_INPUT, "%s cannot be opened: %s",
                        path, strerror(errno));
    while ((size = fread(buffer, 1, sizeof buffer, file)) > 0 && text->size <= MAX_CONFIG_BYTES)
        cse_text_add_bytes(text, buffer, size);
    int failed = ferror(file);
    if (!is_input)
        fclose(file);
    if (failed)
        return cse_fail(CSE_IO, "%s cannot be read", path);
    if (text->size == 0 || text->size > MAX_CONFIG_BYTES || strlen(text->data) != text->size)
        return cse_fail(CSE_DATA, "%s: a configuration is text of 1 to %d bytes", path,
                        MAX_CONFIG_BYTES);
    return CSE_OK;
}

/* An executable file, as opposed to a text. */
static bool is_program(const char *path)
{
    static const char mark[] = { 0x7f, 'E', 'L', 'F' };
    char start[sizeof mark] = "";
    FILE *file = strcmp(path, "-") != 0 ? fopen(path, "re") : NULL;
    const size_t size = file != NULL ? fread(start, 1, sizeof start, file) : 0;
    if (file != NULL)
        fclose(file);
    return size == sizeof mark && memcmp(start, mark, sizeof mark) == 0;
}

/* Its path is sent, since it stays where the operator of the server allowed it. */
static cse_status add_program(const cse_command_line *line, json_t *spec)
{
    char *path = realpath(line->arguments[0], NULL);
    if (path == NULL)
        return cse_fail(CSE_NO_INPUT, "%s: %s", line->arguments[0], strerror(errno));
    json_object_set_new(spec, "program", json_string(path));
    free(path);
    json_t *arguments = json_array();
    for (int i = 1; i < line->argument_count; i++)
        json_array_append_new(arguments, json_string(line->arguments[i]));
    json_object_set_new(spec, "arguments", arguments);
    return CSE_OK;
}

static cse_status add_config(const cse_command_line *line, json_t *spec)
{
    cse_text config = { 0 };
    if (line->argument_count > 1)
        return cse_fail(CSE_USAGE,
                        "submit: \"%s\" is one argument too many: %s is a configuration, and only "
                        "a program takes arguments",
                        line->arguments[1], line->arguments[0]);
    cse_status status = read_config(line->arguments[0], &config);
    if (status == CSE_OK)
        json_object_set_new(spec, "config", json_string(config.data));
    cse_text_clear(&config);
    CSE_TRY(status);
    if (json_object_get(spec, "config") == NULL)
        return cse_fail(CSE_DATA, "%s is no text in UTF-8", line->arguments[0]);
    return CSE_OK;
}

static cse_status add_labels(const cse_command_line *line, json_t *spec)
{
    json_t *labels = json_object();
    json_object_set_new(spec, "labels", labels);
    for (int i = 0; i < line->option_count; i++) {
        if (strcmp(line->options[i].option->name, "label") != 0)
            continue;
        const char *label = line->options[i].value, *equals = strchr(label, '=');
        if (equals == NULL || equals == label)
            return cse_fail(CSE_USAGE, "submit: --label %s: key=value is accepted", label);
        char *key = strndup(label, (size_t)(equals - label));
        json_object_set_new(labels, key, json_string(equals + 1));
        free(key);
    }
    return CSE_OK;
}

static cse_status add_overrides(const cse_command_line *line, json_t *spec)
{
    cse_config_override *overrides = NULL;
    int count = 0;
    CSE_TRY(cse_command_line_overrides(line, &overrides, &count));
    json_t *object = json_object();
    for (int i = 0; i < count; i++)
        json_object_set_new(object, overrides[i].path, json_string(overrides[i].value));
    free(overrides);
    json_object_set_new(spec, "overrides", object);
    return CSE_OK;
}

/* "JOB" or "JOB@STEP". */
static cse_status add_origin(const char *given, json_t *spec)
{
    if (given == NULL)
        return CSE_OK;
    const char *at = strchr(given, '@');
    char *end = NULL, *job = strndup(given, at != NULL ? (size_t)(at - given) : strlen(given));
    long long step = at != NULL ? strtoll(at + 1, &end, 10) : 0;
    json_t *origin = json_pack("{s:s}", "job", job);
    free(job);
    json_object_set_new(spec, "resume_from", origin);
    if (at == NULL)
        return CSE_OK;
    if (end == at + 1 || *end != '\0' || step < 0)
        return cse_fail(CSE_USAGE, "submit: --resume_from %s: JOB or JOB@STEP is accepted", given);
    json_object_set_new(origin, "step", json_integer(step));
    return CSE_OK;
}

/* A count as a member of `object`; absent when the option was not given. */
static cse_status add_count(const cse_command_line *line, const char *option, json_t *object)
{
    static const int64_t range[] = { 0, INT64_MAX };
    int64_t count = -1;
    CSE_TRY(cse_option_integer(line, option, range, &count));
    if (count >= 0)
        json_object_set_new(object, option, json_integer(count));
    return CSE_OK;
}

static cse_status fill_spec(const cse_command_line *line, json_t *spec)
{
    static const char *const switches[] = { "compile_only", "validate_only" };
    static const char *const words[] = { "name", "priority", "launcher", "launcher_options" };
    const bool program = is_program(line->arguments[0]);
    CSE_TRY(program ? add_program(line, spec) : add_config(line, spec));
    for (int i = 0; i < 4; i++) {
        const char *word = cse_option_value(line, words[i]);
        if (word != NULL)
            json_object_set_new(spec, words[i], json_string(word));
    }
    for (int i = 0; i < 2; i++) {
        if (cse_option_is_on(line, switches[i]))
            json_object_set_new(spec, switches[i], json_true());
    }
    CSE_TRY(add_labels(line, spec));
    CSE_TRY(add_overrides(line, spec));
    if (program && json_object_size(json_object_get(spec, "overrides")) == 0)
        json_object_del(spec, "overrides");
    CSE_TRY(add_origin(cse_option_value(line, "resume_from"), spec));
    json_t *resources = json_object(), *policy = json_object();
    json_object_set_new(spec, "resources", resources);
    json_object_set_new(spec, "restart_policy", policy);
    CSE_TRY(add_count(line, "cores", resources));
    CSE_TRY(add_count(line, "memory_bytes", resources));
    return add_count(line, "max_num_restarts", policy);
}

static void print_warnings(const char *source, const json_t *warnings)
{
    size_t i;
    json_t *one;
    json_array_foreach((json_t *)(uintptr_t)warnings, i, one)
    {
        const char *message = cse_json_text(one, "message", "");
        long long at = (long long)cse_json_whole(one, "line", 0);
        if (at > 0)
            cse_log_line(CSE_LOG_WARNING, "%s:%lld:%lld: %s", source, at,
                         (long long)cse_json_whole(one, "column", 1), message);
        else
            cse_log_line(CSE_LOG_WARNING, "%s", message);
    }
}

static cse_status check(cse_client *api, const cse_command_line *line, const json_t *spec)
{
    cse_client_answer answer = { 0 };
    if (cse_option_is_on(line, "no_check") || json_object_get(spec, "config") == NULL)
        return CSE_OK;
    json_t *body = json_pack("{s:O, s:O, s:s}", "config", json_object_get(spec, "config"),
                             "overrides", json_object_get(spec, "overrides"), "depth", "step");
    const cse_client_request request = { .method = "POST",
                                         .path = "/api/v1/config:validate",
                                         .body = body };
    cse_status status = cse_client_ask(api, line, &request, false, &answer);
    if (status == CSE_OK)
        print_warnings(line->arguments[0], json_object_get(answer.json, "warnings"));
    if (status == CSE_OK && json_is_false(json_object_get(answer.json, "valid"))) {
        if (cse_option_is_on(line, "json"))
            cse_json_print_text(answer.body.data);
        status = cse_client_faults(api, 422, "the configuration is wrong",
                                   json_object_get(answer.json, "diagnostics"));
    }
    cse_client_answer_clear(&answer);
    json_decref(body);
    return status;
}

static cse_status send(cse_client *api, const cse_command_line *line, const json_t *spec)
{
    const char *id = cse_option_value(line, "id");
    char key[CSE_IDEMPOTENCY_KEY_BYTES];
    cse_text path = { 0 };
    cse_client_answer answer = { 0 };
    cse_new_idempotency_key(key);
    bool follow = cse_option_is_on(line, "follow");
    cse_status status = CSE_OK;
    if (id != NULL)
        status = cse_client_job_path(&path, id, "");
    cse_client_request request = { .method = id != NULL ? "PUT" : "POST",
                                   .path = id != NULL ? path.data : "/api/v1/jobs",
                                   .body = spec,
                                   .idempotency_key = id != NULL ? NULL : key };
    if (status == CSE_OK)
        status = cse_client_ask(api, line, &request, true, &answer);
    if (status == CSE_OK && !cse_option_is_on(line, "json"))
        cse_print("%s %s\n", cse_json_text(answer.json, "id", "?"),
                  cse_json_text(answer.json, "state", "?"));
    fflush(stdout);
    const cse_follow_options options = { .id = cse_json_text(answer.json, "id", ""),
                                         .json = cse_option_is_on(line, "json") };
    if (status == CSE_OK && follow)
        status = cse_follow_job(api, &options);
    cse_client_answer_clear(&answer);
    cse_text_clear(&path);
    return status;
}

static cse_status body(cse_client *api, const cse_command_line *line)
{
    json_t *spec = json_object();
    cse_client_name_source(api,
                           strcmp(line->arguments[0], "-") == 0 ? "stdin" : line->arguments[0]);
    cse_status status = fill_spec(line, spec);
    if (status == CSE_OK)
        status = check(api, line, spec);
    if (status == CSE_OK)
        status = send(api, line, spec);
    json_decref(spec);
    return status;
}

static int run(const cse_command_line *line)
{
    return cse_client_command(line, body);
}

static const cse_option options[] = {
    CSE_CLIENT_OPTIONS,
    { "id", "ID", NULL, "the job's id; default: chosen by the server" },
    { "name", "TEXT", NULL, "a display name" },
    { "label", "K=V", NULL, "a label; repeatable" },
    { "priority", "pN", NULL,
      "p0 (first) to p3; default: the configuration's job_priority, else p2" },
    { "resume_from", "JOB[@STEP]", NULL,
      "starts from another job's checkpoint: the last one, or that of STEP" },
    { "cores", "N", NULL,
      "cores that the job takes, at least as many as its plan says; 0: so many" },
    { "memory_bytes", "N", NULL,
      "memory that the job takes, and the limit of each of its processes; 0: as its plan says, and "
      "no limit" },
    { "launcher", "local|slurm", NULL,
      "slurm: as a batch job, where the server was started with --allow_launcher slurm" },
    { "launcher_options", "TEXT", NULL,
      "options of sbatch, as in '--nodes=4 --time=24:00:00 --partition=long'" },
    { "max_num_restarts", "N", NULL, "most restarts after temporary failures" },
    { "num_csx", "N", "backend.cluster_config.num_csx", NULL },
    { "job_time_sec", "N", "backend.cluster_config.job_time_sec", NULL },
    { "seed", "N", "seed", NULL },
    { "max_steps", "N", "loop.max_steps", NULL },
    { "set", "PATH=VALUE", NULL, "changes any setting, as in --set loop.num_steps=100" },
    { "no_check", NULL, NULL,
      "submits without asking for a check first; the server makes it in any case" },
    { "compile_only", NULL, NULL, "compile and cache the step, run nothing" },
    { "validate_only", NULL, NULL, "trace and check the step, compile and run nothing" },
    { "follow", NULL, NULL, "shows the job until its end; exit code 1 when it fails" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "submit configs/fc_mnist.yaml --priority p1 --follow",
      "puts a job into the queue and shows it until its end" },
    { "submit ./train -- 3", "the same for a program of your own, with its arguments" },
    { 0 },
};

const cse_command cse_command_submit = {
    .name = "submit",
    .group = CSE_GROUP_STEER,
    .summary = "puts a job into the queue of a server",
    .arguments = "CONFIG.yaml|-|PROGRAM [-- ARGUMENT...]",
    .doc =
        "Prints the job's id. Ctrl-C ends --follow but not the job. The server chooses model_dir.\n"
        "A program of your own, built against the library, is a job as well where the server\n"
        "was started with --allow_program for its folder; its model_dir is that of the job.",
    .options = options,
    .letters = "f=follow l=label",
    .min_arguments = 1,
    .max_arguments = 65,
    .values = "priority=p0|p1|p2|p3 launcher=local|slurm",
    .examples = examples,
    .run = run,
};
