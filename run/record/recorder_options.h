/* What a recorder is opened with. */
#ifndef CSE_RUN_RECORD_RECORDER_OPTIONS_H
#define CSE_RUN_RECORD_RECORDER_OPTIONS_H

#include "run/record/record_tail.h"
#include "run/record/recorded_configuration.h"
#include "run/session/observer.h"
#include "store/store.h"

/* What is run; borrowed during cse_recorder_open. */
typedef struct cse_recorder_options {
    const cse_configuration *configuration; /* of the session: model_dir, processes, seed, labels */
    const char *name; /* of the run, unless $CSENGINE_RUN_NAME is set; NULL: the model's */
    const char *model_name, *optimizer_name;
    const char *canonical_configuration; /* its digest is stored; may be NULL */
    cse_configuration_texts texts;
    const char *run_directory; /* for sockets, as in cse_execution; it outlives the recorder */
    cse_succession succession; /* of coordinators */
    /* Records of this host from before it led, borrowed as long as the recorder; NULL: none. */
    const cse_record_tail *tail;
    /* A user's program: what its closures print, the checkpoints that it saves and its own numbers
     * are recorded as they come; nobody reports them otherwise. */
    bool is_program;
    const cse_settings *alerts; /* checked, borrowed as long as the recorder; NULL: none */
} cse_recorder_options;

#endif
