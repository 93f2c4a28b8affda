/* This process's part in a group of hosts: members.h behind a thread of its own, which has the
 * connections to the other hosts.
 *
 * The thread keeps on talking while the job compiles, traces or saves, so that silence means that a
 * host cannot go on. The job's thread calls the functions here; what an arena has to know (a new
 * cut, who is lost, how far others are) is told to it in the turns of its execution's loop
 * (execution_options.h). */
#ifndef CSE_WORKERS_GROUP_HOST_GROUP_H
#define CSE_WORKERS_GROUP_HOST_GROUP_H

#include <stdbool.h>

#include "workers/group/host_group_options.h"

cse_status cse_host_group_open(const cse_host_group_options *options, cse_host_group **group);
void cse_host_group_close(cse_host_group **group);

/* How a program of another host ended; from any thread. */
void cse_host_group_gone(cse_host_group *group, int host, const char *how);
/* The program that started this one has ended: the leader is lost once its connection is. */
void cse_host_group_left_alone(cse_host_group *group);
/* Whether the programs of all other hosts are known to have ended. */
bool cse_host_group_all_gone(cse_host_group *group);
bool cse_host_group_leads(const cse_host_group *group);
const char *cse_host_group_name(const cse_host_group *group, int host);
int cse_host_group_size(const cse_host_group *group);

/* ---- leader ---- */

/* What the others are told to train; `file`: the checkpoint, or NULL. `hosts` and `movers` of the
 * job are filled in. */
cse_status cse_host_group_give_job(cse_host_group *group, const cse_host_message *job,
                                   const char *file);
/* The run has ended: tells the others, and waits a short, bounded time until they know. */
void cse_host_group_end(cse_host_group *group, const cse_host_message *leave);

/* ---- follower ---- */

/* What it is told to train: texts live until the next call. */
typedef struct cse_host_job {
    cse_host_message message; /* of the kind JOB */
    const char *file;         /* the checkpoint; NULL: none */
} cse_host_job;

/* Waits for a job, and for its checkpoint in the group's directory. CSE_UNAVAILABLE: refused;
 * CSE_INTERRUPTED: `stops` says so, which has to see that there is no leader any more; CSE_IO: the
 * checkpoint cannot be written. */
cse_status cse_host_group_wait_job(cse_host_group *group, int (*stops)(void *self), void *self,
                                   cse_host_job *job);
/* What the leader said at the end (kind REFUSED or LEAVE); false: nothing. Texts are valid until
 * the group is closed. */
bool cse_host_group_told(cse_host_group *group, cse_host_message *message);
/* Whether a new leader has another job for this host than `job`. */
bool cse_host_group_has_other_job(cse_host_group *group, const cse_host_job *job);
/* What this host is to do about the lead, and that the run's lock is another one's. */
cse_members_turn cse_host_group_turn_to_lead(cse_host_group *group);
void cse_host_group_note_lead_held(cse_host_group *group);
/* From here on this host is alone with the step in flight, which it ends by itself. */
void cse_host_group_stand_alone(cse_host_group *group);
bool cse_host_group_stands_alone(const cse_host_group *group);
/* Its job has ended: this host leads the others from here on, those that follow it within a
 * lease. */
typedef struct cse_host_group_leading {
    int min_hosts, replicas;
    bool even_shares;
} cse_host_group_leading;
void cse_host_group_lead(cse_host_group *group, const cse_host_group_leading *leading);
/* The leader gets the newest report of this host (topology.h), when it is connected. Longer ones
 * than CSE_HOST_REPORT_BYTES are left out, of which the log tells once. */
enum { CSE_HOST_REPORT_BYTES = 256 << 10 };
void cse_host_group_report(cse_host_group *group, const char *json);
/* Tells the leader why this host cannot go on. */
void cse_host_group_leave(cse_host_group *group, cse_status status, const char *reason);

/* ---- both: executions ---- */

/* Waits until all may begin, and fills what the execution needs of the other hosts; its pointers
 * live until the next call. `stops` as above: not 0 ends the wait with CSE_INTERRUPTED. */
cse_status cse_host_group_begin(cse_host_group *group, const cse_members_execution *execution,
                                int (*stops)(void *self), void *self, cse_execution_hosts *hosts);
/* The leader ends the execution early, after the same step everywhere, a few steps from here. */
void cse_host_group_end_execution(cse_host_group *group);
/* Whether the execution stands at that step. */
bool cse_host_group_ends_here(cse_host_group *group);
/* Of the leader: whether the execution has ended since a part of its states is lost. */
bool cse_host_group_lost_part(cse_host_group *group);
/* Whether a host's record of some step is another one than this host's. */
bool cse_host_group_differs(cse_host_group *group);
void cse_host_group_note_record(cse_host_group *group, int64_t step, uint64_t digest);
void cse_host_group_note_steps(cse_host_group *group, int64_t steps_done);

/* ---- both: data ---- */

bool cse_host_group_has_data(const cse_host_group *group);
/* What hosts without data are to know of data loader `number` of the job; copied. */
void cse_host_group_tell_data(cse_host_group *group, int number, const char *text);
/* Waits for that text of a host that has the data, to be freed. CSE_UNAVAILABLE: none of them is
 * left; CSE_INTERRUPTED: `stops` says so; CSE_DATA: it is too long. */
cse_status cse_host_group_ask_data(cse_host_group *group, int number, int (*stops)(void *self),
                                   void *self, char **text);

/* For reports. */
typedef struct cse_host_view {
    const char *name;
    cse_member_state state;
    bool connected;
    int64_t steps_done; /* -1: not known */
    char why[256];      /* it is lost, or was not let in; "": it is not */
} cse_host_view;
void cse_host_group_look(cse_host_group *group, int host, cse_host_view *view);
/* The newest report of another host, to be freed; NULL: none came. Bytes of another host. */
char *cse_host_group_reported(cse_host_group *group, int host, int64_t *age_ns);

#endif
