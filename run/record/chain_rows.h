/* The chain of digests (run/session/step_chain.h) as rows of the run store: one a step, and what
 * the steps follow from where that changes. */
#ifndef CSE_RUN_RECORD_CHAIN_ROWS_H
#define CSE_RUN_RECORD_CHAIN_ROWS_H

#include "run/session/observer.h"
#include "store/store.h"

typedef struct cse_chain_rows {
    char *links; /* of the newest step; NULL: there is none */
} cse_chain_rows;

void cse_chain_rows_add(cse_chain_rows *rows, cse_store *store, const cse_chain_step *step);
void cse_chain_rows_clear(cse_chain_rows *rows);

#endif
