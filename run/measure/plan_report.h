/* What `csengine plan` and the dashboard's Plan page say of several hosts, as JSON: the same
 * values, from the same texts of options. */
#ifndef CSE_RUN_MEASURE_PLAN_REPORT_H
#define CSE_RUN_MEASURE_PLAN_REPORT_H

#include "run/measure/host_profile.h"

typedef struct cse_plan_question {
    bool wanted[CSE_MAX_HOSTS + 1]; /* by number of hosts */
    cse_host_plan_options options;  /* but for the number of hosts */
    double link_bits_per_s;
} cse_plan_question;

/* "1..8" or "1,2,4,8". CSE_USAGE says what is accepted. */
cse_status cse_plan_hosts_read(const char *text, cse_plan_question *question);
/* Bits a second with a decimal prefix: 10G, 2.5G, 100M. */
cse_status cse_plan_link_read(const char *text, cse_plan_question *question);

/* Of the wanted numbers of hosts; [CSE_MAX_HOSTS + 1], by number; to be freed. */
cse_host_plan *cse_plans_make(const cse_host_profile *profile, const cse_plan_question *question);

/* {"profile", "replicas", "link_bits_per_second", "mtbf_hours", "lease_s", "save_steps", "plans",
 * "assumptions"} */
json_t *cse_plan_report(const cse_host_profile *profile, const cse_plan_question *question,
                        const cse_host_plan *plans);

#endif
