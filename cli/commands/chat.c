/* `csengine chat`: a conversation with a language model, on a terminal or by lines. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/arguments/option_values.h"
#include "cli/models/model_job.h"
#include "cli/models/text_settings.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/report.h"
#include "cli/terminal/stop_signal.h"
#include "cli/terminal/text_output.h"
#include "engine/base/clock.h"
#include "run/infer/log_probabilities.h"
#include "run/infer/pair_decoder.h"
#include "run/infer/text_model.h"

enum { MAX_LINE_BYTES = 16 << 20, DEFAULT_TOKENS = 1024 };

typedef struct chat {
    const cse_command_line *line;
    cse_text_model model;
    cse_text_settings settings;
    json_t *messages;
    const char *system; /* NULL: none */
    bool json, interactive, drops;
    uint32_t number; /* of the answer */
    cse_text answer; /* that is under way, as it is shown */
} chat;

/* ---- the conversation ---- */

static cse_status add_message(chat *c, const char *role, const char *text, size_t size)
{
    json_t *content = json_stringn(text, size);
    if (content == NULL)
        return cse_fail(CSE_DATA, "chat: the message is no UTF-8 text");
    json_array_append_new(c->messages, json_pack("{s:s, s:o}", "role", role, "content", content));
    return CSE_OK;
}

static cse_status begin(chat *c)
{
    json_array_clear(c->messages);
    return c->system != NULL ? add_message(c, "system", c->system, strlen(c->system)) : CSE_OK;
}

/* The oldest turn goes, a question with its answer; the last question stays. */
static bool drop_turn(chat *c)
{
    const size_t first = c->system != NULL ? 1 : 0;
    if (json_array_size(c->messages) < first + 3)
        return false;
    json_array_remove(c->messages, first);
    json_array_remove(c->messages, first);
    return true;
}

/* The tokens of the conversation, with room for an answer: a quarter of the context, or as many as
 * it may have. */
static cse_status render(chat *c, int32_t **tokens, int64_t *count)
{
    const int64_t context = c->model.context;
    int64_t answer = c->settings.generation.max_new_tokens, dropped = 0;
    answer = answer < context / 4 ? answer : context / 4;
    CSE_TRY(cse_text_model_render(&c->model, c->messages, tokens, count));
    while (*count + answer > context && c->drops && drop_turn(c)) {
        free(*tokens);
        dropped += 2;
        CSE_TRY(cse_text_model_render(&c->model, c->messages, tokens, count));
    }
    if (dropped > 0)
        fprintf(stderr,
                "the context of %lld tokens is full: the %lld oldest messages are left "
                "out\n",
                (long long)context, (long long)dropped);
    return *count < context && (c->drops || *count + answer <= context)
               ? CSE_OK
               : cse_fail(CSE_DATA,
                          "chat: the conversation has %lld tokens, and the context %lld: begin a "
                          "new one (/reset)%s",
                          (long long)*count, (long long)context,
                          c->drops ? "" : ", or let old messages leave (--context_full drop)");
}

/* ---- an answer ---- */

static bool on_token(void *self, const cse_generated_token *token)
{
    chat *c = self;
    if (token->shown_count > 0)
        cse_text_add_bytes(&c->answer, token->shown, token->shown_count);
    if (!c->json)
        cse_print_model_text(token->shown, token->shown_count);
    return !cse_stop_signal_came();
}

static void print_answer(const chat *c, int64_t prompt_tokens, const cse_generation_result *result)
{
    static const char *const ends[] = { "length", "end", "stop", "interrupted" };
    json_t *line =
        json_pack("{s:{s:s, s:o}, s:s, s:I, s:I, s:I}", "message", "role", "assistant", "content",
                  cse_text_of_bytes(c->answer.data, c->answer.size), "end", ends[result->end],
                  "prompt_tokens", (json_int_t)prompt_tokens, "reused_tokens",
                  (json_int_t)result->reused, "tokens", (json_int_t)result->tokens);
    cse_json_print(line);
    fflush(stdout);
    json_decref(line);
}

static void tell_speed(const chat *c, const cse_generation_result *result, int64_t begun_ns)
{
    const double seconds = (double)(cse_clock_ns() - begun_ns) * 1e-9;
    if (cse_option_is_on(c->line, "stats"))
        fprintf(stderr, "%lld tokens in %.2f s; %lld of the conversation were kept\n",
                (long long)result->tokens, seconds, (long long)result->reused);
}

/* Bytes of an answer that are no character are U+FFFD. */
static void keep_answer(chat *c)
{
    json_array_append_new(c->messages,
                          json_pack("{s:s, s:o}", "role", "assistant", "content",
                                    cse_text_of_bytes(c->answer.data, c->answer.size)));
}

static cse_status write_answer(chat *c, const int32_t *tokens, int64_t count)
{
    const int64_t begun_ns = cse_clock_ns();
    const bool goes_on = !cse_option_is_on(c->line, "no_reuse");
    cse_generation_settings settings = c->settings.generation;
    if (settings.max_new_tokens > c->model.context - count)
        settings.max_new_tokens = c->model.context - count;
    const cse_text_model_need need = { tokens, count, settings.max_new_tokens, goes_on };
    cse_generation_result result = { .tokens = 0 };
    CSE_TRY(cse_text_model_fit(&c->model, &need));
    const cse_generation_request request = { .settings = &settings,
                                             .prompt = tokens,
                                             .count = count,
                                             .number = c->number++,
                                             .goes_on = goes_on,
                                             .listener = on_token,
                                             .self = c };
    cse_status status = cse_generate(c->model.generation, &request, &result);
    if (status == CSE_OK) {
        cse_text_add_bytes(&c->answer, result.rest.data, result.rest.size);
        if (c->json)
            print_answer(c, count, &result);
        else
            cse_print_model_text(result.rest.data, result.rest.size);
        tell_speed(c, &result, begun_ns);
    }
    if (!c->json)
        putchar('\n');
    fflush(stdout);
    cse_text_clear(&result.rest);
    return status;
}

/* Ctrl-C ends the answer; the conversation goes on with what is there of it. */
static cse_status answer(chat *c, const char *text, size_t size)
{
    int32_t *tokens = NULL;
    int64_t count = 0;
    CSE_TRY(add_message(c, "user", text, size));
    c->answer.size = 0;
    cse_text_add(&c->answer, "%s", "");
    cse_status status = render(c, &tokens, &count);
    if (status == CSE_OK)
        status = write_answer(c, tokens, count);
    free(tokens);
    if (status == CSE_OK)
        keep_answer(c);
    else
        json_array_remove(c->messages, json_array_size(c->messages) - 1);
    return status;
}

/* ---- lines ---- */

/* Whether the line is a command. *ends: of the conversation. */
static cse_status obey(chat *c, const char *text, bool *is_command, bool *ends)
{
    *is_command = text[0] == '/';
    if (strcmp(text, "/exit") == 0 || strcmp(text, "/quit") == 0)
        *ends = true;
    else if (strcmp(text, "/reset") == 0)
        return begin(c);
    else if (text[0] == '/')
        return cse_fail(CSE_USAGE,
                        "%.40s is no command; accepted: /reset begins a new "
                        "conversation, /exit ends",
                        text);
    return CSE_OK;
}

/* Whether the conversation goes on after what failed. */
static bool is_of_a_turn(cse_status status)
{
    return status == CSE_DATA || status == CSE_USAGE;
}

static cse_status take_line(chat *c, char *text, ssize_t size, bool *ends)
{
    bool is_command = false;
    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r'))
        text[--size] = '\0';
    if (size == 0)
        return CSE_OK;
    if (size > MAX_LINE_BYTES)
        return cse_fail(CSE_DATA, "chat: the line is longer than %d MB", MAX_LINE_BYTES >> 20);
    CSE_TRY(obey(c, text, &is_command, ends));
    return is_command ? CSE_OK : answer(c, text, (size_t)size);
}

static void ask(const chat *c)
{
    if (!c->interactive)
        return;
    fputs("> ", stdout);
    fflush(stdout);
}

static cse_status read_lines(chat *c)
{
    char *text = NULL;
    size_t capacity = 0;
    bool ends = false;
    cse_status status = CSE_OK;
    while (!ends && (status == CSE_OK || (c->interactive && is_of_a_turn(status)))) {
        if (status != CSE_OK)
            cse_report(status);
        status = CSE_OK;
        if (cse_stop_signal_count() > 1 || (cse_stop_signal_came() && !c->interactive))
            break;
        cse_stop_signal_forget(); /* of the answer before */
        ask(c);
        errno = 0;
        const ssize_t size = getline(&text, &capacity, stdin);
        if (size < 0) { /* the end of the input, or Ctrl-C */
            if (c->interactive)
                putchar('\n');
            break;
        }
        status = take_line(c, text, size, &ends);
    }
    free(text);
    return status == CSE_OK && cse_stop_signal_came() && !c->interactive
               ? cse_fail(CSE_INTERRUPTED, "chat: ended by a signal")
               : status;
}

static cse_status say_messages(chat *c)
{
    const char **given = cse_option_all_values(c->line, "message");
    cse_status status = CSE_OK;
    for (int i = 0; given[i] != NULL && status == CSE_OK; i++) {
        status = answer(c, given[i], strlen(given[i]));
        if (status == CSE_OK && cse_stop_signal_came())
            status = cse_fail(CSE_INTERRUPTED, "chat: ended by a signal");
    }
    free(given);
    return status;
}

/* ---- the command ---- */

static cse_status read_options(chat *c, cse_text_model_options *options)
{
    static const int64_t contexts[] = { 16, 1 << 24 };
    static const char *const ways[] = { "drop", "stop", NULL };
    const char *way = ways[0];
    CSE_TRY(cse_text_settings_read(c->line, false, &c->settings));
    if (c->settings.is_long)
        c->settings.generation.max_new_tokens = DEFAULT_TOKENS;
    CSE_TRY(cse_option_integer(c->line, "context", contexts, &options->context));
    CSE_TRY(cse_option_word(c->line, "context_full", ways, &way));
    c->drops = strcmp(way, "drop") == 0;
    c->json = cse_option_is_on(c->line, "json");
    c->system = cse_option_value(c->line, "system");
    c->interactive = cse_option_value(c->line, "message") == NULL && isatty(0) && isatty(1);
    options->tokenizer = cse_option_value(c->line, "tokenizer");
    options->chat_template = cse_option_value(c->line, "chat_template");
    return CSE_OK;
}

static cse_status talk(chat *c, const cse_job_settings *settings)
{
    cse_text_model_options options = { .context = 0 };
    int32_t *tokens = NULL;
    int64_t count = 0;
    CSE_TRY(read_options(c, &options));
    CSE_TRY(cse_text_model_open(settings, &options, &c->model));
    if (cse_model_takes_pairs(c->model.loaded.model))
        return cse_fail(CSE_USAGE, "chat: a model with an encoder has no conversation; `csengine "
                                   "generate` writes its texts");
    c->settings.generation.ends = c->model.turn_ends.tokens;
    c->settings.generation.end_count = c->model.turn_ends.count;
    CSE_TRY(begin(c));
    /* What is wrong with the template is told before anybody has written a line. */
    const json_t *nothing = c->messages;
    if (c->model.template == NULL)
        CSE_TRY(cse_text_model_render(&c->model, nothing, &tokens, &count));
    if (c->interactive)
        fprintf(stderr,
                "%s; context: %lld tokens. /reset begins anew, /exit ends; Ctrl-C ends an "
                "answer.\n",
                c->model.loaded.described, (long long)c->model.context);
    return cse_option_value(c->line, "message") != NULL ? say_messages(c) : read_lines(c);
}

static int run(const cse_command_line *line)
{
    cse_prepared_job job;
    chat c = { .line = line, .messages = json_array() };
    cse_stop_signal_note();
    cse_status status = cse_model_prepare(line, &job);
    if (status == CSE_OK)
        status = talk(&c, &job.settings);
    const int exit_code = cse_report_diagnostics(status, &job.diagnostics);
    cse_text_model_close(&c.model);
    cse_text_settings_clear(&c.settings);
    cse_text_clear(&c.answer);
    json_decref(c.messages);
    cse_finish();
    cse_job_clear(&job);
    return exit_code;
}

static const cse_option options[] = {
    { "message", "TEXT", NULL,
      "says this and prints the answer; repeatable; without it each line of the standard input is "
      "a message" },
    { "system", "TEXT", NULL, "the system's message, which begins the conversation" },
    { "max_new_tokens", "N", NULL, "ends an answer after so many tokens; 1024" },
    CSE_SAMPLING_OPTIONS,
    { "context", "N", NULL,
      "tokens of a conversation with its answer; without it those that the model takes, at most "
      "4096" },
    { "context_full", "HOW", NULL,
      "where a conversation is longer: drop leaves its oldest messages out, stop ends; drop" },
    { "chat_template", "FILE", NULL, "a template of chats, in Jinja; without it the model's own" },
    { "no_reuse", NULL, NULL,
      "computes the whole conversation for each answer; without it keys and values of the "
      "earlier messages are kept" },
    { "tokenizer", "PATH", NULL,
      "tokenizer.json, or a folder that holds it; without it that of the model" },
    { "stats", NULL, NULL, "prints tokens and seconds of each answer on the standard error" },
    { "json", NULL, NULL,
      "prints a JSON line for each answer: message, end, prompt_tokens, reused_tokens, tokens" },
    CSE_INFERENCE_OPTIONS,
    { 0 },
};

static const cse_command_note examples[] = {
    { "chat ./SmolLM2-135M-Instruct", "a conversation on the terminal" },
    { "chat tiny.gguf --system 'Answer in one word.' --message 'The capital of France?' --greedy",
      "one answer" },
    { 0 },
};

const cse_command cse_command_chat = {
    .name = "chat",
    .group = CSE_GROUP_RUN,
    .summary = "talks with a trained language model",
    .arguments = "FOLDER|FILE|CONFIG.yaml",
    .doc =
        "The argument is a folder of Hugging Face, a GGUF file, a checkpoint, the folder of a run, "
        "which stands for its newest checkpoint, or its configuration. Messages become text by the "
        "model's template of chats. An answer ends at the "
        "tokens that end a turn or a text. On a terminal /reset begins a new conversation and "
        "/exit ends; Ctrl-C ends an answer, a second one the program.",
    .options = options,
    .letters = "m=message s=system",
    .min_arguments = 1,
    .max_arguments = 1,
    .values = "context_full=drop|stop",
    .examples = examples,
    .computes = true,
    .run = run,
};
