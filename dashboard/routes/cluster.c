/* The machine, the budget for jobs, and what is used of it. */
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "dashboard/server.h"
#include "engine/base/machine.h"

static json_t *host_json(void)
{
    char name[256] = "localhost";
    double load = 0;
    const cse_machine machine = cse_machine_look();
    gethostname(name, sizeof name - 1);
    bool has_load = getloadavg(&load, 1) == 1;
    return json_pack("{s:s, s:I, s:I, s:o, s:I}", "name", name, "cores",
                     (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "memory_bytes",
                     (json_int_t)machine.memory_bytes, "load",
                     has_load ? json_real(load) : json_null(), "memory_free_bytes",
                     (json_int_t)machine.memory_free_bytes);
}

static json_t *states_json(const cse_job_budget *budget)
{
    json_t *states = json_object();
    for (int i = 0; i < CSE_RUN_STATE_COUNT; i++)
        json_object_set_new(states, cse_run_state_name((cse_run_state)i),
                            json_integer(budget->states[i]));
    return states;
}

static void answer_cluster(const cse_request *request, cse_answer *answer)
{
    struct statvfs disk = { 0 };
    cse_jobs *jobs = request->server->jobs;
    cse_job_budget budget = cse_jobs_budget(jobs);
    statvfs(cse_jobs_directory_view(jobs), &disk);
    json_t *object = json_object(), *hosts = json_array();
    json_array_append_new(hosts, host_json());
    json_object_set_new(object, "hosts", hosts);
    json_object_set_new(object, "budget",
                        json_pack("{s:I, s:I}", "cores", (json_int_t)budget.cores, "memory_bytes",
                                  (json_int_t)budget.memory_bytes));
    json_object_set_new(object, "used",
                        json_pack("{s:I, s:I}", "cores", (json_int_t)budget.used_cores,
                                  "memory_bytes", (json_int_t)budget.used_memory_bytes));
    json_object_set_new(object, "jobs", states_json(&budget));
    json_object_set_new(object, "disk_free_bytes",
                        json_integer((json_int_t)(disk.f_bavail * disk.f_frsize)));
    json_object_set_new(object, "disk_total_bytes",
                        json_integer((json_int_t)(disk.f_blocks * disk.f_frsize)));
    cse_answer_json(answer, 200, object);
}

static const char schemas[] =
    "Cluster\n"
    "  hosts [object]\n"
    "    name string\n"
    "    cores,memory_bytes integer\n"
    "    load number|null\n"
    "    memory_free_bytes integer\n"
    "  budget\n"
    "    cores,memory_bytes integer\n"
    "  used\n"
    "    cores,memory_bytes integer\n"
    "  jobs {integer}  # number of jobs in each state\n"
    "  disk_free_bytes integer  # of the file system that holds the runs\n"
    "  disk_total_bytes integer\n";

const cse_route cse_route_cluster = {
    .path = "/api/v1/cluster",
    .tag = "server",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getCluster", answer_cluster,
                        "Hosts, budget and what is used of it"),
          .replies = "200 Cluster" },
    },
};
