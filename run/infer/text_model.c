/* Decoders are compiled for lengths that are powers of two, so that few are made. */
#include "run/infer/text_model.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dataloader/tokenizer/tokenizer.h"
#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/formats/weights/folder.h"
#include "engine/formats/weights/side_files.h"
#include "run/infer/language_model.h"
#include "run/infer/pair_decoder.h"

enum { DEFAULT_CONTEXT = 4096, LEAST_PROMPT = 64, LEAST_TOKENS = 512, USUAL_TOKENS = 1024 };

/* ---- the template ---- */

/* A model without a template is no failure: it may write texts, and has no conversations. */
static cse_status open_template(const cse_job_settings *settings, const char *given,
                                cse_text_model *model)
{
    char side[PATH_MAX];
    const char *weights = model->loaded.path, *model_dir = settings->session.model_dir;
    const bool has_side = snprintf(side, sizeof side, "%s/" CSE_SIDE_FILES_FOLDER,
                                   model_dir != NULL ? model_dir : ".") < PATH_MAX;
    const bool is_own = cse_weights_is_folder(weights) || cse_tokenizer_is_in_weights(weights);
    const char *places[] = { is_own ? weights : NULL, has_side ? side : NULL, model_dir };
    if (given != NULL)
        return cse_chat_template_of_file(given, places[0], &model->template, &model->variables);
    for (size_t i = 0; i < sizeof places / sizeof places[0] && model->template == NULL; i++) {
        if (places[i] == NULL || (i > 0 && !cse_weights_is_folder(places[i])))
            continue;
        cse_status status =
            cse_chat_template_of_model(places[i], NULL, &model->template, &model->variables);
        if (status != CSE_OK && status != CSE_NO_INPUT)
            return status;
    }
    return CSE_OK;
}

/* ---- the model ---- */

static cse_status set_context(const cse_text_model_options *options, cse_text_model *model)
{
    const int64_t longest = cse_model_takes_pairs(model->loaded.model)
                                ? cse_longest_of_pair(model->loaded.model, false)
                                : cse_longest_sequence(model->loaded.model);
    model->context = options->context > 0                       ? options->context
                     : longest > 0 && longest < DEFAULT_CONTEXT ? longest
                                                                : DEFAULT_CONTEXT;
    return longest == 0 || model->context <= longest
               ? CSE_OK
               : cse_fail(CSE_USAGE,
                          "the context has %lld tokens, but the model takes %lld "
                          "(max_position_embeddings)",
                          (long long)model->context, (long long)longest);
}

cse_status cse_text_model_open(const cse_job_settings *settings,
                               const cse_text_model_options *options, cse_text_model *model)
{
    *model = (cse_text_model){ .context = 0 };
    CSE_TRY(cse_loaded_model_open(settings, &model->loaded));
    CSE_TRY(set_context(options, model));
    CSE_TRY(
        cse_text_codec_find(&(cse_text_codec_places){ .given = options->tokenizer,
                                                      .weights = model->loaded.path,
                                                      .model_dir = settings->session.model_dir },
                            cse_model_vocabulary(model->loaded.model), &model->codec));
    CSE_TRY(cse_end_tokens_find(model->loaded.model, model->codec, model->loaded.path, false,
                                &model->ends));
    CSE_TRY(cse_end_tokens_find(model->loaded.model, model->codec, model->loaded.path, true,
                                &model->turn_ends));
    return open_template(settings, options->chat_template, model);
}

void cse_text_model_close(cse_text_model *model)
{
    cse_generation_destroy(&model->generation);
    cse_text_codec_close(&model->codec);
    cse_chat_template_destroy(&model->template);
    json_decref(model->variables);
    model->variables = NULL;
}

cse_status cse_text_model_render(cse_text_model *model, const json_t *messages, int32_t **tokens,
                                 int64_t *count)
{
    cse_chat_text text = { 0 };
    struct tm now;
    const time_t seconds = time(NULL);
    *tokens = NULL;
    *count = 0;
    if (model->template == NULL)
        return cse_fail_at(
            &(cse_error){ .status = CSE_NO_INPUT,
                          .hint = "give the template of the model that it comes from as a file" },
            "%s: there is no template of chats: neither chat_template.jinja nor one in "
            "tokenizer_config.json",
            model->loaded.path);
    const cse_chat_request request = { .messages = messages,
                                       .variables = model->variables,
                                       .add_generation_prompt = true,
                                       .now = localtime_r(&seconds, &now) };
    cse_status status = cse_chat_template_render(model->template, &request, &text);
    if (status == CSE_OK)
        status = cse_text_codec_encode(model->codec, text.text, text.length, tokens, count);
    if (status == CSE_OK && *count == 0)
        status = cse_fail(CSE_DATA, "the template makes an empty text of these messages");
    cse_chat_text_clear(&text);
    return status;
}

cse_status cse_text_model_fit(cse_text_model *model, const cse_text_model_need *need)
{
    const int64_t room = model->context - need->count;
    if (room < 1)
        return cse_fail(CSE_DATA,
                        "the prompt has %lld tokens, and the context %lld: nothing can "
                        "follow it",
                        (long long)need->count, (long long)model->context);
    const int64_t more = need->max_new_tokens < room ? need->max_new_tokens : room;
    const int64_t prompt = cse_compiled_length(
        need->count > LEAST_PROMPT ? need->count : LEAST_PROMPT, model->context);
    const int64_t all = cse_compiled_length(
        need->count + more > LEAST_TOKENS ? need->count + more : LEAST_TOKENS, model->context);
    const bool fits = model->generation != NULL && need->count + more <= model->all_tokens &&
                      ((need->goes_on && cse_generation_reusable(model->generation, need->prompt,
                                                                 need->count) > 0) ||
                       (need->count <= model->prompt_tokens && 4 * prompt >= model->prompt_tokens));
    if (fits)
        return CSE_OK;
    cse_generation_destroy(&model->generation);
    model->prompt_tokens = prompt;
    model->all_tokens = all;
    return cse_generation_new(
        &(cse_generation_options){ .model = model->loaded.model,
                                   .codec = model->codec,
                                   .longest_prompt = prompt,
                                   .max_new_tokens = all > prompt ? all - prompt : 1,
                                   .ends_when_full = true },
        &model->generation);
}

cse_status cse_text_model_open_together(cse_text_model *model, int64_t texts)
{
    const int64_t usual = texts * USUAL_TOKENS;
    cse_generation_destroy(&model->generation);
    model->prompt_tokens = model->all_tokens = 0;
    return cse_generation_new(
        &(cse_generation_options){ .model = model->loaded.model,
                                   .codec = model->codec,
                                   .together = texts,
                                   .context = model->context,
                                   .pool_tokens = usual > model->context ? usual : model->context },
        &model->generation);
}
