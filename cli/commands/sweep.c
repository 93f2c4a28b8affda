/* `csengine sweep`: trains a configuration with many settings and compares them (cli/sweep). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/arguments/option_values.h"
#include "cli/client/client_command.h"
#include "cli/sweep/sweep_child.h"
#include "cli/sweep/sweep_run.h"
#include "cli/sweep/sweep_table.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"

typedef struct shown_sweep {
    const cse_sweep_state *state;
    bool json, quiet;
    const char *format; /* of the table: table, csv or json */
} shown_sweep;

static void show_begin(void *self, int trial, int rung)
{
    const shown_sweep *shown = self;
    const cse_sweep_plan *plan = shown->state->plan;
    if (shown->json || shown->quiet)
        return;
    cse_print_to(stderr, "trial %d of %d", trial + 1, plan->trials);
    if (plan->rungs > 1)
        cse_print_to(stderr, ", up to step %lld", (long long)plan->rung_steps[rung]);
    for (int p = 0; p < plan->parameter_count; p++)
        cse_print_to(stderr, ", %s %s", plan->parameters[p].path,
                     cse_sweep_value(plan, trial, p, shown->state->arena));
    fprintf(stderr, "\n");
}

static void show_result(void *self, int trial)
{
    const shown_sweep *shown = self;
    const cse_sweep_result *result = &shown->state->results[trial];
    if (shown->json) {
        json_t *line = cse_sweep_trial_json(shown->state, trial);
        json_object_set_new(line, "event", json_string("result"));
        cse_json_print(line);
        json_decref(line);
        fflush(stdout);
    } else if (!shown->quiet && result->failed) {
        cse_print_to(stderr, "trial %d failed: %s\n", trial + 1, result->message);
    } else if (!shown->quiet) {
        cse_print_to(stderr, "trial %d: %s %.6g\n", trial + 1, shown->state->plan->metric,
                     result->value);
    }
}

static void show_best(const cse_sweep_state *state, int best)
{
    cse_print("Best: trial %d, %s %.6g:", best + 1, state->plan->metric,
              state->results[best].value);
    for (int p = 0; p < state->plan->parameter_count; p++)
        cse_print(" --set %s=%s", state->plan->parameters[p].path,
                  cse_sweep_value(state->plan, best, p, state->arena));
    printf("\n");
}

static void show_json(json_t *value)
{
    cse_json_print(value);
    json_decref(value);
}

static cse_status show_end(const cse_command_line *line, const shown_sweep *shown)
{
    const cse_sweep_state *state = shown->state;
    const char *csv = cse_option_value(line, "csv");
    const int best = cse_sweep_best(state);
    if (csv != NULL)
        CSE_TRY(cse_sweep_table_write_csv(state, csv));
    if (shown->json) {
        show_json(json_pack("{s:s, s:s, s:i, s:o}", "event", "end", "metric", state->plan->metric,
                            "trials", state->plan->trials, "best",
                            best >= 0 ? cse_sweep_trial_json(state, best) : json_null()));
    } else if (strcmp(shown->format, "json") == 0) {
        show_json(cse_sweep_table_json(state));
    } else if (strcmp(shown->format, "csv") == 0) {
        CSE_TRY(cse_sweep_table_write_csv(state, NULL));
    } else {
        cse_sweep_table_show(stdout, state);
        if (best >= 0)
            show_best(state, best);
    }
    return best >= 0
               ? CSE_OK
               : cse_fail(CSE_FAILED, "sweep: no trial has a value of %s", state->plan->metric);
}

static cse_status read_format(const cse_command_line *line, const char **format)
{
    static const char *const formats[] = { "table", "csv", "json", NULL };
    *format = formats[0];
    CSE_TRY(cse_option_word(line, "format", formats, format));
    return cse_option_value(line, "format") == NULL || !cse_option_is_on(line, "json")
               ? CSE_OK
               : cse_fail(CSE_USAGE, "sweep: --json prints lines of events in the place of the "
                                     "table: give --format or --json");
}

/* A server is asked where it is named: one that happens to run is none of the sweep's. */
static cse_status open_server(const cse_command_line *line, cse_client **api)
{
    *api = NULL;
    return cse_option_value(line, "server") != NULL ? cse_client_open(line, api) : CSE_OK;
}

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* The trials of a queue whose root is named stand below it, where its server shows them; but a
 * sweep that has begun here goes on here. */
static const char *folder_of(const cse_command_line *line, const char *name, cse_arena *arena)
{
    const char *given = cse_option_value(line, "folder");
    const char *server = cse_option_value(line, "server");
    const char *here = cse_arena_printf(arena, "sweeps/%s", name);
    if (given != NULL)
        return given;
    return server != NULL && is_folder(server) && !is_folder(here)
               ? cse_arena_printf(arena, "%s/sweeps/%s", server, name)
               : here;
}

static cse_status sweep(const cse_command_line *line, cse_arena *arena)
{
    cse_sweep_plan plan;
    cse_sweep_state state;
    cse_client *api = NULL;
    const char *format;
    CSE_TRY(read_format(line, &format));
    CSE_TRY(cse_sweep_plan_read(arena, line->arguments[0], &plan));
    cse_status status =
        cse_sweep_state_open(&plan, folder_of(line, plan.name, arena), arena, &state);
    shown_sweep shown = { .state = &state,
                          .json = cse_option_is_on(line, "json"),
                          .quiet = cse_option_is_on(line, "quiet"),
                          .format = format };
    if (status == CSE_OK)
        status = open_server(line, &api);
    if (status == CSE_OK) {
        cse_sweep_take_signals();
        status = cse_sweep_run_all(&(cse_sweep_run){ .state = &state,
                                                     .api = api,
                                                     .self = &shown,
                                                     .on_begin = show_begin,
                                                     .on_result = show_result });
    }
    if (status == CSE_OK)
        status = show_end(line, &shown);
    cse_client_close(&api);
    cse_sweep_state_close(&state);
    return status;
}

static int run(const cse_command_line *line)
{
    cse_arena *arena = cse_arena_new();
    const int exit_code = cse_report(sweep(line, arena));
    cse_arena_destroy(&arena);
    return exit_code;
}

static const cse_option options[] = {
    { "folder", "DIR", NULL,
      "of the sweep's trials; default sweeps/NAME, with --server ROOT below it" },
    { "server", "URL", NULL,
      "trains in the queue of this server (http://HOST:PORT, unix:PATH or a local server's "
      "--root); "
      "default: one after another, without a server" },
    { "token_file", "FILE", NULL, "file with the server's token; default: $CSE_TOKEN_FILE" },
    { "format", "FORMAT", NULL, "of the table: table (default), csv, json (one document)" },
    { "csv", "FILE", NULL, "writes the table as comma-separated values" },
    { "json", NULL, NULL, "prints a line of JSON for each result, and for the best" },
    { "quiet", NULL, NULL, "prints only the table" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "sweep sweep.yaml", "trains its trials and shows them, the best first" },
    { "sweep sweep.yaml --server unix:run.sock", "the same as jobs with the label sweep=NAME" },
    { 0 },
};

static const cse_command_note files[] = {
    { "sweeps/NAME/trials.jsonl", "what is known of the trials; the same command goes on with it" },
    { "sweeps/NAME/trial_0001", "model_dir of a trial that was trained here" },
    { 0 },
};

const cse_command cse_command_sweep = {
    .name = "sweep",
    .group = CSE_GROUP_MEASURE,
    .summary = "trains a configuration with many settings, and compares them",
    .arguments = "SWEEP.yaml",
    .doc = "Trials are all combinations (grid), drawn by a seed (random), or drawn and of each\n"
           "round only the best trained further (halving). The last value of a series is\n"
           "compared. A sweep that ended in any way goes on with the same command; a trial that\n"
           "fails is a row of the table.",
    .options = options,
    .letters = "q=quiet",
    .min_arguments = 1,
    .max_arguments = 1,
    .values = "format=table|csv|json",
    .examples = examples,
    .files = files,
    .run = run,
};
