/* A run in the background, which survives the terminal. */
#ifndef CSE_CLI_DETACH_H
#define CSE_CLI_DETACH_H

#include <stdbool.h>

typedef struct cse_detach_options {
    const char *model_dir;
    bool json;
    int (*body)(void *self); /* runs the job; returns the exit code */
    void *self;
} cse_detach_options;

/* Starts `body` in a session of its own, its output in model_dir/logs/output.log, and returns once
 * its run store has the state RUNNING: 0, after a line with the run's id, model_dir and process.
 * When it ends before that, its output is shown and its exit code returned. Before any thread
 * exists. */
int cse_detach(const cse_detach_options *options);

#endif
