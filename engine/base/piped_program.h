/* A program whose output is read. */
#ifndef CSE_BASE_PIPED_PROGRAM_H
#define CSE_BASE_PIPED_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/base/text.h"

/* Starts words[0] (a path, or a name that is searched in PATH) with these arguments, ended by NULL;
 * what it writes to standard error is the content of the file `errors`, or with NULL goes to the
 * same pipe. `output` is to be closed, `child` to be waited for.
 * CSE_TEMPORARY, CSE_UNAVAILABLE. */
cse_status cse_piped_program_start(char *const words[], const char *errors, pid_t *child,
                                   int *output);

/* Adds what comes from a pipe until its end to `text`, which gets at most `most` bytes by it; what
 * is behind them is read and left out. */
void cse_piped_program_read(int output, size_t most, cse_text *text);

/* Waits for its end; returns its exit code, 128 + N where signal N ended it. */
int cse_piped_program_wait(pid_t child);

/* What the file `errors` says of a csengine that failed: what stands behind the first "error: ",
 * and true; else its last line that is not empty, "" where there is none. */
bool cse_piped_program_error(const char *errors, char *message, size_t size);

/* Runs a program to its end; what it writes to both outputs is added to `text`, as above.
 * *exit_code is 128 + N where signal N ended it. Fails where it cannot be started, only. */
cse_status cse_piped_program_run(char *const words[], size_t most, cse_text *text, int *exit_code);
/* The same with another environment than that of this process. */
cse_status cse_piped_program_run_in(char *const words[], char *const environment[], size_t most,
                                    cse_text *text, int *exit_code);

/* A program that gets a text, and has a limited time to answer. */
typedef struct cse_piped_question {
    char *const *words;
    const cse_text *input; /* its standard input */
    int64_t deadline_ns;   /* of cse_clock_ns; at that time it is ended */
    size_t most;           /* bytes of each output that are kept */
} cse_piped_question;

typedef struct cse_piped_answer {
    cse_text output, errors; /* cleared by the caller, unless the call has failed */
    int exit_code;           /* 128 + N where signal N ended it */
    bool late;               /* it was ended at the deadline */
} cse_piped_answer;

/* Runs it in a process group of its own, which gets SIGTERM at the deadline and, where that does
 * not end it within a second, SIGKILL. Fails where it cannot be started, only. */
cse_status cse_piped_program_ask(const cse_piped_question *question, cse_piped_answer *answer);

#endif
