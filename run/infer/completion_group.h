/* Answers several requests at the same time: their texts are written together, and one that comes
 * joins them where there is place. It waits for no other text to end but where all places are
 * taken; then the next place is for the request with the fewest texts under way, the first of them.
 *
 * What a text is depends on its request and the weights alone, not on others at the time. */
#ifndef CSE_RUN_INFER_COMPLETION_GROUP_H
#define CSE_RUN_INFER_COMPLETION_GROUP_H

#include "run/infer/completions.h"

enum { CSE_MOST_TOGETHER = 16 };

typedef struct cse_completion_group cse_completion_group;

/* `texts` at a time, at most CSE_MOST_TOGETHER. */
cse_completion_group *cse_completion_group_new(cse_text_model *model, int texts);
/* Nobody is told of what is not over. */
void cse_completion_group_destroy(cse_completion_group **group);

/* Takes a request. `done`: it is over, and nothing of it is used any more. */
void cse_completion_group_add(cse_completion_group *group, const cse_completion_call *call,
                              const cse_completion_sink *sink, void (*done)(void *self));

typedef enum cse_completion_work {
    CSE_COMPLETIONS_OVER,  /* there is nothing to do */
    CSE_COMPLETIONS_GO_ON, /* call it again */
    CSE_COMPLETIONS_REST,  /* all wait for who reads them */
} cse_completion_work;
/* Begins the texts of one request where there is place, and writes a token of each text. */
cse_completion_work cse_completion_group_work(cse_completion_group *group);

#endif
