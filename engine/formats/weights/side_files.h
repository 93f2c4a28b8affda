/* Files that stand beside weights in a folder of Hugging Face, and that go where they go: of the
 * tokenizer, the template of chats, how pictures are prepared, the licence. They are copied as they
 * are. */
#ifndef CSE_WEIGHTS_SIDE_FILES_H
#define CSE_WEIGHTS_SIDE_FILES_H

#include "csengine/status.h"
#include "engine/base/text.h"

/* What a run keeps them in, below its model_dir. */
#define CSE_SIDE_FILES_FOLDER "side_files"

/* Copies those that are there from one folder to another, in which none of their names is taken
 * yet, or they are of an earlier copy. `names` (may be NULL) gets "a, b". CSE_IO, ... */
cse_status cse_side_files_copy(const char *from, const char *to, cse_text *names);

/* "a, b": those that a folder has; nothing where there is none. `but_tokenizer`: without those of
 * the tokenizer, which some formats hold. */
void cse_side_files_list(const char *folder, bool but_tokenizer, cse_text *names);
/* Whether there is a tokenizer.json among them (NULL: no folder). */
bool cse_side_files_have_tokenizer(const char *folder);

#endif
