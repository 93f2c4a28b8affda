/* Internals of the membership: its state, and the functions that its files share.
 *
 * members_events.c takes what happens; members_due.c sends what is due, which follows from what
 * each host is known to have; members_succession.c says who leads after a leader. */
#ifndef CSE_WORKERS_GROUP_MEMBERS_STATE_H
#define CSE_WORKERS_GROUP_MEMBERS_STATE_H

#include "workers/group/members.h"
#include "workers/group/record_check.h"

enum {
    CSE_MEMBERS_WHY_BYTES = 512,
    CSE_MEMBERS_BEATS = 5, /* messages in a lease, of a host that has nothing to tell */
};

/* How long a host whose program has ended may still be heard of. */
#define CSE_MEMBERS_GONE_NS INT64_C(1000000000)

typedef struct cse_numbered_cut {
    int64_t number, execution; /* 0: none */
    bool ends;
    cse_host_cut cut;
} cse_numbered_cut;

typedef struct cse_member {
    cse_member_state state;
    bool connected, gone, told_end, said_hello;
    bool knows_hello; /* of this connection: who it is */
    int64_t process, heard_ns;
    int64_t told_ns, told_steps, told_promise, told_execution; /* the last TURN to it */
    int64_t told_records;          /* of its own records, how many in all it was told */
    int64_t execution, steps_done; /* what it said */
    int64_t ready;                 /* the execution that it stood before; 0: none */
    int64_t sent_cut, known_cut, sent_epoch;
    int64_t sent_bytes; /* of the job's file; -1: not even the job */
    char why[CSE_MEMBERS_WHY_BYTES];
} cse_member;

struct cse_members {
    cse_members_options options;
    int leader;
    int64_t epoch, ticked_ns;
    bool took_lead;
    int64_t held_since_ns; /* the lead is another process's, of which nothing is heard; 0: free */
    bool begun, wants_cut, wants_end, set; /* `set`: the arena has the newest cut */
    bool executes;                         /* the cut that it begins with was handed out */
    cse_members_execution execution;
    int64_t steps_done, steps_before; /* at the last question for most_released */
    int64_t promised;                 /* the most that was released */
    int64_t limit;                    /* of a follower: what its leader lets it release */
    int64_t cut_count;
    cse_numbered_cut first, newest; /* of the execution */
    cse_host_work work;             /* of this host in the execution */
    cse_measured_shares shares;     /* of the leader */
    cse_host_cut last_cut;          /* of the leader: the last that it made, in any execution */
    int64_t ready_sent, cut_known_sent;
    int64_t record_count;                              /* own records so far */
    cse_record_digest records[CSE_RECORD_CHECK_STEPS]; /* of a follower: the newest, as a ring */
    cse_record_check *check;                           /* of the leader */
    cse_host_message job;                              /* kind 0: none */
    cse_host_message end; /* to the followers, or from the leader; kind 0: none */
    char end_reason[CSE_MEMBERS_WHY_BYTES], end_digest[80];
    cse_text digests, others;
    unsigned char *chunk;
    cse_member members[CSE_MAX_HOSTS];
};

bool cse_members_leads(const cse_members *m);
/* Whether the host takes part, or is to. */
bool cse_members_counts(const cse_members *m, int host);
cse_status cse_members_send(cse_members *m, int host, const cse_host_message *message);
void cse_members_look_for_losses(cse_members *m, int64_t now_ns);

#endif
