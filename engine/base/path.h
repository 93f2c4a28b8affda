/* Paths as people write them in settings. A shell expands what stands on its command line, and
 * nobody expands what stands in a file. */
#ifndef CSE_BASE_PATH_H
#define CSE_BASE_PATH_H

#include "engine/base/arena.h"

/* Sets `*path` to `text`, with "~" or "~/" at its start replaced by the home directory (HOME,
 * else the user's entry in the password database); in `arena`, or `text` itself.
 * "$MODELZOO_ROOT/", which configurations of the ModelZoo have, is the folder of that variable
 * of the environment; where it is not set, the text stays as it is, and names no file. Returns
 * NULL, or why the path is refused, as the end of a sentence: it is empty, it has a "$", which
 * would stay a "$", or it begins with "~name". */
const char *cse_path_expand(cse_arena *arena, const char *text, const char **path);

/* What to do about a refusal. */
extern const char cse_path_hint[];

#endif
