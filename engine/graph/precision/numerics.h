/* Which tensors of a step have statistics recorded, and how often: the settings, resolved. */
#ifndef CSE_PRECISION_NUMERICS_H
#define CSE_PRECISION_NUMERICS_H

#include "csengine/extend.h"
#include "engine/base/arena.h"
#include "engine/graph/graph.h"

typedef struct cse_numerics {
    cse_arena *arena; /* of all that the request borrows */
    cse_numerics_request request;
} cse_numerics;

/* From checked settings (cse_numerics_setting_table), or from YAML, "{every: 100, tensors:
 * [model.head.*]}". *numerics is NULL when no step takes statistics. Fails with CSE_CONFIG, naming
 * the place. The caller owns the result. */
cse_status cse_numerics_new(const cse_settings *settings, cse_numerics **numerics);
cse_status cse_numerics_parse(const char *yaml, cse_numerics **numerics);
void cse_numerics_destroy(cse_numerics **numerics);
/* Steps from one with statistics to the next; 0: none takes them, or `numerics` is NULL. */
int64_t cse_numerics_every(const cse_numerics *numerics);

#endif
