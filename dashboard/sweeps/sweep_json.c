/* What is best so far follows the lines of the file, by the rule of the command's table. */
#include "dashboard/sweeps/sweep_json.h"

#include <math.h>
#include <stdlib.h>

#include "dashboard/api/route.h"
#include "dashboard/sweeps/sweep_order.h"
#include "dashboard/sweeps/sweep_trials.h"
#include "engine/base/arena.h"

static json_t *number_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *trial_number(int trial)
{
    return trial >= 0 ? json_integer(trial + 1) : json_null();
}

/* Steps of a rung; null: as the configuration says. */
static json_t *steps_json(const cse_sweep_plan *plan, int rung)
{
    return rung >= 0 && plan->rung_steps[rung] > 0 ? json_integer(plan->rung_steps[rung])
                                                   : json_null();
}

/* ---- the plan ---- */

static json_t *texts_json(const char *const *texts, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, cse_text_json(texts[i]));
    return list;
}

static json_t *parameter_json(const cse_sweep_parameter *p)
{
    static const char *const kinds[] = { "choice", "uniform", "log_uniform", "int" };
    const bool is_choice = p->kind == CSE_SWEEP_CHOICE;
    return json_pack("{s:o, s:s, s:o, s:o, s:o}", "path", cse_text_json(p->path), "kind",
                     kinds[p->kind], "low", is_choice ? json_null() : number_json(p->low), "high",
                     is_choice ? json_null() : number_json(p->high), "values",
                     is_choice ? texts_json(p->values, p->count) : json_null());
}

static json_t *parameters_json(const cse_sweep_plan *plan)
{
    json_t *list = json_array();
    for (int p = 0; p < plan->parameter_count; p++)
        json_array_append_new(list, parameter_json(&plan->parameters[p]));
    return list;
}

/* ---- rungs ---- */

static json_t *rung_json(const cse_sweep_log *log, int rung, const int *members, int count)
{
    const cse_sweep_plan *plan = &log->plan;
    json_t *list = json_array();
    int tried = 0, failed = 0;
    for (int i = 0; i < count; i++) {
        const cse_sweep_result *result = &log->state.results[members[i]];
        json_array_append_new(list, json_integer(members[i] + 1));
        tried += result->rung >= rung;
        failed += result->rung == rung && result->failed;
    }
    return json_pack("{s:o, s:i, s:i, s:i, s:o}", "steps", steps_json(plan, rung), "planned",
                     plan->rung_trials[rung], "tried", tried, "failed", failed, "trials", list);
}

/* Those behind the present one have no trials yet. */
static json_t *rungs_json(const cse_sweep_log *log, int current)
{
    json_t *list = json_array();
    int *members = cse_calloc((size_t)log->plan.trials, sizeof *members);
    for (int rung = 0; rung < log->plan.rungs; rung++) {
        const int count = rung <= current ? cse_sweep_trials_of(&log->state, rung, members) : 0;
        json_array_append_new(list, rung_json(log, rung, members, count));
    }
    free(members);
    return list;
}

/* ---- what was found, in its order ---- */

static bool has_value(const cse_sweep_result *result)
{
    return !result->failed && isfinite(result->value);
}

/* One that was the best may fail later. */
static int next_best(const cse_sweep_state *state, int trial, int best)
{
    if (trial == best)
        return has_value(&state->results[trial]) ? best : cse_sweep_best(state);
    if (!has_value(&state->results[trial]))
        return best;
    return best < 0 || cse_sweep_leads(state, trial, best) ? trial : best;
}

static json_t *point_json(const cse_sweep_log *log, const cse_sweep_entry *entry, int best)
{
    const cse_sweep_result *result = &entry->result;
    return json_pack("{s:i, s:i, s:o, s:o, s:o, s:b, s:o}", "trial", entry->trial + 1, "rung",
                     result->rung, "steps", steps_json(&log->plan, result->rung), "time_ms",
                     entry->time_ms > 0 ? json_integer(entry->time_ms) : json_null(), "value",
                     number_json(result->value), "failed", result->failed, "best",
                     trial_number(best));
}

static json_t *history_json(const cse_sweep_log *log)
{
    json_t *list = json_array();
    const int trials = log->plan.trials;
    cse_sweep_state then = log->state; /* as it was after each line */
    int best = -1;
    then.results = cse_calloc((size_t)trials, sizeof *then.results);
    for (int i = 0; i < trials; i++)
        then.results[i] = (cse_sweep_result){ .rung = -1, .value = NAN, .message = "" };
    for (int i = 0; i < log->count; i++) {
        const cse_sweep_entry *entry = &log->entries[i];
        then.results[entry->trial] = entry->result;
        best = next_best(&then, entry->trial, best);
        json_array_append_new(list, point_json(log, entry, best));
    }
    free(then.results);
    return list;
}

/* ---- trials ---- */

static json_t *trial_json(const cse_sweep_log *log, const cse_sweep_trial *trial, int number)
{
    const cse_sweep_plan *plan = &log->plan;
    const cse_sweep_result *result = &log->state.results[number];
    json_t *settings = json_array();
    for (int p = 0; p < plan->parameter_count; p++)
        json_array_append_new(settings,
                              cse_text_json(cse_sweep_value(plan, number, p, log->state.arena)));
    return json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "trial", number + 1, "state",
                     cse_trial_state_names[trial->state], "rung",
                     result->rung >= 0 ? json_integer(result->rung) : json_null(), "steps",
                     steps_json(plan, result->rung), "step",
                     trial->step >= 0 ? json_integer(trial->step) : json_null(), "value",
                     number_json(result->value), "message",
                     result->failed ? cse_text_json(result->message) : json_null(), "job",
                     trial->job[0] != '\0' ? json_string(trial->job) : json_null(), "settings",
                     settings);
}

/* The best first; those that were not tried behind them. */
static json_t *trials_json(const cse_sweep_log *log, const cse_sweep_trial *trials)
{
    int count;
    int *ordered = cse_sweep_ordered(&log->state, &count);
    json_t *list = json_array();
    for (int i = 0; ordered != NULL && i < count; i++)
        json_array_append_new(list, trial_json(log, &trials[ordered[i]], ordered[i]));
    for (int i = 0; i < log->plan.trials; i++)
        if (log->state.results[i].rung < 0)
            json_array_append_new(list, trial_json(log, &trials[i], i));
    free(ordered);
    return list;
}

/* The first of those that are to be trained to the present rung, as the command takes them. */
static int next_of(const cse_sweep_trial *trials, const int *members, int count)
{
    for (int i = 0; i < count; i++)
        if (trials[members[i]].state == CSE_TRIAL_WAITING)
            return members[i];
    return -1;
}

/* ---- all of it ---- */

static void add_counts(json_t *object, const cse_sweep_log *log)
{
    int tried = 0, failed = 0;
    for (int i = 0; i < log->plan.trials; i++) {
        tried += log->state.results[i].rung >= 0;
        failed += log->state.results[i].failed;
    }
    json_object_set_new(object, "trial_count", json_integer(log->plan.trials));
    json_object_set_new(object, "tried", json_integer(tried));
    json_object_set_new(object, "failed", json_integer(failed));
}

/* What the server was asked of it. */
static void add_order(json_t *object, const char *folder)
{
    cse_sweep_order order;
    const bool known = cse_sweep_order_read(folder, &order);
    json_object_set_new(object, "by_server", json_boolean(known));
    json_object_set_new(object, "wanted", json_boolean(known && order.wanted));
    json_object_set_new(object, "message",
                        known && order.message[0] != '\0' ? cse_text_json(order.message)
                                                          : json_null());
}

static json_t *head_json(const cse_sweep_log *log, const char *name, bool complete)
{
    static const char *const methods[] = { "grid", "random", "halving" };
    const cse_sweep_plan *plan = &log->plan;
    const int best = cse_sweep_best(&log->state);
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:o, s:s, s:s, s:I, s:i}", "name", name, "label", plan->name,
                  "method", methods[plan->method], "metric", cse_text_json(plan->metric), "goal",
                  plan->maximizes ? "max" : "min", "state",
                  log->alive ? "running"
                  : complete ? "complete"
                             : "stopped",
                  "updated_ms", (json_int_t)log->updated_ms, "unreadable", log->unreadable);
    add_counts(object, log);
    add_order(object, log->state.folder);
    json_object_set_new(object, "best", trial_number(best));
    json_object_set_new(object, "best_value",
                        best >= 0 ? number_json(log->state.results[best].value) : json_null());
    json_object_set_new(object, "parameters", parameters_json(plan));
    return object;
}

json_t *cse_sweep_summary_json(const cse_sweep_log *log, const char *name)
{
    int rung;
    int *members = cse_calloc((size_t)log->plan.trials, sizeof *members);
    cse_sweep_log_members(log, &rung, members);
    free(members);
    return head_json(log, name, rung == log->plan.rungs);
}

json_t *cse_sweep_json(const cse_sweep_log *log, const char *name, cse_jobs *jobs)
{
    const cse_sweep_plan *plan = &log->plan;
    int rung, settings = 0;
    int *members = cse_calloc((size_t)plan->trials, sizeof *members);
    const int count = cse_sweep_log_members(log, &rung, members);
    const bool complete = rung == plan->rungs;
    const cse_sweep_trial *trials = cse_sweep_trials_look(log, jobs, rung, members, count);
    json_t *object = head_json(log, name, complete);
    while (plan->settings[settings] != NULL)
        settings++;
    json_object_set_new(object, "config", cse_text_json(plan->config));
    json_object_set_new(object, "seed", json_integer((json_int_t)plan->seed));
    json_object_set_new(object, "settings", texts_json(plan->settings, settings));
    json_object_set_new(object, "rung", complete ? json_null() : json_integer(rung));
    json_object_set_new(object, "next",
                        trial_number(complete ? -1 : next_of(trials, members, count)));
    json_object_set_new(object, "rungs", rungs_json(log, rung));
    json_object_set_new(object, "history", history_json(log));
    json_object_set_new(object, "trials", trials_json(log, trials));
    free(members);
    return object;
}
