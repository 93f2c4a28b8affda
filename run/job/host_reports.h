/* The hosts of a run in its topology reports: what each follower said of itself, and what the
 * leader knows of all.
 *
 * A follower's report is text from another host, which has the run's key: known members are taken
 * over, of the right types, and bounded; all others are left out. */
#ifndef CSE_RUN_JOB_HOST_REPORTS_H
#define CSE_RUN_JOB_HOST_REPORTS_H

#include <jansson.h>

#include "run/job/host_change.h"
#include "workers/group/host_group.h"

/* Replaces "host" of the leader's own report by "hosts". `change`: NULL where hosts stay.
 *     "hosts": [{"name", "state", "leads", "connected", "steps_done", "why", "returns_ms",
 *                "report_age_ms", "exposed", "slowest", "processes": [...],
 *                "links": [{"to", ...}], "machine": {...}}]
 * "slowest": the host that the others wait for, where that is more than a twentieth of the time. */
void cse_host_reports_add(cse_host_group *group, cse_host_change *change, json_t *report);

#endif
