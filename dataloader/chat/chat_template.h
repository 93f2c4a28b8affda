/* Chat templates: messages become the text that a model was trained on, as `apply_chat_template` of
 * Hugging Face's transformers writes it.
 *
 * A template is Jinja (jinja.palletsprojects.com/templates) in the way transformers sets it up:
 * trim_blocks, lstrip_blocks, break and continue, {% generation %}, raise_exception,
 * strftime_now, a tojson without HTML escapes, and nothing that changes a value or reads a file.
 * Templates come from anywhere: steps, memory, output and depth are bounded, and nothing of the
 * process can be reached. What is not accepted is refused by name, with line and column.
 *
 *     cse_chat_template *template;
 *     json_t *variables;
 *     CSE_TRY(cse_chat_template_of_model("model", NULL, &template, &variables));
 *     cse_chat_text text = { 0 };
 *     cse_chat_request request = { .messages = messages, .variables = variables };
 *     cse_status status = cse_chat_template_render(template, &request, &text);
 */
#ifndef CSE_DATALOADER_CHAT_CHAT_TEMPLATE_H
#define CSE_DATALOADER_CHAT_CHAT_TEMPLATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "csengine/status.h"
#include "dataloader/chat/chat_text.h"

typedef struct cse_chat_template cse_chat_template;

enum { CSE_CHAT_TEMPLATE_MOST_BYTES = 1 << 20 };

/* Parses `text`; `source` names it in messages. CSE_DATA with line and column: what is not Jinja
 * as above, more than CSE_CHAT_TEMPLATE_MOST_BYTES, no UTF-8. */
cse_status cse_chat_template_parse(const char *text, size_t length, const char *source,
                                   cse_chat_template **template);
void cse_chat_template_destroy(cse_chat_template **template);

/* Whether it says by {% generation %} what an answer is. */
bool cse_chat_template_marks_answers(const cse_chat_template *template);
/* Its name in messages; borrowed. */
const char *cse_chat_template_source_view(const cse_chat_template *template);

/* What a template sees. Members of messages that are null are as if they were not there, and the
 * reasoning of a message has each of its names (reasoning_content, thinking): transformers' way. */
typedef struct cse_chat_request {
    const json_t *messages;     /* a list of objects such as {"role": "user", "content": "..."} */
    const json_t *variables;    /* an object: bos_token, tools, documents, ...; may be NULL.
                              * tools and documents are none where it has none */
    bool add_generation_prompt; /* the text ends where an answer begins */
    const struct tm *now;       /* for strftime_now; NULL: that is not defined */
} cse_chat_request;

/* The text of a conversation. CSE_DATA with line and column: what the template itself refuses by
 * raise_exception ("refused by the template: ..."), an operation that its values do not have, a
 * limit. */
cse_status cse_chat_template_render(const cse_chat_template *template,
                                    const cse_chat_request *request, cse_chat_text *text);

/* The template of a model and the variables that it is given (bos_token, eos_token, ...;
 * json_decref). `model`: a folder with chat_template.jinja, chat_template.json or
 * tokenizer_config.json (a text, or a list of named ones), a file of a tokenizer in such a folder,
 * or a GGUF file. `name`: of a template beside the default one, such as "tool_use"; NULL: the
 * default one. CSE_NO_INPUT: there is none, and where one was looked for; CSE_DATA. */
cse_status cse_chat_template_of_model(const char *model, const char *name,
                                      cse_chat_template **template, json_t **variables);
/* The special tokens that the files beside a tokenizer, or a GGUF file, name: an object with the
 * members bos_token, eos_token, ... that are known; json_decref. `model` as above. */
cse_status cse_special_tokens_of_model(const char *model, json_t **tokens);
/* The template that a file holds, with the variables of `model` (NULL: none). */
cse_status cse_chat_template_of_file(const char *path, const char *model,
                                     cse_chat_template **template, json_t **variables);

#endif
