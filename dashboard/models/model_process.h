/* The process of a model (`csengine serve-model`), and the lines that are exchanged with it. */
#ifndef CSE_DASHBOARD_MODELS_MODEL_PROCESS_H
#define CSE_DASHBOARD_MODELS_MODEL_PROCESS_H

#include <sys/types.h>

#include "engine/base/text.h"

typedef struct cse_model_process {
    pid_t pid; /* 0: it is not there */
    int input, output;
    cse_text unsent; /* to it */
    cse_text read;   /* bytes of lines that are not whole, or not taken */
} cse_model_process;

/* `words`: program and arguments, ended by NULL. CSE_TEMPORARY. */
cse_status cse_model_process_start(char **words, cse_model_process *process);
/* Its input ends; after some seconds it is killed. */
void cse_model_process_stop(cse_model_process *process);

/* A line for it, which is sent while cse_model_process_wait waits. */
void cse_model_process_say(cse_model_process *process, const char *line);
/* Waits up to `wait_ms` until it says something, or `wake`, an eventfd (-1: none), is written to,
 * which is then as before. False: it has ended, or has written what is no line. */
bool cse_model_process_wait(cse_model_process *process, int wake, int wait_ms);
/* Whether it has said a line: without its end. */
bool cse_model_process_line(cse_model_process *process, cse_text *line);

#endif
