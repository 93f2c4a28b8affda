/* Folders of sentence-transformers: a folder of Hugging Face whose modules.json says how vectors of
 * tokens become one of a text. Among the facts that is the object sentence_transformers, with
 * pooling (a name) and normalize (a bool), which no config.json has. */
#ifndef CSE_WEIGHTS_SENTENCE_FOLDER_H
#define CSE_WEIGHTS_SENTENCE_FOLDER_H

#include <jansson.h>

#include "csengine/status.h"

/* Adds it to the facts of a folder that has a modules.json. CSE_DATA names a module or a setting of
 * one that is not computed here. */
cse_status cse_sentence_folder_read(const char *folder, json_t *facts);

/* Takes it from the facts; NULL: a text has no vector. json_decref() */
json_t *cse_sentence_folder_take(json_t *facts);
/* Writes modules.json and what it names for what was taken. */
cse_status cse_sentence_folder_write(const char *folder, const json_t *taken,
                                     int64_t vector_channels);

/* The most tokens of a text that a folder's files say, as sentence-transformers takes them; 0: they
 * say nothing. CSE_DATA where it puts a text of its own before each. */
cse_status cse_sentence_folder_length(const char *folder, int64_t *tokens);

#endif
