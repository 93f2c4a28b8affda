/* A compiled step in memory, so that its directory can be made again when somebody removes it under
 * a run: a process that takes the place of a lost one has to find it. */
#ifndef CSE_CODEGEN_KEPT_ARTEFACT_H
#define CSE_CODEGEN_KEPT_ARTEFACT_H

#include <limits.h>

#include "engine/code/codegen/artefact.h"

typedef struct cse_kept_artefact {
    char directory[PATH_MAX]; /* "": none */
    cse_artefact artefact;
} cse_kept_artefact;

/* Looks whether `directory` has the artefact of that digest, which is kept from the first look on,
 * and makes it again where it has not; that is told. A failure is told by the process that misses
 * it. */
void cse_kept_artefact_look(cse_kept_artefact *kept, const char *directory, const char *digest);
void cse_kept_artefact_clear(cse_kept_artefact *kept);

#endif
