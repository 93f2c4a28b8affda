/* Which of a step's tensors have their numbers counted, and how often: the settings, resolved. */
#ifndef CSE_PRECISION_NUMERICS_H
#define CSE_PRECISION_NUMERICS_H

#include "engine/base/arena.h"
#include "engine/graph/graph.h"

typedef struct cse_numerics {
    cse_arena *arena; /* of all that the request borrows */
    cse_numerics_request request;
} cse_numerics;

/* From YAML, "{every: 100, tensors: [model.head.*]}", with its places where it comes from a
 * configuration. *numerics is NULL when no step is observed. Fails with CSE_CONFIG, naming the
 * place. The caller owns the result. */
cse_status cse_numerics_parse(const char *yaml, cse_numerics **numerics);
void cse_numerics_destroy(cse_numerics **numerics);

#endif
