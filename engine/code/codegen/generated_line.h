/* Which line of a compiled step's C computes a tensor. Groups that are alike are one function,
 * whose text is that of the first: the line is the one of the node at the same place there. */
#ifndef CSE_CODEGEN_GENERATED_LINE_H
#define CSE_CODEGEN_GENERATED_LINE_H

#include "csengine/status.h"
#include "engine/base/arena.h"

typedef struct cse_generated_line {
    const char *file; /* NULL: not found, as where a step has no C, or a state is updated */
    int line;
    const char *text; /* of the line; in a comment where a kernel of the library computes it */
} cse_generated_line;

/* Of the tracked tensor of that name of the step that is compiled in `directory`. Texts are in
 * `arena`. Fails where the directory holds no step. */
cse_status cse_generated_line_find(const char *directory, const char *tensor, cse_arena *arena,
                                   cse_generated_line *found);

#endif
