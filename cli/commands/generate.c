/* `csengine generate`: text that a trained language model writes after a prompt. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/option_values.h"
#include "cli/models/model_job.h"
#include "cli/models/text_settings.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/report.h"
#include "cli/terminal/stop_signal.h"
#include "cli/terminal/text_output.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "run/infer/generation.h"
#include "run/infer/language_model.h"
#include "run/infer/loaded_model.h"
#include "run/infer/pair_decoder.h"
#include "run/infer/sample_view.h"

enum { MAX_PROMPT_BYTES = 16 << 20, MAX_TEXTS = 1 << 20 };
/* Texts that are written together, and those that are printed at a time. */
enum { MOST_TOGETHER = 16, PRINTED_TOGETHER = 64 };

/* A prompt in tokens. */
typedef struct prompt {
    const char *text; /* of the command line */
    int32_t *tokens;
    int64_t count;
} prompt;

typedef struct generating {
    const cse_command_line *line;
    cse_loaded_model loaded;
    cse_text_codec *codec;
    cse_generation *generation;
    prompt *prompts;
    int prompt_count;
    int64_t texts; /* of each prompt */
    bool json;
    bool pairs; /* the model reads the prompt by itself, and writes another text */
    cse_text_settings settings;
    cse_text shown;      /* of a text of beam search */
    int64_t token_count; /* of all texts */
    const char *until;   /* ends a text where it contains this; NULL: nothing */
} generating;

/* A text under way: all bytes, and what is known of it and shown. */
typedef struct written {
    generating *generating;
    const prompt *prompt;
    int64_t number;
    bool at_once; /* what is known is printed at once */
    cse_text text, shown;
    json_t *tokens;
} written;

/* ---- what is printed ---- */

static bool on_token(void *self, const cse_generated_token *token)
{
    written *w = self;
    generating *g = w->generating;
    g->token_count++;
    cse_text_add_bytes(&w->text, token->bytes, token->byte_count);
    if (g->json)
        json_array_append_new(w->tokens, json_integer(token->token));
    if (token->shown_count > 0)
        cse_text_add_bytes(&w->shown, token->shown, token->shown_count);
    if (w->at_once)
        cse_print_model_text(token->shown, token->shown_count);
    return !cse_stop_signal_came() && (g->until == NULL || strstr(w->text.data, g->until) == NULL);
}

static void print_json(const prompt *p, int64_t number, const cse_text *text, json_t *more)
{
    json_t *line =
        json_pack("{s:o, s:I, s:o}", "prompt", cse_bytes_json(p->text, strlen(p->text)), "number",
                  (json_int_t)number, "text", cse_bytes_json(text->data, text->size));
    json_object_update(line, more);
    cse_json_print(line);
    json_decref(line);
}

/* Of a model of one text the prompt stands before what it goes on with. */
static void print_prompt(const generating *g, const prompt *p)
{
    if (!g->json && !g->pairs)
        cse_print_model_text(p->text, strlen(p->text));
}

/* The text `number` of all, whose prompt is one of the prompts in turn. */
static void begin_text(generating *g, int64_t number, written *w, cse_generation_request *request)
{
    const prompt *p = &g->prompts[number / g->texts];
    *w = (written){ .generating = g, .prompt = p, .number = number, .tokens = json_array() };
    cse_text_add(&w->text, "%s", "");
    cse_text_add(&w->shown, "%s", "");
    *request = (cse_generation_request){ .settings = &g->settings.generation,
                                         .prompt = p->tokens,
                                         .count = p->count,
                                         .number = (uint32_t)number,
                                         .listener = on_token,
                                         .self = w };
}

static void print_json_text(const written *w)
{
    json_t *more = json_pack("{s:O}", "tokens", w->tokens);
    print_json(w->prompt, w->number, &w->shown, more);
    json_decref(more);
}

static void end_text(written *w, cse_generation_result *result)
{
    cse_text_clear(&result->rest);
    cse_text_clear(&w->text);
    cse_text_clear(&w->shown);
    json_decref(w->tokens);
}

static cse_status write_text(generating *g, int64_t number)
{
    written w;
    cse_generation_request request;
    cse_generation_result result = { .tokens = 0 };
    begin_text(g, number, &w, &request);
    w.at_once = !g->json;
    print_prompt(g, w.prompt);
    cse_status status = cse_generate(g->generation, &request, &result);
    cse_text_add_bytes(&w.shown, result.rest.data, result.rest.size);
    if (g->json && status == CSE_OK) {
        print_json_text(&w);
    } else if (!g->json) {
        cse_print_model_text(result.rest.data, result.rest.size);
        putchar('\n');
    }
    end_text(&w, &result);
    return status;
}

/* Texts [first, first + count), printed in their order when all are there. */
static cse_status write_together(generating *g, int64_t first, int64_t count)
{
    written *texts = cse_calloc((size_t)count, sizeof *texts);
    cse_generation_request *requests = cse_calloc((size_t)count, sizeof *requests);
    cse_generation_result *results = cse_calloc((size_t)count, sizeof *results);
    for (int64_t i = 0; i < count; i++)
        begin_text(g, first + i, &texts[i], &requests[i]);
    cse_status status = cse_generate_together(g->generation, requests, count, results);
    for (int64_t i = 0; i < count; i++) {
        written *w = &texts[i];
        cse_text_add_bytes(&w->shown, results[i].rest.data, results[i].rest.size);
        if (g->json && status == CSE_OK) {
            print_json_text(w);
        } else if (status == CSE_OK) {
            print_prompt(g, w->prompt);
            cse_print_model_text(w->shown.data, w->shown.size);
            putchar('\n');
        }
        end_text(w, &results[i]);
    }
    free(texts);
    free(requests);
    free(results);
    return status;
}

/* ---- beam search ---- */

/* The tokens of a text without the one that ended it. */
static int64_t without_end(const generating *g, const cse_beam_text *text)
{
    for (int64_t i = 0; text->count > 0 && i < g->settings.ends.count; i++)
        if (text->tokens[text->count - 1] == g->settings.ends.tokens[i])
            return text->count - 1;
    return text->count;
}

static cse_status print_beam(generating *g, const prompt *p, int64_t number,
                             const cse_beam_text *beam)
{
    const int64_t count = without_end(g, beam);
    g->shown.size = 0;
    cse_text_add(&g->shown, "%s", "");
    CSE_TRY(cse_generation_text(g->generation, &g->settings.generation, beam->tokens, count,
                                &g->shown));
    g->token_count += count;
    if (!g->json) {
        print_prompt(g, p);
        cse_print_model_text(g->shown.data, g->shown.size);
        putchar('\n');
        return CSE_OK;
    }
    json_t *tokens = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(tokens, json_integer(beam->tokens[i]));
    json_t *more = json_pack("{s:o, s:o}", "tokens", tokens, "score", cse_json_finite(beam->score));
    print_json(p, number, &g->shown, more);
    json_decref(more);
    return CSE_OK;
}

static cse_status write_beams(generating *g, const prompt *p, int64_t *number)
{
    const cse_beam_request request = { .options = g->settings.beams,
                                       .prompt = p->tokens,
                                       .prompt_count = p->count,
                                       .stop_requested = cse_stop_signal_came };
    cse_beam_text *texts = cse_calloc((size_t)g->settings.beams.num_beams, sizeof *texts);
    int64_t count = 0;
    cse_status status =
        cse_generate_by_beams(g->generation, &g->settings.generation, &request, texts, &count);
    for (int64_t i = 0; i < count; i++) {
        if (status == CSE_OK && i < g->settings.num_return_sequences)
            status = print_beam(g, p, (*number)++, &texts[i]);
        free(texts[i].tokens);
    }
    free(texts);
    return status;
}

/* ---- prompts ---- */

/* The whole standard input, without the newline at its end. */
static cse_status read_standard_input(cse_text *text)
{
    char buffer[4096];
    size_t size;
    while ((size = fread(buffer, 1, sizeof buffer, stdin)) > 0 && text->size <= MAX_PROMPT_BYTES)
        cse_text_add_bytes(text, buffer, size);
    if (text->size > MAX_PROMPT_BYTES)
        return cse_fail(CSE_DATA, "generate: the prompt on the standard input is longer than %d MB",
                        MAX_PROMPT_BYTES >> 20);
    if (text->size > 0 && text->data[text->size - 1] == '\n')
        text->data[--text->size] = '\0';
    return text->size > 0 ? CSE_OK
                          : cse_fail(CSE_USAGE, "generate: there is no prompt: give --prompt TEXT, "
                                                "or text on the standard input");
}

/* An encoder's text ends with the token that its tokenizer ends texts with. */
static void end_prompt(const generating *g, prompt *p)
{
    const int32_t end = cse_text_codec_end(g->codec);
    if (end < 0 || p->tokens[p->count - 1] == end)
        return;
    p->tokens = cse_realloc(p->tokens, (size_t)(p->count + 1) * sizeof *p->tokens);
    p->tokens[p->count++] = end;
}

static cse_status read_prompts(generating *g, cse_text *input)
{
    const char **given = cse_option_all_values(g->line, "prompt");
    const char *piped[2] = { NULL };
    const char **texts = given;
    cse_status status = CSE_OK;
    if (given[0] == NULL) {
        status = read_standard_input(input);
        piped[0] = input->data;
        texts = piped;
    }
    while (status == CSE_OK && texts[g->prompt_count] != NULL)
        g->prompt_count++;
    g->prompts = cse_calloc((size_t)g->prompt_count + 1, sizeof *g->prompts);
    for (int i = 0; i < g->prompt_count && status == CSE_OK; i++) {
        prompt *p = &g->prompts[i];
        p->text = texts[i];
        status = cse_text_codec_encode(g->codec, p->text, strlen(p->text), &p->tokens, &p->count);
        if (status == CSE_OK && p->count == 0)
            status =
                cse_fail(CSE_USAGE, "generate: --prompt is empty: give at least one character");
        if (status == CSE_OK && g->pairs)
            end_prompt(g, p);
    }
    free(given);
    return status;
}

/* ---- the command ---- */

/* Without what loads and prepares, so that a rate is that of the passes: the first of each kind
 * stands apart. */
static void tell_times(const generating *g)
{
    const cse_generation_times t = cse_generation_times_of(g->generation);
    const double prompts = (double)t.prompt_ns * 1e-9, passes = (double)t.pass_ns * 1e-9;
    if (!g->json) {
        fprintf(stderr,
                "first prompt and first pass, which prepare weights: %.3f s and %.3f s\n"
                "%lld more prompts: %lld tokens in %.3f s; %lld more passes over %lld tokens of "
                "texts in %.3f s\n",
                (double)t.first_prompt_ns * 1e-9, (double)t.first_pass_ns * 1e-9,
                (long long)t.prompts, (long long)t.prompt_tokens, prompts, (long long)t.passes,
                (long long)t.tokens, passes);
        return;
    }
    json_t *line = json_pack(
        "{s:{s:f, s:f, s:I, s:I, s:f, s:f, s:I, s:I, s:f, s:f}}", "stats", "first_prompt_seconds",
        (double)t.first_prompt_ns * 1e-9, "first_pass_seconds", (double)t.first_pass_ns * 1e-9,
        "prompts", (json_int_t)t.prompts, "prompt_tokens", (json_int_t)t.prompt_tokens,
        "prompt_seconds", prompts, "prompt_processor_seconds", (double)t.prompt_processor_ns * 1e-9,
        "passes", (json_int_t)t.passes, "tokens", (json_int_t)t.tokens, "pass_seconds", passes,
        "pass_processor_seconds", (double)t.pass_processor_ns * 1e-9);
    cse_json_print(line);
    json_decref(line);
}

static cse_status read_options(generating *g)
{
    static const int64_t texts[] = { 1, MAX_TEXTS };
    g->texts = 1;
    g->json = cse_option_is_on(g->line, "json");
    g->until = cse_option_value(g->line, "until");
    CSE_TRY(cse_option_integer(g->line, "texts", texts, &g->texts));
    return cse_text_settings_read(g->line, true, &g->settings);
}

/* Texts that are written together. */
static int64_t all_together(const generating *g)
{
    const int64_t all = g->prompt_count * g->texts;
    if (g->settings.beams.num_beams > 1 || g->pairs)
        return 1;
    return all < MOST_TOGETHER ? all : MOST_TOGETHER;
}

static cse_status write_texts(generating *g)
{
    const int64_t begun_ns = cse_clock_ns();
    cse_status status = CSE_OK;
    int64_t printed = 0;
    const bool searches = g->settings.beams.num_beams > 1;
    const int64_t all = g->prompt_count * g->texts,
                  block = searches || all_together(g) == 1 ? 1 : PRINTED_TOGETHER;
    for (int64_t i = 0; i < all && status == CSE_OK && !cse_stop_signal_came(); i += block)
        if (searches)
            status = write_beams(g, &g->prompts[i / g->texts], &printed);
        else if (block == 1)
            status = write_text(g, i);
        else
            status = write_together(g, i, all - i < block ? all - i : block);
    const double seconds = (double)(cse_clock_ns() - begun_ns) * 1e-9;
    if (status == CSE_OK && cse_option_is_on(g->line, "stats"))
        tell_times(g);
    if (status == CSE_OK && !cse_option_is_on(g->line, "quiet") && seconds > 0)
        fprintf(stderr, "%lld tokens in %.2f s, %.1f a second; %s\n", (long long)g->token_count,
                seconds, (double)g->token_count / seconds, g->loaded.described);
    return status == CSE_OK && cse_stop_signal_came()
               ? cse_fail(CSE_INTERRUPTED, "generate: ended by a signal")
               : status;
}

static cse_status generate(generating *g, const cse_job_settings *settings)
{
    cse_text input = { 0 };
    CSE_TRY(read_options(g));
    CSE_TRY(cse_loaded_model_open(settings, &g->loaded));
    if (cse_option_is_on(g->line, "numbers"))
        g->codec = cse_text_codec_of_numbers();
    else
        CSE_TRY(cse_text_codec_find(
            &(cse_text_codec_places){ .given = cse_option_value(g->line, "tokenizer"),
                                      .weights = g->loaded.path,
                                      .model_dir = settings->session.model_dir },
            cse_model_vocabulary(g->loaded.model), &g->codec));
    g->pairs = cse_model_takes_pairs(g->loaded.model);
    CSE_TRY(
        cse_end_tokens_find(g->loaded.model, g->codec, g->loaded.path, false, &g->settings.ends));
    g->settings.generation.end_count = g->settings.ends.count;
    cse_generation_options options = { .model = g->loaded.model,
                                       .codec = g->codec,
                                       .max_new_tokens = g->settings.generation.max_new_tokens,
                                       .ends_when_full = g->settings.is_long };
    cse_status status = read_prompts(g, &input);
    for (int i = 0; i < g->prompt_count; i++)
        if (g->prompts[i].count > options.longest_prompt)
            options.longest_prompt = g->prompts[i].count;
    options.together = all_together(g);
    if (status == CSE_OK)
        status = cse_generation_new(&options, &g->generation);
    if (status == CSE_OK)
        status = write_texts(g);
    cse_text_clear(&input);
    return status;
}

static void clear(generating *g)
{
    cse_generation_destroy(&g->generation);
    cse_text_codec_close(&g->codec);
    for (int i = 0; i < g->prompt_count; i++)
        free(g->prompts[i].tokens);
    free(g->prompts);
    cse_text_clear(&g->shown);
    cse_text_settings_clear(&g->settings);
    cse_finish();
}

static int run(const cse_command_line *line)
{
    cse_prepared_job job;
    generating g = { .line = line };
    cse_stop_signal_note();
    cse_status status = cse_model_prepare(line, &job);
    if (status == CSE_OK)
        status = generate(&g, &job.settings);
    int exit_code = cse_report_diagnostics(status, &job.diagnostics);
    clear(&g);
    cse_job_clear(&job);
    return exit_code;
}

static const cse_option options[] = {
    { "prompt", "TEXT", NULL, "begins a text; repeatable; without it the standard input is read" },
    { "max_new_tokens", "N", NULL,
      "ends a text after so many tokens; without it after 128, or where the model takes no more" },
    CSE_SAMPLING_OPTIONS,
    CSE_BEAM_OPTIONS,
    { "tokenizer", "PATH", NULL,
      "tokenizer.json, or a folder that holds it; without it that of model_dir, or bytes" },
    { "numbers", NULL, NULL, "prompts and texts are the numbers of tokens, as in 15496,11,995" },
    { "until", "TEXT", NULL, "ends a text once this was generated" },
    { "texts", "N", NULL, "texts for each prompt; 1" },
    { "json", NULL, NULL,
      "prints a JSON line for each text: prompt, number, text, tokens, and the score of "
      "beam search" },
    { "stats", NULL, NULL,
      "prints what the passes over prompts and over tokens took; with --json as a line" },
    { "quiet", NULL, NULL, "prints nothing but the texts" },
    CSE_INFERENCE_OPTIONS,
    { 0 },
};

static const cse_command_note examples[] = {
    { "generate configs/gpt2_bytes.yaml --prompt 'In the beginning' --temperature 0.8",
      "what the newest checkpoint of the run writes" },
    { 0 },
};

const cse_command cse_command_generate = {
    .name = "generate",
    .group = CSE_GROUP_RUN,
    .summary = "writes text with a trained language model",
    .arguments = "CONFIG.yaml|FOLDER|FILE",
    .doc = "Takes the weights of --checkpoint_path, or else of the newest checkpoint of model_dir. "
           "In place of the configuration stand weights that say what model they are of: a folder "
           "of Hugging Face, a GGUF file, a checkpoint. "
           "Keys and values of the tokens before are kept, so that each token costs one pass over "
           "one token.\n"
           "A text depends on its prompt, its number, the seed and the weights alone: the same "
           "command gives the same texts.",
    .options = options,
    .letters = "p=prompt q=quiet",
    .values = "early_stopping=true|false|never",
    .min_arguments = 1,
    .max_arguments = 1,
    .examples = examples,
    .computes = true,
    .run = run,
};
