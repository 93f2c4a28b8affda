/* Lookup by name in the table of a plugin folder.
 *
 * A plugin folder holds one plugin a file; each file ends with the plugin's descriptor, whose
 * first two fields are its name and its one-line summary. autogen.sh writes the array of a folder's
 * descriptors (NULL-terminated, in name order), and these functions serve every kind alike. */
#ifndef CSE_BASE_REGISTRY_H
#define CSE_BASE_REGISTRY_H

#include <stddef.h>

#include "csengine/status.h"

/* What every descriptor begins with. */
typedef struct cse_descriptor {
    const char *name;
    const char *summary;
} cse_descriptor;

/* The descriptor at `index` of a table; NULL at its end. */
const cse_descriptor *cse_registry_at(const void *table, size_t index);

/* `table`: a NULL-terminated array of pointers to descriptors. NULL when there is no such name. */
const void *cse_registry_find(const void *table, const char *name);

/* As above; a missing name fails with CSE_CONFIG: `kind` ("optimizer"), the accepted names, and the
 * nearest one as "did you mean". */
cse_status cse_registry_get(const void *table, const char *kind, const char *name,
                            const void **plugin);

/* As above, but a name of other case is found too where none fits exactly: configurations of the
 * ModelZoo write adamw and AdaFactor. */
cse_status cse_registry_get_any_case(const void *table, const char *kind, const char *name,
                                     const void **plugin);

/* The candidate nearest to `word` by edit distance, or NULL when none is near enough to be meant.
 * `candidates` is NULL-terminated. */
const char *cse_did_you_mean(const char *word, const char *const *candidates);

/* One entry of a list of plugin kinds; a NULL name ends the list. */
typedef struct cse_kind {
    const char *name; /* plural, as in the folder: "ops" */
    const void *table;
} cse_kind;

#endif
