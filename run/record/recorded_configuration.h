/* The configuration of a run, as its store keeps it. */
#ifndef CSE_RUN_RECORD_RECORDED_CONFIGURATION_H
#define CSE_RUN_RECORD_RECORDED_CONFIGURATION_H

#include <limits.h>
#include <stdbool.h>

#include "store/store.h"

/* Each may be NULL. */
typedef struct cse_configuration_texts {
    const char *resolved; /* config.yaml: with all defaults */
    const char *origins;  /* config.origins.json: where each value was set */
    const char *given;    /* config.given.yaml: as it was given, behind a line that names the folder
                           * in which its paths begin, so that the run can be started again */
} cse_configuration_texts;

/* Keeps them as artefacts. */
void cse_configuration_record(cse_store *store, const cse_configuration_texts *texts);

/* The folder that the first line of a config.given.yaml names; false: it names none. */
bool cse_configuration_folder(const char *given, char folder[PATH_MAX]);

#endif
