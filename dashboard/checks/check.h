/* Checks a configuration without starting anything. */
#ifndef CSE_DASHBOARD_CHECKS_CHECK_H
#define CSE_DASHBOARD_CHECKS_CHECK_H

#include <jansson.h>

#include "engine/base/confinement.h"

typedef struct cse_check {
    const char *yaml;
    const json_t *overrides; /* path -> value, or NULL */
    const char *executable;  /* csengine: the model is traced in a process of its own; NULL: only
                              * the settings are checked, in this one */
    int client; /* socket of who asks: when it is closed, the check ends; -1: nobody's */
    const cse_confinement *confinement; /* what the job would be restricted to; NULL: nothing */
    const char *folder; /* of the job, which is there; NULL: one that is made for the check */
} cse_check;

/* What a check found, as arrays of Diagnostic objects. */
typedef struct cse_check_result {
    json_t *diagnostics; /* what is wrong: nothing would start */
    json_t *warnings;    /* settings that would have no effect */
} cse_check_result;

/* What a configuration says of a job. */
typedef struct cse_config_facts {
    /* Its processes: by its settings; by its plan, where the step was traced. */
    int64_t replicas, workers_per_replica, weight_servers;
    int processes_line, processes_column; /* of the setting that makes most of them; 0: none */
    int64_t memory_bytes;                 /* by its plan; 0: not known */
    int priority;                         /* 1 to 3; 0: it says none */
    json_t *label_words;                  /* array of "key=value"; the caller's; NULL on failure */
    bool has_library;                     /* a plugin is a shared object's */
    bool names_hosts;                     /* other ones, to run on */
} cse_config_facts;

/* A model that stands in a library is not traced, since nothing is loaded merely to check; a
 * warning says so. Appends to both lists, and fills `facts` as far as settings and plan tell.
 * CSE_TEMPORARY when the check itself could not be made, also because too many are under way. */
cse_status cse_check_configuration(const cse_check *check, const cse_check_result *result,
                                   cse_config_facts *facts);

/* The settings, with the overrides, against their tables, in this process, without a model: appends
 * what is wrong, all of it, and the settings of which this alone shows that they have no effect.
 * `facts` may be NULL. */
bool cse_check_settings(const cse_check *check, const cse_check_result *result,
                        cse_config_facts *facts);

#endif
