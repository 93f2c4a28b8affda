/* Internals of a mover: what it knows of the other hosts, and its parts. */
#ifndef CSE_WORKERS_WORKER_MOVER_STATE_H
#define CSE_WORKERS_WORKER_MOVER_STATE_H

#include <pthread.h>

#include "workers/arena/piece.h"
#include "workers/links/link.h"
#include "workers/worker/work_state.h"

typedef struct cse_mover_peer {
    bool connected;
    int64_t have; /* it has the own pieces of all steps below */
    int64_t told; /* it was told so of its own; -1: it is told again */
    /* Sending: the next frame, of piece `piece` of step `step`. */
    int64_t step;
    int piece;
    int64_t position; /* see cse_mover_total */
    /* Receiving: the node that is claimed for it (0: none), and the next position of its frames. */
    int node;
    int64_t expected;
    unsigned char *early; /* a frame of the next step, kept until this host is there */
    size_t early_bytes;
} cse_mover_peer;

typedef struct cse_mover {
    cse_work *work;
    cse_cluster *cluster;
    const cse_host_link *link;
    cse_host_link_state *state;
    cse_status status;
    cse_mover_peer peers[CSE_MAX_HOSTS];
    bool crowded; /* a frame found no room in the link's queue */

    int64_t step;                /* of `own`; -1: none */
    cse_tree_node *own, *theirs; /* pieces of this host; of another one, for a moment */
    int own_count;
    int64_t complete_ns; /* when they were complete; 0: they are not */

    int64_t frame_elements;
    unsigned char *wire; /* payload of a frame, and what it is of */
    int64_t wire_step, wire_position;
    int wire_piece;
    size_t wire_bytes;
    float *joined;
    unsigned char *statistics; /* of a piece */

    /* A thread turns the doorbell into a descriptor, for which the link can wait. */
    pthread_t watcher;
    bool watched;
    atomic_bool ends;
    int wake;
} cse_mover;

/* A piece's frames are numbered by position: its elements, and behind them the bytes of its
 * statistics in steps that take them. */
int64_t cse_mover_elements(const cse_mover *mover);
int64_t cse_mover_total(const cse_mover *mover, int64_t step);

/* Whether the partial sum of the node can be joined from what is there. */
bool cse_mover_covered(const cse_cluster *cluster, cse_tree_node node, int64_t sequence);

/* Moves the step on, when the mover has made its stage complete. */
void cse_mover_advance(cse_mover *mover);

/* Sends as many frames of this step as the link takes. */
void cse_mover_send(cse_mover *mover, int host);
/* Tells the host that its pieces are there, when they are and it does not know. */
void cse_mover_confirm(cse_mover *mover, int host);

void cse_mover_receive(cse_mover *mover, int host, const unsigned char *bytes, size_t size);
/* Gives back what is claimed for it. */
void cse_mover_give_back(cse_mover *mover, int host);

#endif
