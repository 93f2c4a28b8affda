/* What users have written about a run, at a step or of the whole: model_dir/notes.jsonl, a line of
 * JSON each. It lies beside run.db, which the run's process alone writes. */
#ifndef CSE_STORE_NOTES_H
#define CSE_STORE_NOTES_H

#include <jansson.h>
#include <stdint.h>

#include "csengine/status.h"

enum { CSE_NOTE_BYTES = 2000, CSE_MOST_NOTES = 1000 };

/* Adds a note; *added is then {"id", "time_ms", "step": number|null, "text", "author": text|null}.
 * `step` -1: of the run as a whole; `author` may be NULL. CSE_USAGE for a text that is empty,
 * longer than CSE_NOTE_BYTES, no UTF-8 or has control characters other than line ends and tabs;
 * CSE_UNAVAILABLE when the run has CSE_MOST_NOTES; CSE_NO_INPUT when there is no such folder. */
cse_status cse_notes_add(const char *model_dir, int64_t step, const char *text, const char *author,
                         json_t **added);

/* CSE_NO_INPUT when there is none of that number. */
cse_status cse_notes_remove(const char *model_dir, int64_t id);

/* An array of them, oldest first; empty where there is no file. Lines that say nothing of a note,
 * and one that was cut off, are left out. CSE_DATA when it is no regular file. */
cse_status cse_notes_read(const char *model_dir, json_t **notes);

#endif
