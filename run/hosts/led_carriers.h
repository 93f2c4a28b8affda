/* The carriers of a run with the link mpi, as its leader has them: one job of mpirun, or of srun in
 * a job of Slurm, with a process on each host. It is started again when it ends, and when a host is
 * lost, without that one; meanwhile the steps in flight stay where they are. */
#ifndef CSE_RUN_HOSTS_LED_CARRIERS_H
#define CSE_RUN_HOSTS_LED_CARRIERS_H

#include "workers/group/host_group.h"
#include "workers/links/carrier_names.h"

typedef struct cse_led_carriers cse_led_carriers;

typedef struct cse_led_carriers_options {
    int host_count, leader;
    const char *const *names; /* of the hosts; live as long as the carriers */
    const char *launcher;     /* of the agents, by name */
    const char *options;      /* further arguments; NULL: none */
    const char *program;      /* this program, beside which the carrier lies */
} cse_led_carriers_options;

/* CSE_UNAVAILABLE: this build has no carrier; CSE_CONFIG: options of no use. Starts nothing. */
cse_status cse_led_carriers_new(const cse_led_carriers_options *options,
                                cse_led_carriers **carriers);
/* What the links of all movers are given as addresses. */
const char *cse_led_carriers_token(const cse_led_carriers *carriers);
/* Starts them on all hosts, and waits until they are ready. CSE_UNAVAILABLE: they cannot be.
 * Without this call `turn` starts them, on the hosts that are there. */
cse_status cse_led_carriers_start(cse_led_carriers *carriers);
/* In the group's thread, every few milliseconds. */
void cse_led_carriers_turn(cse_led_carriers *carriers, cse_host_group *group);
/* The movers have ended. Waits a short, bounded time until the carriers have, too. */
void cse_led_carriers_close(cse_led_carriers **carriers);

#endif
