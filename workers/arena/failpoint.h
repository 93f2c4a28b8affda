/* Failpoints: named points of the protocol at which a test stops or kills the thread or process
 * that reaches them, since the critical windows are too short to be hit at random. When off, each
 * costs one relaxed load.
 *
 * X(point, what has just happened) */
#ifndef CSE_WORKERS_ARENA_FAILPOINT_H
#define CSE_WORKERS_ARENA_FAILPOINT_H

#include <stdatomic.h>

#define CSE_FAILPOINT_TABLE(X)                                                              \
    X(CSE_FAILPOINT_NODE_CLAIMED, "a node of the reduction tree was claimed")               \
    X(CSE_FAILPOINT_GRADIENT_DONE, "a microbatch gradient was computed and added")          \
    X(CSE_FAILPOINT_NODE_UNPUBLISHED, "a partial sum is complete, its word not yet")        \
    X(CSE_FAILPOINT_NODE_PUBLISHED, "a partial sum is complete and published")              \
    X(CSE_FAILPOINT_AUDIT_CLAIMED, "an unchecked node was claimed, to check it")            \
    X(CSE_FAILPOINT_AUDIT_TRIED, "another try was noted, its verdict not told")             \
    X(CSE_FAILPOINT_REDUCE_CLAIMED, "a chunk of the reduction was claimed")                 \
    X(CSE_FAILPOINT_REDUCE_UNPUBLISHED, "a chunk is reduced, its word not yet")             \
    X(CSE_FAILPOINT_NORM_CLAIMED, "the serial stage was claimed")                           \
    X(CSE_FAILPOINT_NORM_UNPUBLISHED, "the record is complete, the word not yet")           \
    X(CSE_FAILPOINT_UPDATE_CLAIMED, "a chunk of states was claimed")                        \
    X(CSE_FAILPOINT_UPDATE_PART, "one group's lines of a chunk were updated")               \
    X(CSE_FAILPOINT_UPDATE_UNPUBLISHED, "a chunk is updated, its word not yet")             \
    X(CSE_FAILPOINT_ADVANCE, "a stage was seen complete, the step word not moved")          \
    X(CSE_FAILPOINT_COMMITTED, "a step was committed, nobody was woken")                    \
    X(CSE_FAILPOINT_FILL_CLAIMED, "a microbatch of the ring was claimed")                   \
    X(CSE_FAILPOINT_FILL_UNPUBLISHED, "a microbatch is filled, its word not yet")           \
    X(CSE_FAILPOINT_RECOVERY_RESTORED, "recovery: a line was put back, not marked clean")   \
    X(CSE_FAILPOINT_RECOVERY_CLEAN, "recovery: a line is marked clean, its chunk not free") \
    X(CSE_FAILPOINT_RECOVERY_FREED, "recovery: one word was freed")                         \
    X(CSE_FAILPOINT_GRADIENT_PART, "a part of a node's sum is final, and told")             \
    X(CSE_FAILPOINT_PIECE_SENT, "a frame of a piece was sent to another host")              \
    X(CSE_FAILPOINT_PIECE_CLAIMED, "another host's piece begins to arrive")                 \
    X(CSE_FAILPOINT_PIECE_UNPUBLISHED, "another host's piece is there, its word not yet")   \
    X(CSE_FAILPOINT_PIECE_PUBLISHED, "another host's piece is there and published")         \
    X(CSE_FAILPOINT_PIECES_SENT, "all other hosts have this one's pieces")                  \
    X(CSE_FAILPOINT_STATES_SENT, "a frame of new states was sent to another host")          \
    X(CSE_FAILPOINT_STATES_CLAIMED, "another host's new states begin to arrive")            \
    X(CSE_FAILPOINT_STATES_UNPUBLISHED, "another host's new states are there, no word yet") \
    X(CSE_FAILPOINT_STATES_GATHERED, "a part of the states came, which is not told yet")    \
    X(CSE_FAILPOINT_INPUT_ASKED, "another host was asked for a microbatch")                 \
    X(CSE_FAILPOINT_INPUT_SENT, "a part of a microbatch was sent to another host")          \
    X(CSE_FAILPOINT_INPUT_UNPUBLISHED, "another host's microbatch is there, its word not yet")

typedef enum cse_failpoint {
#define CSE_FAILPOINT_ENUM(point, meaning) point,
    CSE_FAILPOINT_TABLE(CSE_FAILPOINT_ENUM)
#undef CSE_FAILPOINT_ENUM
        CSE_FAILPOINT_COUNT
} cse_failpoint;

/* Called at each point when not NULL; it may not return (kill, exit of the thread, jump). */
typedef void cse_failpoint_hook(cse_failpoint point);
extern _Atomic(cse_failpoint_hook *) cse_failpoint_armed;

#define CSE_FAILPOINT(point)                                                  \
    do {                                                                      \
        cse_failpoint_hook *cse_hook =                                        \
            atomic_load_explicit(&cse_failpoint_armed, memory_order_relaxed); \
        if (cse_hook)                                                         \
            cse_hook(CSE_FAILPOINT_##point);                                  \
    } while (0)

#endif
