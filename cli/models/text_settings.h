/* The options of the commands that write texts: how the next token is chosen, and what ends a
 * text. */
#ifndef CSE_CLI_MODELS_TEXT_SETTINGS_H
#define CSE_CLI_MODELS_TEXT_SETTINGS_H

#include "cli/arguments/command.h"
#include "run/infer/end_tokens.h"
#include "run/infer/generation.h"

#define CSE_SAMPLING_OPTIONS                                                                     \
    { "temperature", "T", NULL, "divides the logits; 0: the most likely token each time; 1" },   \
        { "greedy", NULL, NULL, "the most likely token each time, as --temperature 0" },         \
        { "top_k", "K", NULL, "only the K most likely tokens; 0, all" },                         \
        { "top_p", "P", NULL, "only the fewest tokens whose probabilities reach P; 1, all" },    \
        { "min_p", "P", NULL,                                                                    \
          "only tokens that are at least P times as likely as the most likely one; 0, all" },    \
        { "repetition_penalty", "F", NULL,                                                       \
          "divides the logits of tokens that came already, in the prompt as well; 1, none" },    \
        { "presence_penalty", "X", NULL,                                                         \
          "subtracted from the logits of tokens that were generated already; 0" },               \
        { "frequency_penalty", "X", NULL, "the same, for each time that they were; 0" },         \
        { "no_repeat_ngram_size", "N", NULL,                                                     \
          "no N tokens come a second time in the same order; 0, any" },                          \
        { "min_new_tokens", "N", NULL, "no end of the text before so many tokens; 0" },          \
        { "stop", "TEXT", NULL, "ends a text before this; no part of it is shown; repeatable" }, \
    {                                                                                            \
        "seed", "N", NULL, "of the random numbers; 0"                                            \
    }

#define CSE_BEAM_OPTIONS                                                                        \
    { "num_beams", "N", NULL,                                                                   \
      "beam search with so many beams, in place of drawing each token; 1" },                    \
        { "length_penalty", "X", NULL,                                                          \
          "of beam search: a text's score is its log probability divided by its tokens to the " \
          "power of X; 1" },                                                                    \
        { "early_stopping", "WHEN", NULL,                                                       \
          "of beam search: true ends it at N texts, false where no beam seems better than "     \
          "these, never where none can become better; false" },                                 \
    {                                                                                           \
        "num_return_sequences", "N", NULL, "of beam search: how many texts are printed; 1"      \
    }

typedef struct cse_text_settings {
    cse_generation_settings generation; /* but for what ends a text */
    cse_end_tokens ends;
    const char **stop_words;
    bool is_long;           /* max_new_tokens was not given: up to 128, or what the model takes */
    cse_beam_options beams; /* num_beams 1: none */
    int64_t num_return_sequences;
} cse_text_settings;

/* Of a command that has the options above, and max_new_tokens; beams where `with_beams`. CSE_USAGE:
 * a value is out of range, or has no effect beside another option. Release with
 * cse_text_settings_clear, also after a failure. */
cse_status cse_text_settings_read(const cse_command_line *line, bool with_beams,
                                  cse_text_settings *settings);
void cse_text_settings_clear(cse_text_settings *settings);

#endif
