/* The chain of digests (run/session/step_chain.h) as a run store has it. */
#ifndef CSE_RUN_TRAVEL_RUN_CHAIN_H
#define CSE_RUN_TRAVEL_RUN_CHAIN_H

#include "run/session/observer.h"
#include "store/reader.h"

/* What enters the chain from a step on, besides the digests. */
typedef struct cse_run_links {
    int64_t step;
    unsigned char before[CSE_CHAIN_BYTES]; /* the chain before that step */
    char *text;
} cse_run_links;

typedef struct cse_run_chain {
    cse_chain_step *steps; /* [count], ascending; `links` and `before` are not set */
    int64_t count, capacity;
    cse_run_links *links; /* [link_count], ascending */
    int link_count, link_capacity;
} cse_run_chain;

/* Of all steps, or of those in [first, last]; last 0: to the end. Release the chain also after a
 * failure. A run without digests has none. */
cse_status cse_run_chain_read(const char *model_dir, int64_t first, int64_t last,
                              cse_run_chain *chain);
void cse_run_chain_clear(cse_run_chain *chain);

/* NULL: the run has no digests of that step. */
const cse_chain_step *cse_run_chain_at(const cse_run_chain *chain, int64_t step);

/* Whether each step that is there follows from the one before it; *first: the first that does not,
 * or follows a step that is missing. */
bool cse_run_chain_holds(const cse_run_chain *chain, int64_t *first);

/* The first step that both have whose digests differ; 0: there is none. *common: how many both
 * have. */
int64_t cse_run_chain_differs(const cse_run_chain *a, const cse_run_chain *b, int64_t *common);

/* Whether two steps have the same digests. */
bool cse_chain_steps_equal(const cse_chain_step *a, const cse_chain_step *b);

#endif
