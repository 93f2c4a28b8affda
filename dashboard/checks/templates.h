/* The shipped configurations, held by the program: what a new job can start from. */
#ifndef CSE_DASHBOARD_CHECKS_TEMPLATES_H
#define CSE_DASHBOARD_CHECKS_TEMPLATES_H

#include <stddef.h>

typedef struct cse_template {
    const char *name; /* of the file in configs, without ".yaml" */
    const char *config;
} cse_template;

/* The files of configs, in name order, ended by a NULL name; written by autogen.sh. */
extern const cse_template cse_templates[];

#endif
