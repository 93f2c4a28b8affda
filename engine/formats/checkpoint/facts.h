/* The facts about a run as lines of a seal, after the tensors' lines and an empty one:
 *
 *     fact global_step 120
 *     fact model_name fc_mnist
 *     fact config trainer:\n  init: ...
 *
 * In a text a newline is written as \n and a backslash as \\. */
#ifndef CSE_CHECKPOINT_FACTS_H
#define CSE_CHECKPOINT_FACTS_H

#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "engine/formats/checkpoint/tensors.h"

void cse_facts_print(const cse_checkpoint *checkpoint, cse_text *lines);

/* Reads the lines, which are changed, into the checkpoint; texts lie in `arena`. False when a line
 * is malformed, unknown or repeated, or a number is missing. */
bool cse_facts_read(char *lines, cse_arena *arena, cse_checkpoint *checkpoint);

#endif
