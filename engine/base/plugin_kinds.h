/* The kinds of plugins that a shared object may offer: their names, the version of each contract,
 * and the members that a descriptor must have. A further kind is one row of the table. */
#ifndef CSE_BASE_PLUGIN_KINDS_H
#define CSE_BASE_PLUGIN_KINDS_H

#include <stddef.h>

#include "csengine/plugin.h"

/* A pointer of a descriptor that must not be NULL. */
typedef struct cse_required_member {
    const char *name; /* NULL ends a list */
    size_t offset;
} cse_required_member;

typedef struct cse_plugin_kind {
    const char *name;   /* as in a table of plugins: "input"; NULL ends the list */
    const char *plural; /* as in `csengine list`: "inputs" */
    const char *title;  /* as people call it: "input function" */
    int abi;
    cse_required_member required[6]; /* besides the name */
} cse_plugin_kind;

extern const cse_plugin_kind cse_plugin_kinds[];

/* NULL where there is no such kind. */
const cse_plugin_kind *cse_plugin_kind_find(const char *name);

#endif
