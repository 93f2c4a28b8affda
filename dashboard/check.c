/* A configuration is checked in two rounds: its settings and its plugins' settings against their
 * tables here, in a millisecond; then what plugins make of them, and the step, by a `csengine start
 * --validate_only --json` with bounded time, since they may run a model's code. That process ends
 * with an event that holds its errors by their fields. A round tells every error it finds; the
 * second begins only where the first finds none. */
#include "dashboard/check.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dashboard/checker.h"
#include "dashboard/job_limits.h"
#include "engine/base/arena.h"
#include "engine/base/config/config_effects.h"
#include "engine/base/config/settings.h"
#include "engine/base/directory.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "run/job/kinds.h"

enum { MOST_OVERRIDES = 256, MOST_LIMITS = 256 };

static const char source[] = "config.yaml";

/* ---- messages ---- */

static void add_text(json_t *diagnostics, const char *message)
{
    json_array_append_new(diagnostics,
                          json_pack("{s:s, s:s}", "severity", "error", "message", message));
}

static void add_error(json_t *list, const char *severity, const cse_error *error)
{
    json_t *diagnostic = cse_error_json(error);
    json_object_set_new(diagnostic, "severity", json_string(severity));
    json_array_append_new(list, diagnostic);
}

static void add_warnings(const cse_config *config, json_t *warnings)
{
    cse_error *list = NULL;
    int count = cse_config_without_effect(config, &list);
    for (int i = 0; i < count; i++)
        add_error(warnings, "warning", &list[i]);
}

static void warn_of_library(json_t *warnings)
{
    json_array_append_new(
        warnings,
        json_pack("{s:s, s:s}", "severity", "warning", "message",
                  "a library is not loaded merely to validate: the settings of its plugins, the "
                  "step and the data were not checked; a job does so when it starts"));
}

/* ---- in this process ---- */

/* Of the greatest of the numbers that the configuration gives. */
static void note_place_of_processes(const cse_settings *cluster, cse_config_facts *facts)
{
    static const char *const names[] = { "num_csx", "num_workers_per_csx", "max_wgt_servers" };
    int64_t most = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const int64_t count = cse_settings_integer(cluster, names[i]);
        if (!cse_settings_has(cluster, names[i]) || count <= most)
            continue;
        const cse_place place = cse_settings_place(cluster, names[i]);
        most = count;
        facts->processes_line = place.line;
        facts->processes_column = place.column;
    }
}

static void read_facts(const cse_config *config, cse_config_facts *facts)
{
    const cse_settings *cluster = cse_config_section_view(config, "init.backend.cluster_config");
    facts->replicas = cse_settings_integer(cluster, "num_csx");
    facts->workers_per_replica = cse_settings_integer(cluster, "num_workers_per_csx");
    facts->weight_servers = cse_settings_integer(cluster, "max_wgt_servers");
    note_place_of_processes(cluster, facts);
    if (cse_settings_has(cluster, "job_priority"))
        facts->priority = cse_settings_text(cluster, "job_priority")[1] - '0';
    facts->has_library = cse_config_has_library(config);
    facts->names_hosts = cse_settings_count(cluster, "hosts") > 0;
    facts->label_words = json_array();
    for (int i = 0; i < cse_settings_count(cluster, "job_labels"); i++)
        json_array_append_new(facts->label_words,
                              json_string(cse_settings_text_at(cluster, "job_labels", i)));
}

/* "PATH=VALUE", the value as `--set` takes it: words stand as they are. The caller frees it. */
static char *setting_text(const char *path, const json_t *value)
{
    char *json = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    cse_text text = { 0 };
    cse_text_add(&text, "%s=%s", path, json_is_string(value) ? json_string_value(value) : json);
    free(json);
    return text.data;
}

/* The overrides as a command line would have them. Release with clear_overrides. */
static int read_overrides(const json_t *overrides, cse_config_override **list)
{
    int count = 0;
    const char *path;
    json_t *value;
    *list = cse_calloc(json_object_size(overrides) + 1, sizeof **list);
    json_object_foreach((json_t *)(uintptr_t)overrides, path, value)
    {
        char *text = setting_text(path, value), *origin = NULL;
        if (asprintf(&origin, "--set %s", path) < 0)
            origin = cse_strdup("--set");
        (*list)[count++] = (cse_config_override){ .path = cse_strdup(path),
                                                  .value = cse_strdup(text + strlen(path) + 1),
                                                  .origin = origin };
        free(text);
    }
    return count;
}

static void clear_overrides(cse_config_override *list, int count)
{
    for (int i = 0; i < count; i++) {
        free((char *)(uintptr_t)list[i].path);
        free((char *)(uintptr_t)list[i].value);
        free((char *)(uintptr_t)list[i].origin);
    }
    free(list);
}

bool cse_check_settings(const cse_check *check, const cse_check_result *result,
                        cse_config_facts *facts)
{
    cse_config_override *list = NULL;
    int count = read_overrides(check->overrides, &list);
    const cse_config_text text = { .source = source,
                                   .yaml = check->yaml,
                                   .overrides = list,
                                   .override_count = count,
                                   .kinds = cse_kinds,
                                   .confinement = check->confinement };
    cse_config *config = NULL;
    cse_diagnostics found = { 0 };
    cse_status status = cse_config_check(&text, &found, &config);
    if (status == CSE_OK && facts != NULL)
        read_facts(config, facts);
    if (status == CSE_OK)
        add_warnings(config, result->warnings);
    else if (found.count == 0)
        add_error(result->diagnostics, "error", cse_error_last());
    for (int i = 0; i < found.count; i++)
        add_error(result->diagnostics, "error", found.errors[i]);
    cse_diagnostics_clear(&found);
    clear_overrides(list, count);
    cse_config_destroy(&config);
    return status == CSE_OK;
}

/* ---- in a process of its own ---- */

static cse_status write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wxe");
    bool written = file != NULL && fputs(text, file) >= 0;
    if (file != NULL && fclose(file) != 0)
        written = false;
    return written ? CSE_OK : cse_fail(CSE_TEMPORARY, "%s: %s", path, strerror(errno));
}

/* The words of the command line; each is freed by the caller, the array is one allocation. */
static char **make_words(const cse_check *check, const char *directory)
{
    static const char *const fixed[] = { "--validate_only", "--json", "--no_dashboard" };
    char **words = cse_calloc(2 * MOST_OVERRIDES + MOST_LIMITS + 16, sizeof *words);
    int n = 0;
    words[n++] = cse_strdup(check->executable);
    words[n++] = cse_strdup("start");
    if (asprintf(&words[n], "%s/%s", directory, source) >= 0)
        n++;
    if (check->folder != NULL ? asprintf(&words[n], "--model_dir=%s", check->folder) >= 0
                              : asprintf(&words[n], "--model_dir=%s/run", directory) >= 0)
        n++;
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        words[n++] = cse_strdup(fixed[i]);
    n += cse_job_limits_words(check->confinement, words + n, MOST_LIMITS);
    const char *path;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)check->overrides, path, value)
    {
        words[n++] = cse_strdup("--set");
        words[n++] = setting_text(path, value);
        if (n > 2 * MOST_OVERRIDES + MOST_LIMITS)
            break;
    }
    return words;
}

static void take_diagnostic(json_t *list, const char *severity, json_t *diagnostic)
{
    json_object_del(diagnostic, "event");
    json_object_set_new(diagnostic, "severity", json_string(severity));
    json_array_append(list, diagnostic);
}

/* What the plan says: fewer replicas than the settings where the batch has fewer microbatches. */
static void take_needs(const json_t *needs, cse_config_facts *facts)
{
    const int64_t replicas = json_integer_value(json_object_get(needs, "replicas"));
    if (replicas < 1)
        return;
    facts->replicas = replicas;
    facts->weight_servers = json_integer_value(json_object_get(needs, "weight_servers"));
    facts->memory_bytes = json_integer_value(json_object_get(needs, "memory_bytes"));
}

/* The warnings on the way, and the diagnostics of the event that ends the output (see
 * cli/progress.h); false without one. */
static bool take_events(const char *output, const cse_check_result *result, cse_config_facts *facts)
{
    bool ended = false;
    while (output != NULL && *output != '\0' && !ended) {
        size_t length = strcspn(output, "\n"), i;
        json_t *event = json_loadb(output, length, 0, NULL), *one;
        const char *kind = json_string_value(json_object_get(event, "event"));
        bool warns = kind != NULL && strcmp(kind, "warning") == 0;
        ended = kind != NULL && strcmp(kind, "end") == 0;
        if (warns) /* takes the event's members */
            take_diagnostic(result->warnings, "warning", event);
        if (ended)
            take_needs(json_object_get(event, "needs"), facts);
        if (ended)
            json_array_foreach(json_object_get(event, "diagnostics"), i, one)
                take_diagnostic(result->diagnostics, "error", one);
        json_decref(event);
        output += length + (output[length] == '\n');
    }
    return ended;
}

static void take_result(const cse_text *output, cse_checker_end end, const cse_check_result *result,
                        cse_config_facts *facts)
{
    json_array_clear(result->warnings); /* the process tells those of the settings, too */
    if (end == CSE_CHECKER_LATE)
        add_text(result->diagnostics,
                 "the check took too long: the step may be too large to be traced here");
    else if (!take_events(output->data, result, facts) && end != CSE_CHECKER_SUCCEEDED)
        add_text(result->diagnostics,
                 "the process that checks the step ended before it had a result: it crashed, or "
                 "used more time or memory than a check may");
}

static cse_status check_step(const cse_check *check, const char *directory,
                             const cse_check_result *result, cse_config_facts *facts)
{
    char path[PATH_MAX];
    cse_text output = { 0 };
    snprintf(path, sizeof path, "%s/%s", directory, source);
    CSE_TRY(write_file(path, check->yaml));
    char **words = make_words(check, directory);
    const cse_checker_call call = { .words = words, .client = check->client };
    cse_checker_end end = CSE_CHECKER_ENDED;
    cse_status status = cse_checker_run(&call, &output, &end);
    for (int i = 0; words[i] != NULL; i++)
        free(words[i]);
    free(words);
    if (status == CSE_OK)
        take_result(&output, end, result, facts);
    cse_text_clear(&output);
    return status;
}

cse_status cse_check_configuration(const cse_check *check, const cse_check_result *result,
                                   cse_config_facts *facts)
{
    const bool right = cse_check_settings(check, result, facts);
    if (!right || check->executable == NULL)
        return CSE_OK;
    if (facts->has_library) {
        warn_of_library(result->warnings);
        return CSE_OK;
    }
    char directory[] = "/tmp/csengine-check-XXXXXX";
    if (mkdtemp(directory) == NULL)
        return cse_fail(CSE_TEMPORARY, "%s: %s", directory, strerror(errno));
    cse_status status = check_step(check, directory, result, facts);
    cse_remove_tree(directory);
    return status;
}
