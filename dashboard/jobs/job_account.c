/* Two limits hold for each job: the server's, and its token's. Both are asked in the same words, so
 * that each refusal names the need, the limit and where it is set. */
#include "dashboard/jobs/job_account.h"

#include <stdio.h>
#include <string.h>

#include "dashboard/jobs/job_launcher.h"
#include "engine/base/text.h"
#include "workers/control/execution_needs.h"

/* Who limits: the server, or a token. */
typedef struct limit {
    int64_t cores, memory_bytes;
    char whose[80], cores_setting[96], memory_setting[96];
} limit;

static limit limit_of_server(const cse_jobs *jobs)
{
    return (limit){ .cores = jobs->cores,
                    .memory_bytes = jobs->memory_bytes,
                    .whose = "this server",
                    .cores_setting = "csengine serve --cores N",
                    .memory_setting = "csengine serve --memory_mib N" };
}

/* Where the token has no limit of its own, the server's holds. */
static limit limit_of_grant(const cse_jobs *jobs, const cse_grant *grant)
{
    limit l = { .cores = grant->cores > 0 ? grant->cores : jobs->cores,
                .memory_bytes =
                    grant->memory_bytes > 0 ? grant->memory_bytes : jobs->memory_bytes };
    snprintf(l.whose, sizeof l.whose, "the token \"%s\"", grant->name);
    snprintf(l.cores_setting, sizeof l.cores_setting, "cores=N in its line of the token file");
    snprintf(l.memory_setting, sizeof l.memory_setting,
             "memory_mib=N in its line of the token file");
    return l;
}

static bool is_limited(const cse_grant *grant)
{
    return grant != NULL && (grant->cores > 0 || grant->memory_bytes > 0);
}

const cse_grant *cse_jobs_grant(const cse_jobs *jobs, const char *name)
{
    for (int i = 0; name[0] != '\0' && i < jobs->options.grant_count; i++)
        if (strcmp(jobs->options.grants[i].name, name) == 0)
            return &jobs->options.grants[i];
    return NULL;
}

/* ---- what a job takes ---- */

/* "64 replicas with 2 input workers each and 1 weight server". */
static void describe_processes(const cse_config_facts *facts, char *text, size_t size)
{
    char servers[48] = "";
    if (facts->weight_servers > 0)
        snprintf(servers, sizeof servers, " and %lld weight server%s",
                 (long long)facts->weight_servers, facts->weight_servers > 1 ? "s" : "");
    snprintf(text, size, "%lld replica%s with %lld input worker%s each%s",
             (long long)facts->replicas, facts->replicas != 1 ? "s" : "",
             (long long)facts->workers_per_replica, facts->workers_per_replica != 1 ? "s" : "",
             servers);
}

static int64_t stated(const json_t *spec, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(spec, "resources"), name));
}

/* At the setting that makes the number of processes, where the configuration has it. */
static void add_fault(json_t *diagnostics, const cse_config_facts *facts, const char *pointer,
                      const char *message, const char *hint)
{
    json_t *fault =
        json_pack("{s:s, s:s, s:s}", "severity", "error", "message", message, "hint", hint);
    if (pointer != NULL)
        json_object_set_new(fault, "pointer", json_string(pointer));
    else if (facts->processes_line > 0) {
        json_object_set_new(fault, "line", json_integer(facts->processes_line));
        json_object_set_new(fault, "column", json_integer(facts->processes_column));
    }
    json_array_append_new(diagnostics, fault);
}

static bool check_stated(const json_t *spec, const cse_config_facts *facts,
                         const cse_job_demand *counted, json_t *diagnostics)
{
    char message[320], processes[160];
    const int64_t cores = stated(spec, "cores"), bytes = stated(spec, "memory_bytes");
    bool enough = true;
    describe_processes(facts, processes, sizeof processes);
    if (cores > 0 && cores < counted->cores) {
        snprintf(message, sizeof message, "the job takes %lld cores (%s), and states %lld",
                 (long long)counted->cores, processes, (long long)cores);
        add_fault(diagnostics, facts, "/resources/cores", message,
                  "leave it out, or let the configuration have fewer processes");
        enough = false;
    }
    if (bytes > 0 && facts->memory_bytes > 0 && bytes < counted->memory_bytes) {
        snprintf(message, sizeof message, "the job takes %lld bytes of memory, and states %lld",
                 (long long)counted->memory_bytes, (long long)bytes);
        add_fault(diagnostics, facts, "/resources/memory_bytes", message,
                  "leave it out, or make the model, the micro batch or the number of processes "
                  "smaller");
        enough = false;
    }
    return enough;
}

static bool check_cores(const limit *l, const json_t *spec, const cse_config_facts *facts,
                        const cse_job_demand *demand, json_t *diagnostics)
{
    char message[400], hint[256], processes[160];
    const bool states = stated(spec, "cores") > 0;
    if (demand->cores <= l->cores)
        return true;
    describe_processes(facts, processes, sizeof processes);
    snprintf(message, sizeof message, "the job takes %lld cores (%s), and %s gives at most %lld",
             (long long)demand->cores, states ? "as it states" : processes, l->whose,
             (long long)l->cores);
    snprintf(hint, sizeof hint,
             "lower num_csx, num_workers_per_csx or max_wgt_servers; the operator raises the limit "
             "by %s, also above what the machine has",
             l->cores_setting);
    add_fault(diagnostics, facts, states ? "/resources/cores" : NULL, message, hint);
    return false;
}

static bool check_memory(const limit *l, const json_t *spec, const cse_config_facts *facts,
                         const cse_job_demand *demand, json_t *diagnostics)
{
    char message[256], hint[256];
    const bool states = stated(spec, "memory_bytes") > 0;
    const int64_t mib = (demand->memory_bytes + (1 << 20) - 1) >> 20;
    if (demand->memory_bytes <= l->memory_bytes)
        return true;
    snprintf(message, sizeof message, "the job takes %lld MiB of memory, and %s gives at most %lld",
             (long long)mib, l->whose, (long long)l->memory_bytes >> 20);
    snprintf(hint, sizeof hint,
             "a smaller micro_batch_size, recompute.memory_limit_mib or fewer processes take less; "
             "the operator raises the limit by %s",
             l->memory_setting);
    add_fault(diagnostics, facts, states ? "/resources/memory_bytes" : NULL, message, hint);
    return false;
}

static bool check_limit(const limit *l, const json_t *spec, const cse_config_facts *facts,
                        const cse_job_demand *demand, json_t *diagnostics)
{
    const bool cores = check_cores(l, spec, facts, demand, diagnostics);
    return check_memory(l, spec, facts, demand, diagnostics) && cores;
}

/* What nothing states and no plan tells. */
static cse_job_demand count(const json_t *spec, const cse_config_facts *facts)
{
    const bool takes_no_step = json_is_true(json_object_get(spec, "compile_only")) ||
                               json_is_true(json_object_get(spec, "validate_only"));
    cse_job_demand counted = { .cores = cse_cores_of(facts->replicas, facts->workers_per_replica,
                                                     facts->weight_servers),
                               .memory_bytes = facts->memory_bytes };
    if (takes_no_step || counted.cores < 1)
        counted.cores = 1;
    if (counted.memory_bytes == 0 && stated(spec, "memory_bytes") == 0)
        counted.memory_bytes = (int64_t)CSE_UNKNOWN_JOB_MIB << 20;
    return counted;
}

bool cse_job_account_demand(const cse_jobs *jobs, const cse_job_asked *asked,
                            cse_job_demand *demand, json_t *diagnostics)
{
    const json_t *spec = asked->spec;
    const cse_config_facts *facts = asked->facts;
    *demand = (cse_job_demand){ .cores = 0 };
    if (cse_job_is_batch(spec)) /* which takes none of this host's */
        return true;
    const cse_job_demand counted = count(spec, facts);
    const int64_t cores = stated(spec, "cores"), bytes = stated(spec, "memory_bytes");
    demand->cores = cores > 0 ? cores : counted.cores;
    demand->memory_bytes = bytes > 0 ? bytes : counted.memory_bytes;
    if (jobs->root == NULL) /* it shows one run, and starts none */
        return true;
    const limit server = limit_of_server(jobs);
    if (!check_stated(spec, facts, &counted, diagnostics) ||
        !check_limit(&server, spec, facts, demand, diagnostics))
        return false;
    if (!is_limited(asked->grant))
        return true;
    const limit own = limit_of_grant(jobs, asked->grant);
    return check_limit(&own, spec, facts, demand, diagnostics);
}

/* ---- what is taken ---- */

/* By the jobs that run; of one name, NULL: of all. */
typedef struct taken {
    int64_t cores, memory_bytes;
    const cse_job_entry *first; /* of them */
    bool more;
} taken;

static taken add_up(const cse_jobs *jobs, const char *owner)
{
    taken t = { .cores = 0 };
    for (int i = 0; i < jobs->entry_count; i++) {
        const cse_job_entry *entry = jobs->entries[i];
        if (!entry->alive || (owner != NULL && strcmp(entry->record.owner, owner) != 0))
            continue;
        t.more = t.first != NULL;
        t.first = t.first != NULL ? t.first : entry;
        t.cores += entry->record.cores;
        t.memory_bytes += entry->record.memory_bytes;
    }
    return t;
}

static bool is_within(const limit *l, const taken *t, const cse_job_record *record, char *why,
                      size_t size)
{
    const char *of = strcmp(l->whose, "this server") == 0 ? "" : " of ";
    const char *whose = of[0] != '\0' ? l->whose : "";
    if (t->first == NULL)
        return true; /* what it takes is within the limit: cse_job_account_may_ever */
    if (t->cores + record->cores > l->cores) {
        snprintf(why, size, "%lld cores: %lld of %lld%s%s are taken, by %s%s",
                 (long long)record->cores, (long long)t->cores, (long long)l->cores, of, whose,
                 t->first->record.id, t->more ? " and others" : "");
        return false;
    }
    if (t->memory_bytes + record->memory_bytes > l->memory_bytes) {
        snprintf(why, size, "%lld MiB of memory: %lld of %lld%s%s are promised to other jobs",
                 (long long)record->memory_bytes >> 20, (long long)t->memory_bytes >> 20,
                 (long long)l->memory_bytes >> 20, of, whose);
        return false;
    }
    return true;
}

static cse_status check_ever(const limit *l, const cse_job_record *record)
{
    if (record->cores > l->cores)
        return cse_fail(CSE_CONFIG, "%lld cores, and %s gives at most %lld (%s)",
                        (long long)record->cores, l->whose, (long long)l->cores, l->cores_setting);
    if (record->memory_bytes > l->memory_bytes)
        return cse_fail(CSE_CONFIG, "%lld MiB of memory, and %s gives at most %lld (%s)",
                        (long long)record->memory_bytes >> 20, l->whose,
                        (long long)l->memory_bytes >> 20, l->memory_setting);
    return CSE_OK;
}

cse_status cse_job_account_may_ever(const cse_jobs *jobs, const cse_job_record *record)
{
    const limit server = limit_of_server(jobs);
    const cse_grant *grant = cse_jobs_grant(jobs, record->owner);
    CSE_TRY(check_ever(&server, record));
    if (!is_limited(grant))
        return CSE_OK;
    const limit own = limit_of_grant(jobs, grant);
    return check_ever(&own, record);
}

bool cse_job_account_fits(const cse_jobs *jobs, const cse_job_entry *entry, char *why, size_t size)
{
    const limit server = limit_of_server(jobs);
    const taken all = add_up(jobs, NULL);
    return is_within(&server, &all, &entry->record, why, size);
}

bool cse_job_account_holds(const cse_jobs *jobs, const cse_job_entry *entry, char *why, size_t size)
{
    const cse_grant *grant = cse_jobs_grant(jobs, entry->record.owner);
    if (cse_job_account_may_ever(jobs, &entry->record) != CSE_OK) {
        snprintf(why, size, "%s", cse_error_message());
        return true;
    }
    if (!is_limited(grant))
        return false;
    const limit own = limit_of_grant(jobs, grant);
    const taken of_name = add_up(jobs, entry->record.owner);
    return !is_within(&own, &of_name, &entry->record, why, size);
}

cse_status cse_job_account_count(const cse_jobs *jobs, const cse_grant *grant)
{
    int64_t count = 0;
    if (grant == NULL || grant->jobs == 0)
        return CSE_OK;
    for (int i = 0; i < jobs->entry_count; i++)
        count +=
            !jobs->entries[i]->settled && strcmp(jobs->entries[i]->record.owner, grant->name) == 0;
    return count < grant->jobs
               ? CSE_OK
               : cse_fail(CSE_USAGE,
                          "the token \"%s\" has %lld jobs that have not ended, and may have %lld "
                          "(jobs=N in its line of the token file): wait for one, or cancel it",
                          grant->name, (long long)count, (long long)grant->jobs);
}
