/* The order of the rows is that of run/sweep/sweep_order.c. */
#include "cli/sweep/sweep_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal/printing.h"
#include "engine/base/escape.h"

enum { MOST_COLUMN = 28 };

static bool differs(const cse_sweep_state *state, int parameter, const int *list, int count)
{
    const char *first = cse_sweep_value(state->plan, list[0], parameter, state->arena);
    for (int i = 1; i < count; i++)
        if (strcmp(cse_sweep_value(state->plan, list[i], parameter, state->arena), first) != 0)
            return true;
    return false;
}

/* The last two words of a path say enough: SGD.lr. */
static const char *short_path(const char *path)
{
    const char *last = strrchr(path, '.');
    const char *at = last;
    while (at != NULL && at > path && at[-1] != '.')
        at--;
    return at != NULL && at != last ? at : path;
}

static void print_cell(FILE *out, const char *text, int width)
{
    cse_print_to(out, "  %*.*s", width, MOST_COLUMN, text);
}

static void print_row(FILE *out, const cse_sweep_state *state, int trial, const int *widths)
{
    char value[32] = "-";
    const cse_sweep_plan *plan = state->plan;
    const cse_sweep_result *result = &state->results[trial];
    if (result->failed)
        snprintf(value, sizeof value, "failed");
    else if (isfinite(result->value))
        snprintf(value, sizeof value, "%.6g", result->value);
    fprintf(out, "%5d", trial + 1);
    if (plan->method == CSE_SWEEP_HALVING)
        fprintf(out, "  %8lld", (long long)plan->rung_steps[result->rung]);
    print_cell(out, value, 12);
    for (int p = 0; p < plan->parameter_count; p++)
        if (widths[p] > 0)
            print_cell(out, cse_sweep_value(plan, trial, p, state->arena), widths[p]);
    if (result->failed)
        cse_print_to(out, "  %.60s", result->message);
    fprintf(out, "\n");
}

/* 0: all trials have the same value. */
static void measure(const cse_sweep_state *state, const int *list, int count, int *widths)
{
    for (int p = 0; p < state->plan->parameter_count; p++) {
        size_t most = strlen(short_path(state->plan->parameters[p].path));
        widths[p] = 0;
        if (count < 2 ? false : !differs(state, p, list, count))
            continue;
        for (int i = 0; i < count; i++) {
            const size_t length = strlen(cse_sweep_value(state->plan, list[i], p, state->arena));
            most = length > most ? length : most;
        }
        widths[p] = most < MOST_COLUMN ? (int)most : MOST_COLUMN;
    }
}

void cse_sweep_table_show(FILE *out, const cse_sweep_state *state)
{
    int count, widths[CSE_SWEEP_MOST_PARAMETERS];
    const cse_sweep_plan *plan = state->plan;
    int *list = cse_sweep_ordered(state, &count);
    if (list == NULL || count == 0) {
        free(list);
        return;
    }
    measure(state, list, count, widths);
    fprintf(out, "trial");
    if (plan->method == CSE_SWEEP_HALVING)
        fprintf(out, "  %8s", "steps");
    print_cell(out, plan->metric, 12);
    for (int p = 0; p < plan->parameter_count; p++)
        if (widths[p] > 0)
            print_cell(out, short_path(plan->parameters[p].path), widths[p]);
    fprintf(out, "\n");
    for (int i = 0; i < count; i++)
        print_row(out, state, list[i], widths);
    free(list);
}

json_t *cse_sweep_trial_json(const cse_sweep_state *state, int trial)
{
    const cse_sweep_plan *plan = state->plan;
    const cse_sweep_result *result = &state->results[trial];
    json_t *parameters = json_object();
    for (int p = 0; p < plan->parameter_count; p++)
        json_object_set_new(parameters, plan->parameters[p].path,
                            json_string(cse_sweep_value(plan, trial, p, state->arena)));
    return json_pack("{s:i, s:i, s:I, s:o, s:b, s:s, s:o}", "trial", trial + 1, "rung",
                     result->rung, "steps",
                     (json_int_t)(result->rung >= 0 ? plan->rung_steps[result->rung] : 0), "value",
                     isfinite(result->value) ? json_real(result->value) : json_null(), "failed",
                     result->failed, "message", result->message, "parameters", parameters);
}

static void add_csv_row(cse_text *table, const cse_sweep_state *state, int trial)
{
    const cse_sweep_plan *plan = state->plan;
    const cse_sweep_result *result = &state->results[trial];
    cse_text_add(table, "%d,%lld,%d,", trial + 1, (long long)plan->rung_steps[result->rung],
                 result->failed);
    if (isfinite(result->value))
        cse_text_add(table, "%.17g", result->value);
    cse_text_add(table, ",");
    cse_escape_csv(table, result->message);
    for (int p = 0; p < plan->parameter_count; p++) {
        cse_text_add(table, ",");
        cse_escape_csv(table, cse_sweep_value(plan, trial, p, state->arena));
    }
    cse_text_add(table, "\n");
}

static void print_csv(FILE *file, const cse_sweep_state *state)
{
    int count;
    int *list = cse_sweep_ordered(state, &count);
    cse_text table = { 0 };
    cse_text_add(&table, "trial,steps,failed,");
    cse_escape_csv(&table, state->plan->metric);
    cse_text_add(&table, ",message");
    for (int p = 0; p < state->plan->parameter_count; p++) {
        cse_text_add(&table, ",");
        cse_escape_csv(&table, state->plan->parameters[p].path);
    }
    cse_text_add(&table, "\n");
    for (int i = 0; list != NULL && i < count; i++)
        add_csv_row(&table, state, list[i]);
    fwrite(table.data, table.size, 1, file);
    cse_text_clear(&table);
    free(list);
}

cse_status cse_sweep_table_write_csv(const cse_sweep_state *state, const char *path)
{
    FILE *file = path != NULL ? fopen(path, "we") : stdout;
    if (file == NULL)
        return cse_fail(CSE_IO, "%s cannot be written: %s", path, strerror(errno));
    print_csv(file, state);
    const bool failed = fflush(file) != 0 || ferror(file) != 0;
    return (path != NULL && fclose(file) != 0) || failed
               ? cse_fail(CSE_IO, "%s cannot be written: %s", path != NULL ? path : "the table",
                          strerror(errno))
               : CSE_OK;
}

json_t *cse_sweep_table_json(const cse_sweep_state *state)
{
    int count;
    const int best = cse_sweep_best(state);
    int *list = cse_sweep_ordered(state, &count);
    json_t *trials = json_array();
    for (int i = 0; list != NULL && i < count; i++)
        json_array_append_new(trials, cse_sweep_trial_json(state, list[i]));
    free(list);
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "sweep", state->plan->name, "metric",
                     state->plan->metric, "goal", state->plan->maximizes ? "max" : "min", "best",
                     best >= 0 ? json_integer(best + 1) : json_null(), "trials", trials);
}
