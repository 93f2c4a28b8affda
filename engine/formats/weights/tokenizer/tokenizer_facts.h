/* The files of a tokenizer in a folder of Hugging Face as the facts of a GGUF file. */
#ifndef CSE_WEIGHTS_TOKENIZER_FACTS_H
#define CSE_WEIGHTS_TOKENIZER_FACTS_H

#include <jansson.h>

#include "csengine/status.h"
#include "engine/base/text.h"

/* For a model with so many tokens; NULL where there is no tokenizer.json, or where GGUF cannot hold
 * it, of which `notice` gets a line. CSE_DATA: the file is damaged, or has more tokens than the
 * model. json_decref(*facts) */
cse_status cse_tokenizer_facts_read(const char *folder, int64_t vocabulary, cse_text *notice,
                                    json_t **facts);

#endif
