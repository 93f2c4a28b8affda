/* Samples of the run's processes, as they go into the run store. */
#ifndef CSE_RUN_RECORD_TOPOLOGY_ROWS_H
#define CSE_RUN_RECORD_TOPOLOGY_ROWS_H

#include <stdbool.h>

#include "store/store.h"

/* Adds whose steps the sample's are: those of a validation are its batches. */
void cse_topology_rows_add(cse_store *store, bool training, const char *json);

#endif
