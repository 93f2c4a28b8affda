/* Internals of a host group: its state, and its parts beside host_group.c. All that is not of the
 * thread alone is used with the lock held. */
#ifndef CSE_WORKERS_GROUP_HOST_GROUP_STATE_H
#define CSE_WORKERS_GROUP_HOST_GROUP_STATE_H

#include <pthread.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "workers/group/host_group_options.h"

struct cse_host_group {
    cse_host_group_options options;
    cse_arena *arena;
    const cse_host_link *link;
    cse_host_link_state *state; /* of the thread alone */
    cse_members_io io;
    cse_members *members;
    pthread_t thread;
    pthread_mutex_t lock;
    int wake;
    bool ends;
    cse_text sent;                     /* of the thread */
    const char *movers[CSE_MAX_HOSTS]; /* as its own mover is linked */
    /* The job. */
    cse_host_message job; /* its texts in `arena`; kind 0: none */
    int file;             /* descriptor of its checkpoint, or -1 */
    char file_path[4200];
    int file_errno;     /* why the file of the job cannot be written; 0: it can */
    int64_t file_bytes; /* that arrived */
    int64_t generation;
    bool left_alone;
    int job_from;
    cse_host_message leaves; /* to the leader; kind 0: nothing */
    char leaves_reason[512];
    /* The execution. */
    cse_host_cut cut;
    bool has_begun, started;
    cse_host_set lost_told;
    bool stands_alone;
    int64_t steps_done;
    bool lost_part;           /* of states that are cut over hosts */
    int64_t differs_since_ns; /* a record; 0: none does */
    /* Reports of other hosts, and the own one that the leader is to get; NULL: none. */
    char *reports[CSE_MAX_HOSTS], *report;
    bool left_out; /* a report was too long, and the log has said so */
    int64_t reports_ns[CSE_MAX_HOSTS];
    /* What this host says of its data, by the loader's number; NULL: nothing yet. */
    char **data_told;
    int data_count, data_capacity;
    int data_asked;    /* number of the loader that other hosts are asked for; -1: none */
    char *data_answer; /* NULL: none yet */
    int64_t data_asked_ns;
};

typedef struct cse_host_group group;

/* Of the thread alone. */
cse_status cse_host_group_send(cse_host_group *group, int host, const cse_host_message *message);
/* Ends a wait of the thread. */
void cse_host_group_wake(cse_host_group *group);

/* Of a leader: CSE_UNAVAILABLE when a host does not take part in time. */
cse_status cse_host_group_check_start(cse_host_group *group, int64_t waited_ns);

/* Reports: of another host, and the own one to the leader. */
void cse_host_group_take_report(cse_host_group *group, int host, const cse_host_message *message);
void cse_host_group_tell_report(cse_host_group *group);

/* Data. A message that is about them; false: it is not. */
bool cse_host_group_take_data(cse_host_group *group, int host, const cse_host_message *message);
/* Asks the hosts that have the data once more, when it is time. */
void cse_host_group_ask_again(cse_host_group *group);
/* CSE_UNAVAILABLE when this host has no data, and every host that has them is in the set. */
cse_status cse_host_group_check_data(const cse_host_group *group, const cse_host_set *lost);
void cse_host_group_free_data(cse_host_group *group);

#endif
