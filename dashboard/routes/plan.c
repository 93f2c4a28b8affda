/* What the job's training would take on several hosts, from the profile of one host that
 * `csengine plan --save_profile` left in its model_dir. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dashboard/routes/route_support.h"
#include "run/measure/plan_report.h"

enum { MOST_BYTES = 64 << 10, MOST_MICROBATCHES = 1024 };
#define PROFILE "host_profile.json"

/* The folder may be somebody else's: a regular file of bounded size, no link. */
static json_t *load(const char *path)
{
    struct stat about;
    char text[MOST_BYTES];
    json_t *object = NULL;
    const int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return NULL;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode)) {
        const ssize_t got = read(file, text, sizeof text);
        if (got > 0)
            object = json_loadb(text, (size_t)got, JSON_REJECT_DUPLICATES, NULL);
    }
    close(file);
    return object;
}

static cse_status read_question(const cse_request *request, cse_plan_question *question)
{
    const int64_t replicas = cse_request_integer(request, "replicas", 1);
    const int64_t hours = cse_request_integer(request, "mtbf", 0);
    question->options.replicas = (int)replicas;
    question->options.failure_s = (double)hours * 3600;
    question->options.lease_s = 10;
    CSE_TRY(cse_plan_hosts_read(cse_request_text(request, "hosts", "1..64"), question));
    return cse_plan_link_read(cse_request_text(request, "link", "10G"), question);
}

/* NULL: nothing, for the reason in *missing. */
static json_t *make(const cse_request *request, const char *model_dir, const char **missing)
{
    cse_host_profile profile;
    cse_plan_question question = { .link_bits_per_s = 0 };
    char path[4200];
    snprintf(path, sizeof path, "%s/" PROFILE, model_dir);
    json_t *object = load(path);
    *missing = "no profile of a host: `csengine plan CONFIG.yaml --save_profile "
               "MODEL_DIR/" PROFILE "` measures one";
    if (object == NULL)
        return NULL;
    cse_status status = cse_host_profile_take(object, PROFILE, &profile);
    json_decref(object);
    if (status == CSE_OK && profile.microbatches > MOST_MICROBATCHES)
        status = cse_fail(CSE_DATA, "a step has too many microbatches to be planned by the server; "
                                    "`csengine plan` does it");
    profile.save_steps = cse_request_integer(request, "save_steps", 0);
    if (status == CSE_OK)
        status = read_question(request, &question);
    *missing = status != CSE_OK ? cse_error_message() : NULL;
    if (status != CSE_OK)
        return NULL;
    cse_host_plan *plans = cse_plans_make(&profile, &question);
    json_t *report = cse_plan_report(&profile, &question, plans);
    free(plans);
    return report;
}

static void get_plan(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    const char *missing = NULL;
    if (!cse_server_open_run(request, answer, &run))
        return;
    json_t *report = make(request, run.job.record.model_dir, &missing);
    json_t *object = json_pack("{s:o?, s:s?}", "report", report, "missing", missing);
    cse_server_close_run(request, &run);
    cse_answer_json(answer, 200, object);
}

static const char schemas[] = "HostProfile open  # of one replica on one core, in SI units\n"
                              "  microbatches,micro_batch_size integer\n"
                              "  microbatch_s,update_s,save_s number\n"
                              "HostPlan\n"
                              "  hosts integer 1..\n"
                              "  step_s,compute_s,exposed_s,update_s number\n"
                              "  pieces integer  # partial sums that a step sends\n"
                              "  shares [integer]  # microbatches of each host\n"
                              "  bytes_up,bytes_down number  # a step, of the host that has most\n"
                              "  memory_bytes number  # of the host that has most\n"
                              "  goodput number|null 0..1\n"
                              "  samples_per_second number|null\n"
                              "  host_hours_per_million_samples number|null\n"
                              "PlanReport\n"
                              "  profile HostProfile\n"
                              "  replicas integer  # on each host\n"
                              "  link_bits_per_second number\n"
                              "  mtbf_hours number|null  # null: hosts do not fail\n"
                              "  lease_s number\n"
                              "  save_steps integer\n"
                              "  plans [HostPlan]\n"
                              "  assumptions [string]  # what the model takes for granted\n"
                              "Plan\n"
                              "  report PlanReport|null\n"
                              "  missing string|null  # why there is no report\n";

const cse_route cse_route_plan = {
    .path = "/api/v1/jobs/{id}/plan",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getPlan", get_plan,
                        "What training would take on several hosts, as csengine plan computes it"),
          .parameters = "hosts? string ..256 = 1..64  # numbers and ranges of them: 1..8 or 1,2,4\n"
                        "link? string ..16 = 10G  # bits a second of each host's link\n"
                        "replicas? integer 1..1024 = 1  # on each host\n"
                        "save_steps? integer 0..1000000000 = 0  # steps between two checkpoints; "
                        "0: only at the end\n"
                        "mtbf? integer 0..1000000 = 0  # hours between failures of a host\n",
          .replies = "200 Plan",
          .problems = "503" },
    },
};
