/* The plugin kinds of the library, for `csengine list` and for the check of a configuration. The
 * check gets the table as an argument, since it lies in a lower layer than most of the kinds. */
#ifndef CSE_RUN_JOB_KINDS_H
#define CSE_RUN_JOB_KINDS_H

#include "engine/base/registry.h"

/* Every kind, ended by a NULL name; written by autogen.sh. */
extern const cse_kind cse_kinds[];

#endif
