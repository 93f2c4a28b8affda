/* Shared memory counts once, as a part of its own, so that the parts add up to what the processes
 * take together: the sum of their PSS. The processes of training have ended while a validation runs
 * and its states stay; so a run has two phases, and takes at most what the larger one does. */
#include "cli/runs/planned_memory.h"

#include <stdio.h>

#include "cli/terminal/printing.h"
#include "cli/terminal/table.h"
#include "run/job/job.h"

enum {
    /* Pages of the program and of libraries, which all processes share; measured. */
    PROGRAM_BYTES = 10000000,
    MOST_PARTS = 8,
    MOST_PHASES = 2,
};

typedef struct part {
    const char *name; /* as in the JSON object */
    int processes;    /* 0: it belongs to no process */
    int64_t bytes;    /* of one process */
    const char *what;
} part;

typedef struct phase {
    const char *name;
    const cse_execution_needs *needs;
    part parts[MOST_PARTS];
    int count;
    int64_t bytes;
} phase;

cse_status cse_planned_memory_find(const cse_job_settings *job, cse_planned_memory *planned)
{
    cse_job_settings settings = *job;
    cse_job_result result = { 0 };
    settings.session.validate_only = true;
    const cse_job_environment environment = cse_job_environment_of(&settings);
    CSE_TRY(cse_job_run(&environment, &result));
    *planned = (cse_planned_memory){ result.training_needs, result.validation_needs };
    return CSE_OK;
}

static int64_t all_bytes(const part *p)
{
    return p->bytes * (p->processes > 0 ? p->processes : 1);
}

/* `standing_bytes`: what an earlier phase leaves in memory. */
static phase phase_of(const char *name, const cse_execution_needs *n, int64_t standing_bytes)
{
    const part processes[] = {
        { "coordinator", 1, n->coordinator_bytes, "with its supervisor" },
        { "replica", n->replicas, n->replica_bytes, "values of a microbatch, sums, the step" },
        { "weight_server", n->weight_servers, n->weight_server_bytes, "sums of some lines" },
        { "input_worker", n->input_workers, n->input_worker_bytes, "what it holds of the data" },
        { "mover", n->movers, n->mover_bytes, "sends sums to other hosts" },
    };
    const part shared[] = {
        { "arena", 0, n->arena_bytes, "shared by all: states, sums of gradients, input" },
        { "training", 0, standing_bytes, "the states of training, which stay" },
        { "program", 0, PROGRAM_BYTES, "shared pages of files; the kernel can take them back" },
    };
    phase f = { .name = name, .needs = n };
    for (size_t i = 0; i < sizeof processes / sizeof processes[0]; i++)
        if (processes[i].processes > 0)
            f.parts[f.count++] = processes[i];
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++)
        if (shared[i].bytes > 0)
            f.parts[f.count++] = shared[i];
    for (int i = 0; i < f.count; i++)
        f.bytes += all_bytes(&f.parts[i]);
    return f;
}

static int find_phases(const cse_planned_memory *planned, phase phases[MOST_PHASES])
{
    const cse_execution_needs *training = &planned->training;
    int count = 0;
    if (training->cores > 0)
        phases[count++] = phase_of("training", training, 0);
    if (planned->validation.cores > 0)
        phases[count++] =
            phase_of("validation", &planned->validation,
                     training->arena_bytes - training->sum_bytes - training->input_bytes);
    return count;
}

/* A checkpoint is written while training goes on, and its copy may outlive the phase. */
static int64_t peak_of(const phase *phases, int count, int64_t checkpoint_bytes)
{
    int64_t most = 0;
    for (int i = 0; i < count; i++)
        most = phases[i].bytes > most ? phases[i].bytes : most;
    return most + checkpoint_bytes;
}

/* ---- output ---- */

/* Of states that several hosts would cut. */
static const int numbers_of_hosts[] = { 2, 3, 4, 8, 16 };
enum { NUMBERS = sizeof numbers_of_hosts / sizeof numbers_of_hosts[0] };

static json_t *hosts_json(const cse_execution_needs *n)
{
    json_t *list = json_array();
    for (int i = 0; i < NUMBERS && n->cut_bytes > 0; i++)
        json_array_append_new(
            list,
            json_pack("{s:i, s:I, s:I}", "hosts", numbers_of_hosts[i], "state_bytes",
                      (json_int_t)cse_execution_states_on(n, numbers_of_hosts[i]), "sum_bytes",
                      (json_int_t)cse_execution_sums_on(n, numbers_of_hosts[i])));
    return list;
}

static json_t *phase_json(const phase *f)
{
    const cse_execution_needs *n = f->needs;
    json_t *parts = json_array();
    for (int i = 0; i < f->count; i++)
        json_array_append_new(parts, json_pack("{s:s, s:i, s:I, s:I}", "part", f->parts[i].name,
                                               "processes", f->parts[i].processes, "bytes_each",
                                               (json_int_t)f->parts[i].bytes, "bytes",
                                               (json_int_t)all_bytes(&f->parts[i])));
    return json_pack("{s:s, s:I, s:o, s:I, s:I, s:I, s:I}", "phase", f->name, "bytes",
                     (json_int_t)f->bytes, "parts", parts, "state_bytes",
                     (json_int_t)n->state_bytes, "sum_bytes", (json_int_t)n->sum_bytes,
                     "input_bytes", (json_int_t)n->input_bytes, "workspace_bytes",
                     (json_int_t)n->workspace_bytes);
}

json_t *cse_planned_memory_json(const cse_planned_memory *planned)
{
    phase phases[MOST_PHASES];
    const int count = find_phases(planned, phases);
    const int64_t copy = planned->training.checkpoint_bytes;
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, phase_json(&phases[i]));
    return json_pack("{s:I, s:I, s:o, s:o}", "peak_bytes", (json_int_t)peak_of(phases, count, copy),
                     "checkpoint_bytes", (json_int_t)copy, "phases", list, "states_by_hosts",
                     hosts_json(&planned->training));
}

#define MB(bytes) ((double)(bytes)*1e-6)

static void print_phase(const phase *f)
{
    static const char *const heads[] = { "part", "processes", "MB each", "MB", "what", NULL };
    const cse_execution_needs *n = f->needs;
    cse_table *table = cse_table_new(heads);
    for (int i = 0; i < f->count; i++) {
        const part *p = &f->parts[i];
        cse_table_add(table, "%s", p->name);
        if (p->processes > 0)
            cse_table_add(table, "%d", p->processes);
        else
            cse_table_add(table, "-");
        cse_table_add(table, "%.1f", MB(p->bytes));
        cse_table_add(table, "%.1f", MB(all_bytes(p)));
        cse_table_add(table, "%s", p->what);
    }
    cse_print("%s: %.1f MB\n", f->name, MB(f->bytes));
    cse_table_print(table, stdout);
    cse_table_destroy(&table);
    cse_print("states %.1f MB, sums of gradients %.1f MB, input %.1f MB; values of a microbatch "
              "in each replica %.1f MB\n\n",
              MB(n->state_bytes), MB(n->sum_bytes), MB(n->input_bytes), MB(n->workspace_bytes));
}

static void print_hosts(const cse_execution_needs *n)
{
    if (n->cut_bytes == 0)
        return;
    cse_print("states.shard: of the states, %.1f MB on one host, each of several hosts has",
              MB(n->state_bytes));
    for (int i = 0; i < NUMBERS; i++)
        cse_print("%s %.1f MB of %d", i > 0 ? "," : "",
                  MB(cse_execution_states_on(n, numbers_of_hosts[i])), numbers_of_hosts[i]);
    cse_print("\n");
    cse_print("of the sums of gradients, %.1f MB on one host,", MB(n->sum_bytes));
    for (int i = 0; i < NUMBERS; i++)
        cse_print("%s %.1f MB of %d", i > 0 ? "," : "",
                  MB(cse_execution_sums_on(n, numbers_of_hosts[i])), numbers_of_hosts[i]);
    cse_print("\n\n");
}

void cse_planned_memory_print(const cse_planned_memory *planned)
{
    phase phases[MOST_PHASES];
    const int count = find_phases(planned, phases);
    const int64_t copy = planned->training.checkpoint_bytes;
    for (int i = 0; i < count; i++)
        print_phase(&phases[i]);
    print_hosts(&planned->training);
    cse_print("at most %.1f MB", MB(peak_of(phases, count, copy)));
    if (copy > 0)
        cse_print(", of which %.1f MB are a copy of the states while a checkpoint is written",
                  MB(copy));
    cse_print("\n");
}
