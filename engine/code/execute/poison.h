/* A debug setting that finds a value that is read after the memory plan gave its place away: with
 * CSE_POISON in the environment, all bytes of a value are set to 0xff after the last group that may
 * read it. In floating point they are NaN. Without it a plan that is wrong shows only where another
 * value happens to lie there. */
#ifndef CSE_EXECUTE_POISON_H
#define CSE_EXECUTE_POISON_H

#include "engine/code/execute/execute.h"

typedef struct cse_poison cse_poison;

/* NULL unless the environment asks for it. */
cse_poison *cse_poison_new(const cse_graph *graph);
void cse_poison_destroy(cse_poison **poison);

/* After a group of REPLICA has run; nothing happens for NULL. */
void cse_poison_after(const cse_poison *poison, const cse_frame *frame, int group);

#endif
