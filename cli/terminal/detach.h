/* A run in the background, which survives the terminal. */
#ifndef CSE_CLI_TERMINAL_DETACH_H
#define CSE_CLI_TERMINAL_DETACH_H

#include <stdbool.h>

typedef struct cse_detach_options {
    const char *model_dir;
    bool json;
    int (*body)(void *self); /* runs the job; returns the exit code */
    void *self;
} cse_detach_options;

/* Starts `body` in a process session of its own, with its output in model_dir/logs/output.log. When
 * its run store has the state RUNNING, prints the run's id, model_dir and process, and returns 0.
 * When it ends before that, shows its output and returns its exit code. Must be called before any
 * thread exists. */
int cse_detach(const cse_detach_options *options);

#endif
