/* The roles of a run's processes: one table for the arena, log records, the run store, the command
 * line and the API. */
#ifndef CSE_BASE_ROLE_H
#define CSE_BASE_ROLE_H

#include <stddef.h>

/* X(name, bit in the mask of what a slot may claim, name in records, name for people, its work) */
#define CSE_ROLE_TABLE(X)                                                            \
    X(COORDINATOR, 0, "coordinator", "coordinator", "starts, watches and records")   \
    X(REPLICA, 1, "replica", "replica", "forward and backward of microbatches")      \
    X(WEIGHT_SERVER, 2, "weight_server", "weight server", "reduction, norm, update") \
    X(INPUT, 4, "input_worker", "input worker", "reads samples into the input ring") \
    X(MOVER, 8, "mover", "mover", "exchanges sums with other hosts")

typedef enum cse_role {
#define CSE_ROLE_ENUM(name, bit, word, text, doc) CSE_ROLE_##name = bit,
    CSE_ROLE_TABLE(CSE_ROLE_ENUM)
#undef CSE_ROLE_ENUM
} cse_role;

/* "weight_server"; "unknown" for a number that is no role. */
const char *cse_role_name(cse_role role);

/* One process of a run: its role, and its number among those of that role. */
typedef struct cse_process {
    cse_role role;
    int rank;
} cse_process;

/* "weight server 1", or "coordinator", of which there is one; `text` is returned. */
const char *cse_process_name(cse_process process, char *text, size_t size);

#endif
