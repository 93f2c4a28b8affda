/* Internals of a mover: what it knows of the other hosts, and its parts. */
#ifndef CSE_WORKERS_WORKER_MOVER_STATE_H
#define CSE_WORKERS_WORKER_MOVER_STATE_H

#include <pthread.h>

#include "workers/arena/piece.h"
#include "workers/arena/shards.h"
#include "workers/hosts/mover_place.h"
#include "workers/links/link.h"
#include "workers/worker/work_state.h"

/* How much of which chunk of the states was sent, or has come. */
typedef struct cse_state_cursor {
    int chunk;
    int64_t at;
} cse_state_cursor;

/* A part of the states on its way to the leading host. */
typedef struct cse_part_wanted {
    int chunk, host; /* -1: none */
    int64_t wanted;  /* 1 + the step before which it is so */
    int64_t at;
} cse_part_wanted;

typedef struct cse_mover_peer {
    bool connected;
    int64_t ready, told_ready; /* steps whose new states it takes; that it was told of this host */
    cse_state_cursor sends_states, receives_states;
    cse_part_wanted part;             /* that it has asked for */
    int64_t have;                     /* it has the own pieces of all steps below */
    int64_t told;                     /* it was told so of its own; -1: it is told again */
    bool asks;                        /* it is to be asked to send all again */
    cse_piece_cursor sends, receives; /* of pieces, and of joined stripes */
    cse_piece_cursor sends_joined, receives_joined;
    unsigned char *early; /* a frame of the next step, kept until this host is there */
    size_t early_bytes;
    cse_host_link_counts counted; /* that the arena was told */
    int64_t connections;          /* since then */
    int asked;                    /* microbatches that it was asked for */
    /* Positions that it asks for, at most as many as the ring has places, and how much of which
     * was sent. */
    int64_t *wants;
    int want_count, want_at;
    int64_t want_sent;
} cse_mover_peer;

/* A node from whose partial sum a frame is made. */
typedef struct cse_mover_source {
    cse_tree_node node;
    uint64_t claim; /* under which it is computed still (final_elements.h); 0: it is done */
} cse_mover_source;

typedef struct cse_mover_input cse_mover_input; /* of mover_input.c */

typedef struct cse_mover {
    cse_work *work;
    cse_cluster *cluster;
    const cse_host_link *link;
    cse_host_link_state *state;
    cse_status status;
    cse_mover_peer peers[CSE_MAX_HOSTS];
    unsigned char *taken; /* an early frame, while it is received */

    int64_t step; /* -1: none yet */
    const cse_host_cut *cut;
    cse_host_set owners;         /* of shards; see shards.h */
    bool sharded;                /* this step's sums are joined in shards */
    int joined;                  /* rounds whose own stripe lies in the root's place */
    cse_tree_node *own, *theirs; /* pieces of this host; of another one, for a moment */
    int own_count;
    int64_t complete_ns; /* when they were complete; 0: they are not */
    int64_t counts_ns;   /* the arena is told what was exchanged from then on */

    int64_t frame_elements, frame_input_bytes;
    unsigned char *wire; /* payload of a frame, and what it is of */
    int64_t wire_step;   /* -1: of nothing */
    cse_piece_cursor wire_cursor;
    size_t wire_bytes;
    cse_mover_source *sources; /* of what is read; room for all microbatches */
    int source_count;
    float *values;             /* joined elements of one frame */
    unsigned char *statistics; /* of a piece */

    /* Of a host without data: the place in the ring of each microbatch that it gets. */
    bool lacks_data;
    cse_mover_input *inputs;
    int unasked;            /* of them, whom nobody was asked for yet */
    const cse_graph *graph; /* by which indices are checked; NULL: they are not */
    unsigned char *states;  /* payload of a frame of states; NULL: they are not cut over hosts */
    int states_complete;    /* chunks, from the first, of which this host has the new states */
    cse_host_set states_lost;
    cse_part_wanted part; /* that this host has asked for */
    bool wants_read;      /* of a host with data: its input workers are to be woken */
    /* When the ring was last looked at. */
    int64_t looked_step, looked_cut;
    cse_host_set looked_lost;

    /* A thread turns the doorbell into a descriptor, for which the link can wait. */
    pthread_t watcher;
    bool watched;
    atomic_bool ends;
    int wake;
} cse_mover;

static inline int64_t cse_mover_elements(const cse_mover *mover)
{
    return mover->cluster->head->gradient_bytes / 4;
}

/* The pieces that `from` sends `to` in this step; one of the two is this host. */
cse_piece_stream cse_mover_stream(const cse_mover *mover, int from, int to);
/* The stripes that `from` has joined, for all others. */
cse_piece_stream cse_mover_joined_stream(const cse_mover *mover, int from);
/* Pieces of a host, into `nodes`; returns their number. */
int cse_mover_pieces(const cse_mover *mover, int host, cse_tree_node *nodes);

/* Adds the nodes of which elements [0, end) of `node` are made to the sources: those that are done,
 * or of which so much is final. False: some are neither. */
bool cse_mover_find_sources(cse_mover *mover, cse_tree_node node, int64_t end);
/* Whether the sources were, until here, what they were when they were found. */
bool cse_mover_sources_stood(const cse_mover *mover);
/* The partial sum of a node that is a source, else NULL: a cse_partial_sum_lookup. */
const unsigned char *cse_mover_source_sum(void *mover, cse_tree_node node);

/* Whether the partial sum of the node can be joined from what is there. */
bool cse_mover_covered(const cse_cluster *cluster, cse_tree_node node, int64_t sequence);
bool cse_mover_has_root(const cse_mover *mover);

/* Moves the step on, when the mover has made its stage complete. */
void cse_mover_advance(cse_mover *mover);

/* Sends as many frames of this step as the link takes. */
void cse_mover_send(cse_mover *mover, int host);
/* Begins again with the first one. */
void cse_mover_rewind(cse_mover *mover, int host);
/* Tells the host that its pieces are there, when they are and it does not know; and asks it for
 * them again. */
void cse_mover_confirm(cse_mover *mover, int host);

void cse_mover_receive(cse_mover *mover, int host, const unsigned char *bytes, size_t size);
/* Gives back what is claimed for it. */
/* Whether this mover has claimed the word of the node. */
bool cse_mover_holds(const cse_mover *mover, int node);
void cse_mover_give_back(cse_mover *mover, int host);

/* Microbatches of hosts without data: see mover_input.c. */
void cse_mover_prepare_inputs(cse_mover *mover, const cse_mover_place *place);
void cse_mover_destroy_inputs(cse_mover *mover);
/* Another step has begun. */
void cse_mover_enter_inputs(cse_mover *mover);
/* A host without data asks for what it has places for, one with data its input workers for what
 * others have asked. */
void cse_mover_ask(cse_mover *mover);
/* A host with data: sends the host what it has asked for, as far as it is there. */
void cse_mover_send_inputs(cse_mover *mover, int host);
/* A frame ASK or INPUT; false: one that this host may not be sent, or has not asked for. */
bool cse_mover_take_input(cse_mover *mover, int host, const cse_piece_frame *frame);
/* The connection to the host, or the host, is lost: nothing comes of it any more. */
void cse_mover_forget_inputs(cse_mover *mover, int host);

/* States that are cut over hosts: see mover_states.c. */
void cse_mover_prepare_states(cse_mover *mover);
/* Another step has begun. */
void cse_mover_enter_states(cse_mover *mover);
/* Once a turn, before the hosts are served. */
void cse_mover_turn_states(cse_mover *mover);
void cse_mover_send_states(cse_mover *mover, int host);
/* Begins again with what is sent to the host, and comes from it; nothing is known of what it was
 * told, when the connection is another one. */
void cse_mover_rewind_states(cse_mover *mover, int host);
void cse_mover_forget_states(cse_mover *mover, int host);
/* Whether a chunk has its states of the step with this number, from 1. */
static inline bool cse_update_is_done(const cse_cluster *cluster, int chunk, int64_t sequence)
{
    return cse_word_is(cse_word_load(&cluster->update[chunk]), CSE_WORD_DONE, sequence);
}
/* Whether all new states of the step are here. */
bool cse_mover_has_states(cse_mover *mover);
/* A frame READY, STATES, GATHER or PART; false: one that this host may not be sent. */
bool cse_mover_take_states(cse_mover *mover, int host, const cse_piece_frame *frame);

/* Joins the own stripes as far as all of them is there, and completes the root when all are. */
void cse_mover_join(cse_mover *mover);

#endif
