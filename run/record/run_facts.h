/* What the table `run` of a run store says of a run from its begin. */
#ifndef CSE_RUN_RECORD_RUN_FACTS_H
#define CSE_RUN_RECORD_RUN_FACTS_H

#include "run/record/recorder_options.h"

/* Names, counts, seed, labels, and the configuration with its digest. */
void cse_record_facts(cse_store *store, const cse_recorder_options *options);

#endif
