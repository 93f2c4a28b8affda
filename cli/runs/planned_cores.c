/* The model and the placement hold what the numbers mean; here they become tables and JSON. */
#include "cli/runs/planned_cores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/option_values.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/table.h"
#include "engine/base/arena.h"
#include "engine/base/huge_pages.h"
#include "run/measure/machine_measure.h"
#include "run/measure/machine_model.h"

typedef struct question {
    cse_machine_rates rates;
    bool has_rates;
    cse_processors processors;
    int replicas[CSE_MOST_PLANNED_REPLICAS];
    int count;
} question;

/* ---- replicas ---- */

static cse_status bad_list(const char *text)
{
    return cse_fail(CSE_USAGE,
                    "plan: --replicas %s: accepted beside --machine: numbers from 1 to %d and "
                    "ranges of them, as in 1..8 or 1,2,4,64",
                    text, CSE_MOST_PLANNED_REPLICAS);
}

static cse_status read_list(const char *text, question *q)
{
    for (const char *at = text;; at++) {
        char *end;
        const long first = strtol(at, &end, 10);
        long last = first;
        if (end != at && strncmp(end, "..", 2) == 0) {
            at = end + 2;
            last = strtol(at, &end, 10);
        }
        if (end == at || first < 1 || last < first || last > CSE_MOST_PLANNED_REPLICAS ||
            (*end != ',' && *end != '\0') || last - first >= CSE_MOST_PLANNED_REPLICAS - q->count)
            return bad_list(text);
        for (long replicas = first; replicas <= last; replicas++)
            q->replicas[q->count++] = (int)replicas;
        at = end;
        if (*end == '\0')
            return CSE_OK;
    }
}

/* Powers of two, and all cores of the machine. */
static void usual_list(question *q)
{
    const int most = q->processors.cores < CSE_MOST_PLANNED_REPLICAS ? q->processors.cores
                                                                     : CSE_MOST_PLANNED_REPLICAS;
    for (int replicas = 1; replicas < most; replicas *= 2)
        q->replicas[q->count++] = replicas;
    q->replicas[q->count++] = most;
}

static cse_status read_replicas(const cse_command_line *line, question *q)
{
    const char *text = cse_option_value(line, "replicas");
    if (text != NULL)
        return read_list(text, q);
    usual_list(q);
    return CSE_OK;
}

/* ---- the table ---- */

static void print_plans(const question *q, const cse_core_plan *plans)
{
    static const char *const heads[] = { "replicas", "share",  "step ms",   "compute",
                                         "unequal",  "spread", "reduce",    "serial",
                                         "update",   "turns",  "samples/s", "strong",
                                         "weak",     "memory", "link",      NULL };
    cse_table *table = cse_table_new(heads);
    for (int i = 0; i < q->count; i++) {
        const cse_core_plan *p = &plans[i];
        const double ms[] = { p->step_s,   p->compute_s, p->unequal_s, p->spread_s,
                              p->reduce_s, p->serial_s,  p->update_s,  p->turns_s };
        cse_table_add(table, "%d", p->replicas);
        cse_table_add(table, "%d", p->largest_share);
        for (size_t k = 0; k < sizeof ms / sizeof ms[0]; k++)
            cse_table_add(table, "%.4g", 1e3 * ms[k]);
        cse_table_add(table, "%.4g", p->samples_per_s);
        cse_table_add(table, "%.3f", p->strong);
        cse_table_add(table, "%.3f", p->weak);
        cse_table_add(table, "%.2f", p->memory_share);
        cse_table_add(table, "%.2f", p->link_share);
    }
    cse_table_print(table, stdout);
    cse_table_destroy(&table);
}

static void print_machine(const question *q, const cse_step_work *work)
{
    const cse_processors *p = &q->processors;
    printf("machine: %s: %d processors, %d cores, %d last caches, %d memories, %d sockets\n",
           q->rates.topology, p->count, p->cores, p->caches, p->memories, p->sockets);
    printf("step: %lld microbatches of %lld samples, a sum of %.4g MB, an update of %.4g MB, %d "
           "and %d chunks\n\n",
           (long long)work->microbatches, (long long)work->micro_batch_size, 1e-6 * work->sum_bytes,
           1e-6 * work->update_bytes, work->reduce_chunks, work->update_chunks);
}

static void print_assumptions(const question *q, const cse_core_plan *plans)
{
    const cse_core_plan *last = &plans[q->count - 1];
    if (last->prepared_s > 0)
        cse_print("\nOnce a step each of %d replicas prepares weights for itself, in %.4g ms; once "
                  "for each memory would save %.4g ms (%.1f %% of the step).\n",
                  last->replicas, 1e3 * last->prepared_s, 1e3 * last->shared_saves_s,
                  100 * last->shared_saves_s / last->step_s);
    printf("\nthe model takes for granted:\n");
    for (const char *const *text = cse_machine_model_assumptions; *text != NULL; text++)
        cse_print("- %s\n", *text);
}

static json_t *plan_json(const cse_core_plan *p)
{
    return json_pack("{s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, "
                     "s:f, s:f, s:f, s:f}",
                     "replicas", p->replicas, "largest_share", p->largest_share, "sums", p->sums,
                     "step_s", p->step_s, "compute_s", p->compute_s, "input_s", p->input_s,
                     "unequal_s", p->unequal_s, "spread_s", p->spread_s, "reduce_s", p->reduce_s,
                     "serial_s", p->serial_s, "update_s", p->update_s, "turns_s", p->turns_s,
                     "samples_per_second", p->samples_per_s, "strong", p->strong, "weak", p->weak,
                     "prepared_s", p->prepared_s, "shared_saves_s", p->shared_saves_s,
                     "memory_share", p->memory_share, "link_share", p->link_share);
}

static void print_json(const question *q, const cse_core_plan *plans)
{
    json_t *list = json_array(), *assumptions = json_array();
    for (int i = 0; i < q->count; i++)
        json_array_append_new(list, plan_json(&plans[i]));
    for (const char *const *text = cse_machine_model_assumptions; *text != NULL; text++)
        json_array_append_new(assumptions, json_string(*text));
    json_t *report = json_pack("{s:o, s:o, s:o}", "machine", cse_machine_rates_json(&q->rates),
                               "plans", list, "assumptions", assumptions);
    cse_json_print(report);
    json_decref(report);
}

static cse_status plan_machine(const cse_command_line *line, const cse_job_settings *job,
                               question *q)
{
    cse_step_work work;
    CSE_TRY(read_replicas(line, q));
    cse_status status = cse_step_work_of_job(job, &work);
    cse_core_plan *plans = cse_calloc((size_t)q->count, sizeof *plans);
    for (int i = 0; i < q->count && status == CSE_OK; i++)
        status = cse_core_plan_make(&work, &q->rates, &q->processors, q->replicas[i], &plans[i]);
    if (status == CSE_OK && cse_option_is_on(line, "json")) {
        print_json(q, plans);
    } else if (status == CSE_OK) {
        print_machine(q, &work);
        print_plans(q, plans);
        print_assumptions(q, plans);
    }
    free(plans);
    cse_step_work_clear(&work);
    return status;
}

/* ---- placement ---- */

static void add_place(const cse_processor *p, const char *role, int rank, cse_table *table)
{
    cse_table_add(table, "%s %d", role, rank);
    const int values[] = { p != NULL ? p->number : -1, p != NULL ? p->core : -1,
                           p != NULL ? p->cache : -1, p != NULL ? p->node : -1,
                           p != NULL ? p->socket : -1 };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if (p != NULL)
            cse_table_add(table, "%d", values[i]);
        else
            cse_table_add(table, "-");
    }
}

static json_t *place_json(const cse_processor *p, const char *role, int rank)
{
    json_t *place = json_pack("{s:s, s:i}", "role", role, "rank", rank);
    if (p != NULL)
        json_object_update_new(place, json_pack("{s:i, s:i, s:i, s:i, s:i}", "processor", p->number,
                                                "core", p->core, "cache", p->cache, "memory",
                                                p->node, "socket", p->socket));
    return place;
}

static void print_placement(const question *q, const cse_placement *placement, bool json)
{
    static const char *const heads[] = { "process", "processor", "core", "cache",
                                         "memory",  "socket",    NULL };
    cse_table *table = cse_table_new(heads);
    json_t *list = json_array();
    char pages[256];
    cse_huge_pages_describe(pages, sizeof pages);
    for (int i = 0; i < placement->replicas + placement->weight_servers; i++) {
        const cse_processor *p = cse_placement_processor(&q->processors, placement, i);
        const bool replica = i < placement->replicas;
        const char *role = replica ? "replica" : "weight_server";
        const int rank = replica ? i : i - placement->replicas;
        add_place(p, role, rank, table);
        json_array_append_new(list, place_json(p, role, rank));
    }
    if (json) {
        json_t *report = json_pack("{s:b, s:o, s:s}", "bound", placement->bound, "places", list,
                                   "huge_pages", pages);
        cse_json_print(report);
        json_decref(report);
    } else {
        cse_table_print(table, stdout);
        cse_print("\n%s; no result depends on it.\n",
                  placement->bound ? "Processes are bound to these processors"
                                   : "Processes are not bound: the system's scheduler decides");
        cse_print("Huge pages: %s.\n", pages);
        json_decref(list);
    }
    cse_table_destroy(&table);
}

static cse_status plan_placement(const cse_command_line *line, const cse_job_settings *job,
                                 question *q)
{
    static const int64_t range[] = { 1, CSE_MOST_PLANNED_REPLICAS };
    int64_t replicas = job->session.num_csx > 0 ? job->session.num_csx : 1;
    cse_placement placement;
    cse_binding binding;
    CSE_TRY(cse_option_integer(line, "replicas", range, &replicas));
    CSE_TRY(cse_binding_read(job->session.binding, &binding));
    cse_placement_make(&q->processors, (int[]){ (int)replicas, job->session.max_wgt_servers },
                       binding, &placement);
    print_placement(q, &placement, cse_option_is_on(line, "json"));
    cse_placement_clear(&placement);
    return CSE_OK;
}

/* ---- all ---- */

static cse_status measure(const cse_command_line *line, const cse_job_settings *job)
{
    static const int64_t range[] = { 1, 1000000 };
    const char *path = cse_option_value(line, "measure_machine");
    int64_t steps = 10;
    cse_machine_rates rates;
    CSE_TRY(cse_option_integer(line, "steps", range, &steps));
    CSE_TRY(cse_machine_measure(job, steps, &rates));
    CSE_TRY(cse_machine_rates_write(&rates, path));
    if (cse_option_is_on(line, "json")) {
        json_t *report = cse_machine_rates_json(&rates);
        cse_json_print(report);
        json_decref(report);
    } else {
        cse_print("%s: the rates of this machine, %s, in steps of this configuration on one core\n",
                  path, rates.topology);
    }
    return CSE_OK;
}

cse_status cse_planned_cores_run(const cse_command_line *line, const cse_job_settings *job)
{
    question q = { .count = 0 };
    const char *path = cse_option_value(line, "machine");
    if (cse_option_value(line, "measure_machine") != NULL)
        return measure(line, job);
    if (path != NULL)
        CSE_TRY(cse_machine_rates_read(path, &q.rates));
    CSE_TRY(path != NULL ? cse_processors_read(q.rates.topology, &q.processors)
                         : cse_processors_of_host(&q.processors));
    cse_status status = cse_option_is_on(line, "placement") ? plan_placement(line, job, &q)
                                                            : plan_machine(line, job, &q);
    cse_processors_clear(&q.processors);
    return status;
}
