/* The leader's side of a run on several hosts: it starts the agents of the others, and is the group
 * of hosts that its job trains with. */
#ifndef CSE_RUN_HOSTS_LEAD_HOSTS_H
#define CSE_RUN_HOSTS_LEAD_HOSTS_H

#include "run/job/job.h"

typedef struct cse_led_hosts cse_led_hosts;

/* Whether the environment asks for other hosts. */
bool cse_leads_hosts(const cse_job_environment *environment);

struct cse_host_group;

/* A follower that goes on as the leader of a run: `lock` of lead_lock.h, which is kept, the run
 * that it names, and the group that it was in, which is taken over; NULL: a new one is opened,
 * with agents that are started. Hosts that do not come then are done without. */
typedef struct cse_lead_taken {
    int lock;
    const char *run;
    struct cse_host_group *group;
} cse_lead_taken;

/* Opens this host's place, starts the agents, and sets environment->hosts. They are waited for when
 * training begins. `taken` NULL: the run begins here. */
cse_status cse_led_hosts_open(cse_job_environment *environment, const cse_lead_taken *taken,
                              cse_led_hosts **led);
/* The job has ended so: the agents are told, and end. */
void cse_led_hosts_close(cse_led_hosts **led, cse_status status, const cse_job_result *result);

#endif
