/* The names that a tensor may have in a checkpoint. */
#ifndef CSE_CHECKPOINT_NAMES_H
#define CSE_CHECKPOINT_NAMES_H

#include "engine/formats/checkpoint/tensors.h"

enum { CSE_CHECKPOINT_NAME_BYTES = 1024 };

/* 1 to CSE_CHECKPOINT_NAME_BYTES bytes without '/' and control characters, and not "."; false for
 * NULL. */
bool cse_checkpoint_name_is_good(const char *name);

/* A name that two of the tensors have, borrowed from one of them; NULL: there is none. */
const char *cse_checkpoint_repeated_name(const cse_checkpoint *checkpoint);

#endif
