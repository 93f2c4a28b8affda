/* A model that a server is to serve: weights, with or without an adapter. */
#ifndef CSE_DASHBOARD_MODELS_SERVED_MODEL_H
#define CSE_DASHBOARD_MODELS_SERVED_MODEL_H

#include <stdbool.h>

enum { CSE_MOST_SERVED_SETTINGS = 16 };

typedef struct cse_served_model {
    const char *given;         /* PATH or PATH=NAME */
    const char *adapter;       /* FOLDER or FOLDER=NAME, added to it, which names it; NULL: none */
    const char *chat_template; /* a file; NULL: the model's own */
    bool any_base;             /* the adapter may be of other weights */
    const char *settings[CSE_MOST_SERVED_SETTINGS + 1]; /* PATH=VALUE, ended by NULL */
} cse_served_model;

/* PATH, or PATH=NAME; without one the name is the last part of the path, without its end. free()
 * both. */
void cse_served_name_split(const char *given, char **path, char **name);

#endif
