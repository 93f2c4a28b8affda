/* Which parameters of a model a configuration trains, by expressions of their names (without
 * "model."): with `trainable` those alone that one matches somewhere, and of these not those that
 * one of `freeze` matches. What is not trained is a buffer: it has no gradient, no states of an
 * optimizer, and products that only its gradient needs are not computed. */
#ifndef CSE_ENGINE_NN_FREEZING_H
#define CSE_ENGINE_NN_FREEZING_H

#include "engine/base/arena.h"
#include "engine/base/config/settings.h"
#include "engine/base/pattern.h"

typedef struct cse_freezing_list {
    const char *setting;
    const cse_settings *settings;
    int count;
    cse_pattern **patterns;
    unsigned *found; /* parameters that each has matched */
} cse_freezing_list;

typedef struct cse_freezing {
    cse_arena *arena;
    cse_freezing_list freeze, trainable;
    const char **names; /* of all parameters */
    int name_count, name_capacity;
} cse_freezing;

/* Of the settings `freeze` and `trainable`, lists of texts, in `arena`; NULL where both are empty.
 * CSE_CONFIG: a text that is no regular expression. */
cse_status cse_freezing_new(cse_arena *arena, const cse_settings *settings,
                            cse_freezing **freezing);
void cse_freezing_clear(cse_freezing *freezing);
/* Whether a parameter that is declared is not trained. */
bool cse_freezing_holds(cse_freezing *freezing, const char *parameter);
/* After the model is built: each expression has matched one. CSE_CONFIG, with the nearest name. */
cse_status cse_freezing_check(const cse_freezing *freezing);

#endif
