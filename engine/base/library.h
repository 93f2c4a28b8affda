/* Shared objects that hold plugins (csengine/plugin.h).
 *
 * A library is loaded once and stays until the process ends: descriptors are used by sessions,
 * steps and loggers of any lifetime. What is loaded is the file that was opened, whose digest is
 * taken before any of its code runs. */
#ifndef CSE_BASE_LIBRARY_H
#define CSE_BASE_LIBRARY_H

#include <stdint.h>

#include "csengine/plugin.h"

enum { CSE_LIBRARY_DIGEST_BYTES = 65 };

typedef struct cse_library {
    const char *path;                      /* as it was given first, ~ expanded */
    char digest[CSE_LIBRARY_DIGEST_BYTES]; /* BLAKE2b-256 of the file */
    int descriptor;                        /* of the file */
    uint64_t device, inode;
    int64_t modified_ns;
    const cse_plugin *plugins; /* ended by a NULL kind; each was checked */
} cse_library;

/* Loads a shared object, or finds the one that is loaded. `digest`: what its content must be, or
 * NULL. Every plugin of a kind that this engine knows is checked: version, name, required members.
 * CSE_NO_INPUT: the file is missing; CSE_DATA: it is no library of plugins, or not this one;
 * CSE_PERMISSION: this process may not load it. */
cse_status cse_library_load(const char *path, const char *digest, const cse_library **library);

/* The plugin `name` of a kind ("optimizer") in a library. CSE_CONFIG where there is none: what it
 * offers, "did you mean", or which kind the name has. */
cse_status cse_library_find(const cse_library *library, const char *kind, const char *name,
                            const void **descriptor);

/* The libraries of this process, in the order in which they were loaded; NULL after the last. */
const cse_library *cse_library_at(int index);

/* Which plugin a place asks for. */
typedef struct cse_plugin_wanted {
    const char *kind;    /* "optimizer" */
    const char *library; /* path of the shared object that holds it; NULL: any that is loaded */
    const char *name;
    const void *table; /* the built-in ones, ended by NULL; looked at without a library, first */
    bool any_case;     /* of a built-in name */
} cse_plugin_wanted;

/* Finds it; loads the library where one is given. `library` (may be NULL) receives where it was
 * found, or NULL for a built-in one. CSE_CONFIG as cse_registry_get, and where several loaded
 * libraries have the name; else as cse_library_load. */
cse_status cse_plugin_find(const cse_plugin_wanted *wanted, const void **descriptor,
                           const cse_library **library);

#endif
