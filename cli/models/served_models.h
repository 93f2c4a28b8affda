/* The models that `csengine serve` is to serve, from its options in their order:
 *
 *     --model base=small --chat_template chat.jinja --adapter ./law --model other --set PATH=VALUE
 *
 * --chat_template, --set and --adapter belong to the --model before them. An adapter makes a model
 * of its own: the base with the adapter added, under the adapter's name. */
#ifndef CSE_CLI_MODELS_SERVED_MODELS_H
#define CSE_CLI_MODELS_SERVED_MODELS_H

#include "cli/arguments/command.h"
#include "dashboard/models/served_model.h"

#define CSE_SERVED_MODEL_OPTIONS                                                                  \
    { "model", "PATH[=NAME]", NULL,                                                               \
      "answers OpenAI's requests (/v1/chat/completions, /v1/completions, /v1/embeddings) with "   \
      "this model: a folder of Hugging Face, a GGUF file, a checkpoint or a configuration; "      \
      "repeatable; without --root and --run the queue is kept in ./queue" },                      \
        { "adapter", "FOLDER[=NAME]", NULL,                                                       \
          "a folder of PEFT: serves the --model before it with this adapter besides, under the "  \
          "adapter's name; repeatable" },                                                         \
        { "any_base", NULL, NULL,                                                                 \
          "the weights may be others than those that the adapters were trained beside" },         \
        { "chat_template", "FILE", NULL,                                                          \
          "a template of chats, in Jinja, of the --model before it and of its adapters; without " \
          "it the model's own" },                                                                 \
        { "set", "PATH=VALUE", NULL,                                                              \
          "changes any setting of the --model before it and of its adapters, as in --set "        \
          "states.keep_in=file; repeatable" },                                                    \
    {                                                                                             \
        "model_context", "N", NULL,                                                               \
            "tokens of a prompt and its text; default: what a model takes, at most 4096"          \
    }

/* An array that ends with a row of zeros; free() it, also after a failure. CSE_USAGE: an option
 * without its --model, or given twice; CSE_DATA, CSE_NO_INPUT: of an adapter's configuration or a
 * template; CSE_CONFIG: of the settings. */
cse_status cse_served_models_read(const cse_command_line *line, cse_served_model **models);

#endif
