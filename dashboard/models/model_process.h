/* The process of a model (`csengine serve-model`), and the lines that are exchanged with it. */
#ifndef CSE_DASHBOARD_MODELS_MODEL_PROCESS_H
#define CSE_DASHBOARD_MODELS_MODEL_PROCESS_H

#include <sys/types.h>

#include "engine/base/text.h"

typedef struct cse_model_process {
    pid_t pid; /* 0: it is not there */
    int input, output;
    cse_text read; /* bytes of lines that are not whole, or not taken */
} cse_model_process;

/* `words`: program and arguments, ended by NULL. CSE_TEMPORARY. */
cse_status cse_model_process_start(char **words, cse_model_process *process);
/* Its input ends; after some seconds it is killed. */
void cse_model_process_stop(cse_model_process *process);

/* False: it has ended. */
bool cse_model_process_write(cse_model_process *process, const char *text, size_t size);
/* Waits up to `wait_ms` for a line, without its end. 1: there is one; 0: not yet; -1: it has ended,
 * or has written what is no line. */
int cse_model_process_line(cse_model_process *process, int wait_ms, cse_text *line);

#endif
