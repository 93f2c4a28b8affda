/* Weights of any origin for the parameters of the session's model, by name and shape. */
#ifndef CSE_SESSION_LOAD_WEIGHTS_H
#define CSE_SESSION_LOAD_WEIGHTS_H

#include "engine/base/text.h"
#include "engine/formats/weights/weights.h"
#include "run/session/session.h"

typedef struct cse_weights_loading {
    bool whole;                           /* each parameter must be there */
    bool trains;                          /* they may stay in the file until the first step */
    const cse_weights_adapters *adapters; /* added to them; NULL, or none: nothing */
    int parameters, taken;
    /* Parameters that keep their initial values, and weights that are of no use; data NULL: none.
     */
    cse_text notices[2];
} cse_weights_loading;

/* A frozen model (cse_frozen_model) gets its weights with those of an adapter merged, and the
 * session's origin stays. Nothing is changed where it fails: CSE_DATA when a shape differs, when
 * the settings of the model that the weights tell differ from the session's, when none fits, or one
 * is missing that must be there. The optimizer's states and the step stay. */
cse_status cse_session_load_weights(cse_session *session, const cse_model *model, const char *path,
                                    cse_weights_loading *loading);
void cse_weights_loading_clear(cse_weights_loading *loading);

#endif
