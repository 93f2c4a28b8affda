/* Who takes part in a run of several hosts, as one of them sees it: a state machine without clock,
 * socket or process of its own, so that a test can have any order of events.
 *
 * One host leads. It lets hosts in, cuts the microbatches of each execution over those that are
 * ready, and cuts them anew when one is lost. It alone says who is lost: a host that was silent for
 * a lease. That is told by an epoch that only grows, and a host that was declared lost and wakes up
 * is refused. A wrong verdict costs time, never bits, since each host has the whole state and
 * computes what it lacks of a lost one.
 *
 * A new cut counts from a step that no host can have reached before all have the cut. Hosts are
 * coupled by the sums of each step: where one may do P steps, no other has done more than P + 1, or
 * has begun the step after these. So the leader lets itself run only a few steps ahead; with a cut
 * on its way it stays below P, the cut counts from step P + 2, and it goes on when all others have
 * said that they know the cut. In the same way an execution ends early, after the same step
 * everywhere: for that no host releases more than P + 2 steps.
 *
 * What must arrive is sent from state, not once: a new connection gets again what the host on it
 * lacks. */
#ifndef CSE_WORKERS_GROUP_MEMBERS_H
#define CSE_WORKERS_GROUP_MEMBERS_H

#include "workers/group/host_message.h"
#include "workers/group/measured_shares.h"
#include "workers/hosts/host_cut.h"

typedef enum cse_member_state {
    CSE_MEMBER_ABSENT,   /* a place without a host */
    CSE_MEMBER_EXPECTED, /* its program is to connect */
    CSE_MEMBER_PRESENT,
    CSE_MEMBER_LOST,
} cse_member_state;

/* What hosts of one run must have in common. Borrowed. */
typedef struct cse_host_identity {
    const char *build, *instruction_set, *kernels; /* the last: digest of a self-test's bits */
    const char *deterministic; /* "portable": the last two may differ in name, not in bits */
} cse_host_identity;

typedef struct cse_members_io {
    void *self;
    /* As a link's: CSE_TEMPORARY and CSE_UNAVAILABLE are tried again. */
    cse_status (*send)(void *self, int host, const cse_host_message *message);
    /* Of the checkpoint that followers start from: so many bytes, or negative. */
    int64_t (*read_file)(void *self, int64_t offset, unsigned char *bytes, size_t size);
} cse_members_io;

typedef struct cse_members_options {
    const cse_members_io *io;
    int host, host_count, leader;
    cse_host_set absent;     /* places without a host */
    cse_host_set data_hosts; /* that have the data; none: all */
    int64_t epoch;
    int64_t lease_ns;
    int replicas;     /* of each host */
    bool even_shares; /* not by what is measured */
    int64_t process;  /* of this start of the program; not negative */
    cse_host_identity identity;
    const char *const *names; /* of the hosts, for messages */
} cse_members_options;

typedef struct cse_members cse_members;

cse_members *cse_members_new(const cse_members_options *options, int64_t now_ns);
void cse_members_destroy(cse_members **members);

/* ---- what happens ---- */

void cse_members_connected(cse_members *members, int host, int64_t now_ns);
void cse_members_disconnected(cse_members *members, int host);
/* The program of the host is known to have ended: it is lost as soon as its connection is. */
void cse_members_gone(cse_members *members, int host, const char *how);
/* CSE_DATA: a message that its sender may not send. JOB, FILE and LOG are the caller's; from a host
 * that takes the lead, JOB is told here first (cse_members_follow). */
cse_status cse_members_receive(cse_members *members, int host, const cse_host_message *message,
                               int64_t now_ns);
/* Sends what is due. To be called every few milliseconds. */
void cse_members_tick(cse_members *members, int64_t now_ns);

/* Another host leads from now on, with a higher epoch: forgets executions and cuts. */
void cse_members_follow(cse_members *members, int leader, int64_t epoch);

/* This host leads from now on, with the hosts that it is connected to, and those that connect
 * within a lease; what is to be done, they are told by cse_members_set_job. */
typedef struct cse_members_leading {
    int replicas;
    bool even_shares;
} cse_members_leading;
void cse_members_lead(cse_members *members, const cse_members_leading *leading, int64_t now_ns);

/* ---- of the leader ---- */

/* What followers are told to do; copied, but for what its texts point to. */
void cse_members_set_job(cse_members *members, const cse_host_message *job);
/* Tells the followers that the run has ended; all were told once the second is true. */
void cse_members_end(cse_members *members, const cse_host_message *leave);
bool cse_members_all_told(const cse_members *members);

/* ---- of each host: its executions ---- */

typedef struct cse_members_execution {
    int64_t number; /* from 1, the same on all hosts */
    int microbatches;
    int64_t first_step, last_step;
} cse_members_execution;

void cse_members_begin(cse_members *members, const cse_members_execution *execution);
/* Whether it may begin: on a leader, all present hosts are ready; on a follower, the leader has
 * begun. Gives the cut that it begins with. */
bool cse_members_may_begin(cse_members *members, cse_host_cut *cut);
/* The cut that is to follow in this execution, which the arena does not have yet; NULL: none. */
const cse_host_cut *cse_members_next_cut(const cse_members *members);
/* The arena has it. */
void cse_members_cut_is_set(cse_members *members);
/* Of the leader: the execution is to end early. */
void cse_members_end_execution(cse_members *members);
/* Whether it stands where it ends early. */
bool cse_members_ends_here(const cse_members *members);
/* Steps that may be released now. */
int64_t cse_members_most_released(cse_members *members);
void cse_members_note_steps(cse_members *members, int64_t steps_done);
/* What this host has computed in the execution. */
void cse_members_note_work(cse_members *members, const cse_host_work *work);
void cse_members_note_record(cse_members *members, int64_t step, uint64_t digest);

/* ---- what is known ---- */

int cse_members_leader(const cse_members *members);
int64_t cse_members_epoch(const cse_members *members);
/* Hosts that take no part, those that never did among them. */
cse_host_set cse_members_lost(const cse_members *members);
cse_member_state cse_members_state(const cse_members *members, int host);
/* Whether its program is known to have ended. */
bool cse_members_is_gone(const cse_members *members, int host);
bool cse_members_are_connected(const cse_members *members, int host);
/* Steps that another host has done in the execution that this one is in; -1: not known. */
int64_t cse_members_steps_of(const cse_members *members, int host);
/* Why the host is lost, or was not let in; "": it is not. Borrowed. */
const char *cse_members_why(const cse_members *members, int host);
/* Of the leader: a record that differs. False: none was found so far. */
bool cse_members_differ(const cse_members *members, int *host, int64_t *step);
/* As cse_record_check_accused. */
int cse_members_accused(const cse_members *members, int *told);
/* Of a follower: the leader has told it to end (`why` is then its message, REFUSED or LEAVE, valid
 * as long as this). */
const cse_host_message *cse_members_told_to_end(const cse_members *members);
/* Of a follower: the leader has begun another execution than this one. */
bool cse_members_leader_left(const cse_members *members);
/* Of a follower: nothing was heard from the leader for longer than a lease; the host with the
 * lowest number among those that are heard of is the first to take its place, and one that has data
 * before those that have none. */
bool cse_members_lack_leader(const cse_members *members, int *successor);

/* What a follower is to do about the lead. */
typedef enum cse_members_turn {
    CSE_TURN_FOLLOWS,  /* its leader is there */
    CSE_TURN_WAITS,    /* its leader is not, and it is another one's turn */
    CSE_TURN_LEADS,    /* as soon as it has the run's lock */
    CSE_TURN_GIVES_UP, /* another one has had that for a lease, and leads without this host */
} cse_members_turn;
cse_members_turn cse_members_turn_to_lead(const cse_members *members);
/* It is this host's turn, and the lock is another one's. */
void cse_members_note_lead_held(cse_members *members);

#endif
