/* Some of other weights, under other names. */
#ifndef CSE_WEIGHTS_RENAMED_H
#define CSE_WEIGHTS_RENAMED_H

#include "engine/formats/weights/weights.h"

/* A view of none of them yet; with `owns` the others are closed with it. */
cse_weights *cse_renamed_new(cse_weights *from, bool owns);
/* From now on the others are closed with it. */
void cse_renamed_own(cse_weights *view);
/* Adds one of the others, by its position. CSE_DATA: a name that is there, or is none. */
cse_status cse_renamed_add(cse_weights *view, int source, const char *name);

#endif
