/* Several hosts in one thread: an arena, its workers and a mover for each, in random turns, with a
 * link in memory. Workers and movers die at the protocol's points, connections end, hosts are lost
 * for good, and the others go on with another cut. Every host that is left must have the bits that
 * one process alone computes. */
#ifndef CSE_TESTS_HOST_PLAY_H
#define CSE_TESTS_HOST_PLAY_H

#include "tests/support/fake_step.h"
#include "tests/support/memory_link.h"
#include "workers/arena/failpoint.h"
#include "workers/arena/worker_side.h"
#include "workers/worker/mover.h"

enum { MOST_STEPS = 64, MOST_WORKERS = 16, MOST_HOSTS = 66 };

typedef struct host {
    cse_cluster *cluster;
    cse_work *works[MOST_WORKERS];
    cse_mover *mover;
    int count;
    int64_t recorded;
    bool gone;
    float fetched[MOST_STEPS][FAKE_FETCHES];
} host;

typedef struct play_case {
    int microbatches, hosts, replicas, servers;
    cse_rounding payload;
    int64_t steps;
    int large;
    int with_data;                  /* so many hosts, the last ones; 0: all */
    int frame_bytes;                /* of input */
    int copies;                     /* of states that are cut over the hosts; 0: each has all */
    bool cuts_gradients, unclipped; /* then so are their sums; a step that reads no norm of them */
} play_case;

typedef struct play {
    const play_case *test;
    fake_step *step;
    unsigned char *states;
    cse_mover_place place;
    host hosts[MOST_HOSTS];
    int64_t cut_step; /* the first step of the newest cut */
} play;

typedef struct faults {
    int percent, point; /* deaths of processes, in 1/1000 at each point, or at one alone */
    int breaks;         /* 1 in so many turns ends a connection; 0: none */
    int losses;         /* hosts that are lost for good */
    void (*expect)(const play *self); /* at the end; may be NULL */
} faults;

/* Deaths at each point, and frames that movers sent while a replica computed, since the process
 * began. */
extern long play_deaths_at[CSE_FAILPOINT_COUNT], play_sent_early;

/* Opens the hosts alone; a test turns them. */
void play_open(play *self, const play_case *test, uint64_t seed);
void play_close(play *self);
/* Plays a case to its end, and checks the bits. Returns the number of deaths. */
long play_run(const play_case *test, const faults *given, uint64_t seed);

play_case play_random_case(uint64_t seed);
/* How many times as many seeds as usual: CSE_MOVER_SEEDS. Sanitizers take several times as long for
 * each, and look at the same code in the first ones. */
uint64_t play_seeds(uint64_t usual);
/* Bytes of elements [first, end) on the wire: all elements of the step's gradients are rounded, or
 * none is. */
int64_t play_wire_bytes(const cse_cluster *cluster, const int64_t range[2]);

#endif
