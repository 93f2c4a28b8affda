/* Written by autogen.sh: the plugins of run/infer/tasks. */
#include <stddef.h>

#include "run/infer/tasks/language_task.h"

extern const cse_language_task cse_task_arc_challenge;
extern const cse_language_task cse_task_arc_easy;
extern const cse_language_task cse_task_hellaswag;
extern const cse_language_task cse_task_lambada_openai;
extern const cse_language_task cse_task_mmlu;
extern const cse_language_task cse_task_piqa;

const cse_language_task *const cse_language_tasks[] = {
    &cse_task_arc_challenge,
    &cse_task_arc_easy,
    &cse_task_hellaswag,
    &cse_task_lambada_openai,
    &cse_task_mmlu,
    &cse_task_piqa,
    NULL,
};
