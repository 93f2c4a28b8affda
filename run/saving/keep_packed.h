/* Which weights of a model stay packed in memory: those that lie packed in the file that they come
 * from (nn/packed_parameters.h), where they are not trained; with states in a file those of 16 bits
 * are among them, of which half the bytes are read in each pass. It is asked before the model is
 * made, and told after. */
#ifndef CSE_SESSION_KEEP_PACKED_H
#define CSE_SESSION_KEEP_PACKED_H

#include "engine/base/text.h"
#include "engine/formats/weights/weights.h"
#include "run/session/session.h"

typedef struct cse_keep_packed {
    const char *path;                     /* of the weights, of any origin; NULL: there are none */
    const char *model;                    /* the name of the model that is made */
    const char *wanted;                   /* the setting weights_in_memory */
    const cse_weights_adapters *adapters; /* added to them as they are loaded; NULL: none */
    bool all;                             /* nothing is trained */
    bool goes_on; /* from a checkpoint of ours, whose states are taken as they are */
} cse_keep_packed;

/* Looks at the file for models that the session makes from now on. A file that cannot be opened is
 * for loading to refuse. */
void cse_session_keep_packed(cse_session *session, const cse_keep_packed *keep);
/* After the model was made: all that is packed there stayed so, where that was asked for, or the
 * run goes on from it. CSE_CONFIG. */
cse_status cse_session_check_packed(const cse_session *session, const cse_keep_packed *keep);
/* For people: which weights stayed packed, and how many did not. Nothing where there are none. */
void cse_session_tell_packed(const cse_session *session, cse_text *text);

#endif
