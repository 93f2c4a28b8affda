/* The configuration of a run, as its store keeps it. */
#ifndef CSE_RUN_RECORD_RECORDED_CONFIGURATION_H
#define CSE_RUN_RECORD_RECORDED_CONFIGURATION_H

#include "run/record/recorder.h"

/* Keeps it as the artefacts config.yaml (with all defaults), config.origins.json (where each value
 * was set) and config.given.yaml (as it was given; its first line names the folder in which its
 * paths begin, so that the run can be started again). */
void cse_recorded_configuration(cse_store *store, const cse_recorder_options *options);

#endif
