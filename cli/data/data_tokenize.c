/* All is written to a folder beside the one that is asked for, which takes its name when it is
 * whole: an interrupted command leaves nothing. */
#include "cli/data/data_tokenize.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/arguments/option_values.h"
#include "cli/terminal/json_values.h"
#include "cli/terminal/live_line.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "dataloader/prepare/tokenize.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/directory.h"
#include "engine/base/log.h"

enum { MOST_JOBS = 64, MOST_TIME = 1 << 20 };

static volatile sig_atomic_t is_interrupted;

static void note_interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

typedef struct wishes {
    cse_tokenize_options options;
    cse_token_writer_options output;
    const char *tokenizer;   /* NULL: one is trained */
    int64_t vocab_size;      /* of the one that is trained */
    cse_trainer_kind kind;   /* likewise */
    const char *end_of_text; /* NULL: found by name */
    char folder[PATH_MAX];   /* that is asked for */
    char partial[PATH_MAX];  /* that is written to */
} wishes;

typedef struct display {
    cse_live_line *line;
    const char *phase;
    int64_t all_bytes, begun_ns;
    cse_tokenize_progress so_far;
} display;

/* ---- progress ---- */

static void draw(void *self, int width, char *text)
{
    const display *d = self;
    char whole[512];
    const double share = d->all_bytes > 0 ? (double)d->so_far.text_bytes / (double)d->all_bytes : 0;
    const double seconds = (double)(cse_clock_ns() - d->begun_ns) * 1e-9;
    snprintf(whole, sizeof whole, "%s %3.0f%% %.1f MB, %.1f MB/s, %lld documents, %lld tokens",
             d->phase, 100 * (share < 1 ? share : 1), 1e-6 * (double)d->so_far.text_bytes,
             seconds > 0 ? 1e-6 * (double)d->so_far.text_bytes / seconds : 0,
             (long long)d->so_far.documents, (long long)d->so_far.tokens);
    snprintf(text, 512, "%.*s", width, whole);
}

static bool show(void *self, const cse_tokenize_progress *so_far)
{
    display *d = self;
    cse_live_line_begin_change(d->line);
    d->so_far = *so_far;
    cse_live_line_end_change(d->line);
    return is_interrupted == 0;
}

static void begin_phase(display *d, const char *phase)
{
    cse_live_line_begin_change(d->line);
    d->phase = phase;
    d->begun_ns = cse_clock_ns();
    d->so_far = (cse_tokenize_progress){ 0 };
    cse_live_line_end_change(d->line);
}

/* ---- options ---- */

static int processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static cse_status read_output(const cse_command_line *line, wishes *w)
{
    const char *to = cse_option_value(line, "to");
    if (to == NULL)
        return cse_fail(CSE_USAGE, "data tokenize: --to is missing: the folder to write to");
    size_t length = strlen(to);
    while (length > 1 && to[length - 1] == '/')
        length--;
    if (length == 0 || length + 16 > sizeof w->folder)
        return cse_fail(CSE_USAGE, "data tokenize: --to '%s' is no path of a folder", to);
    snprintf(w->folder, sizeof w->folder, "%.*s", (int)length, to);
    snprintf(w->partial, sizeof w->partial, "%.*s.partial", (int)length, to);
    if (access(w->folder, F_OK) == 0 && rmdir(w->folder) != 0)
        return cse_fail(CSE_CANNOT_CREATE,
                        "%s is there already, with files in it: give a folder that is new, or "
                        "remove it",
                        w->folder);
    return CSE_OK;
}

static cse_status read_wishes(const cse_command_line *line, wishes *w)
{
    static const char *const formats[] = { "hdf5", "npy", NULL };
    static const char *const policies[] = { "error", "skip", NULL };
    static const int64_t job_range[] = { 1, MOST_JOBS }, time_range[] = { 1, MOST_TIME };
    static const int64_t file_range[] = { 1, 1 << 30 }, vocab_range[] = { 257, 1 << 22 };
    static const char *const models[] = { "bpe", "unigram", NULL };
    const char *format = formats[0], *policy = policies[0], *model = models[0];
    int64_t jobs = processors() < MOST_JOBS ? processors() : MOST_JOBS;
    w->output = (cse_token_writer_options){ .time = 1024, .file_samples = 16384 };
    w->vocab_size = 0;
    CSE_TRY(cse_option_integer(line, "jobs", job_range, &jobs));
    CSE_TRY(cse_option_integer(line, "sequence_length", time_range, &w->output.time));
    CSE_TRY(cse_option_integer(line, "samples_per_file", file_range, &w->output.file_samples));
    CSE_TRY(cse_option_integer(line, "train_tokenizer", vocab_range, &w->vocab_size));
    CSE_TRY(cse_option_word(line, "format", formats, &format));
    CSE_TRY(cse_option_word(line, "train_model", models, &model));
    CSE_TRY(cse_option_word(line, "on_bad_record", policies, &policy));
    CSE_TRY(read_output(line, w));
    w->tokenizer = cse_option_value(line, "tokenizer");
    w->end_of_text = cse_option_value(line, "end_of_text");
    w->output.npy = strcmp(format, "npy") == 0;
    w->output.folder = w->partial;
    w->options.jobs = (int)jobs;
    w->options.skips_bad = strcmp(policy, "skip") == 0;
    w->options.field = cse_option_value(line, "field");
    w->options.paths = line->arguments + 1;
    w->options.path_count = line->argument_count - 1;
    if (w->options.field == NULL)
        w->options.field = "text";
    if ((w->tokenizer == NULL) == (w->vocab_size == 0))
        return cse_fail(CSE_USAGE, "data tokenize: give either --tokenizer FILE or "
                                   "--train_tokenizer N, one of the two");
    w->kind = strcmp(model, "unigram") == 0 ? CSE_TRAIN_UNIGRAM : CSE_TRAIN_BPE;
    return w->vocab_size > 0 || cse_option_value(line, "train_model") == NULL
               ? CSE_OK
               : cse_fail(CSE_USAGE, "data tokenize: --train_model is that of --train_tokenizer N, "
                                     "which is not given");
}

/* ---- the work ---- */

static cse_status write_file(const wishes *w, const char *name, const char *bytes, size_t size)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", w->partial, name);
    FILE *file = fopen(path, "wbxe");
    if (file == NULL)
        return cse_fail(CSE_CANNOT_CREATE, "%s: %s", path, strerror(errno));
    const bool written = fwrite(bytes, 1, size, file) == size;
    if (fclose(file) == 0 && written)
        return CSE_OK;
    return cse_fail(CSE_IO, "%s: writing failed: %s", path, strerror(errno));
}

static cse_status train_tokenizer(const wishes *w, display *d, cse_tokenizer **tokenizer)
{
    char path[PATH_MAX + 32];
    cse_text json = { 0 };
    begin_phase(d, "training the tokenizer");
    cse_status status = cse_train_tokenizer(&w->options, w->kind, w->vocab_size, &json);
    if (status == CSE_OK)
        status = write_file(w, "tokenizer.json", json.data, json.size);
    cse_text_clear(&json);
    snprintf(path, sizeof path, "%s/tokenizer.json", w->partial);
    return status == CSE_OK ? cse_tokenizer_load(path, tokenizer) : status;
}

/* The token behind each document: -1 for none. */
static cse_status find_end(wishes *w, const cse_tokenizer *tokenizer)
{
    static const char *const usual[] = { "<|endoftext|>", "<|end_of_text|>", "</s>", NULL };
    w->options.end_of_document = -1;
    if (w->end_of_text != NULL && strcmp(w->end_of_text, "none") == 0)
        return CSE_OK;
    if (w->end_of_text != NULL) {
        w->options.end_of_document = cse_tokenizer_find(tokenizer, w->end_of_text);
        return w->options.end_of_document >= 0
                   ? CSE_OK
                   : cse_fail(CSE_USAGE,
                              "data tokenize: --end_of_text: the tokenizer has no token "
                              "'%s'",
                              w->end_of_text);
    }
    for (int i = 0; usual[i] != NULL && w->options.end_of_document < 0; i++)
        w->options.end_of_document = cse_tokenizer_find(tokenizer, usual[i]);
    if (w->options.end_of_document >= 0)
        return CSE_OK;
    return cse_fail(CSE_USAGE, "data tokenize: the tokenizer has none of <|endoftext|>, "
                               "<|end_of_text|> and </s>: name the token behind each document by "
                               "--end_of_text TOKEN, or none");
}

static json_t *summary_of(const wishes *w, const cse_tokenizer *tokenizer,
                          const cse_token_writer_counts *counts, const cse_tokenize_result *result)
{
    json_t *features = w->output.npy
                           ? json_null()
                           : json_pack("[s, s, s]", "input_ids", "attention_mask", "labels");
    return json_pack(
        "{s:o, s:s, s:I, s:I, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "features", features,
        "format", w->output.npy ? "npy" : "hdf5", "max_seq_length", (json_int_t)w->output.time,
        "vocab_size", (json_int_t)cse_tokenizer_vocab_size(tokenizer), "eos_id",
        w->options.end_of_document, "num_sequences", (json_int_t)counts->samples, "num_tokens",
        (json_int_t)counts->tokens, "num_files", (json_int_t)counts->files, "num_documents",
        (json_int_t)result->documents, "num_bad_documents", (json_int_t)result->bad_documents,
        "num_not_utf8", (json_int_t)result->not_utf8, "text_bytes", (json_int_t)result->text_bytes);
}

static cse_status finish(const wishes *w, json_t *summary)
{
    char *text = json_dumps(summary, JSON_INDENT(2));
    cse_status status = write_file(w, "data_params.json", text, strlen(text));
    free(text);
    if (status == CSE_OK && rename(w->partial, w->folder) != 0)
        status = cse_fail(CSE_CANNOT_CREATE, "%s: %s", w->folder, strerror(errno));
    return status;
}

static cse_status tokenize(wishes *w, display *d, const cse_tokenizer *tokenizer, json_t **summary)
{
    cse_tokenize_result result;
    CSE_TRY(find_end(w, tokenizer));
    w->output.vocab_size = cse_tokenizer_vocab_size(tokenizer);
    w->output.padding = w->options.end_of_document >= 0 ? w->options.end_of_document : 0;
    begin_phase(d, "tokenizing");
    cse_token_writer *writer = cse_token_writer_new(&w->output);
    cse_status status = cse_tokenize(tokenizer, &w->options, writer, &result);
    if (status == CSE_OK)
        status = cse_token_writer_finish(writer);
    const cse_token_writer_counts counts = cse_token_writer_counts_of(writer);
    cse_token_writer_close(&writer);
    CSE_TRY(status);
    if (counts.files == 0)
        return cse_fail(CSE_DATA, "%s: the files hold no text", w->options.paths[0]);
    *summary = summary_of(w, tokenizer, &counts, &result);
    if (result.bad_documents > 0)
        json_object_set_new(*summary, "first_bad", json_string(result.first_bad));
    if (result.not_utf8 > 0)
        json_object_set_new(*summary, "first_not_utf8", json_string(result.first_not_utf8));
    return finish(w, *summary);
}

static cse_status prepare(wishes *w, display *d, json_t **summary)
{
    struct stat info;
    cse_tokenizer *tokenizer = NULL;
    for (int i = 0; i < w->options.path_count; i++)
        d->all_bytes += stat(w->options.paths[i], &info) == 0 ? info.st_size : 0;
    cse_remove_tree(w->partial);
    CSE_TRY(cse_make_directories("--to", w->partial));
    cse_status status = w->tokenizer != NULL ? cse_tokenizer_load(w->tokenizer, &tokenizer)
                                             : train_tokenizer(w, d, &tokenizer);
    if (status == CSE_OK && w->tokenizer != NULL)
        status = cse_tokenizer_copy(w->tokenizer, w->partial);
    if (status == CSE_OK)
        status = tokenize(w, d, tokenizer, summary);
    cse_tokenizer_close(&tokenizer);
    if (status != CSE_OK)
        cse_remove_tree(w->partial);
    return status;
}

static void print_summary(const wishes *w, const json_t *summary)
{
    const char *bad = json_string_value(json_object_get(summary, "first_bad"));
    cse_print("%s: %lld documents, %lld tokens of %lld, ", w->folder,
              (long long)cse_json_whole(summary, "num_documents", 0),
              (long long)cse_json_whole(summary, "num_tokens", 0),
              (long long)cse_json_whole(summary, "vocab_size", 0));
    if (!w->output.npy)
        printf("%lld samples of %lld, ", (long long)cse_json_whole(summary, "num_sequences", 0),
               (long long)w->output.time);
    printf("%lld files\n", (long long)cse_json_whole(summary, "num_files", 0));
    if (bad != NULL)
        cse_print("%lld documents were left out, the first: %s\n",
                  (long long)cse_json_whole(summary, "num_bad_documents", 0), bad);
}

static void warn(const json_t *summary)
{
    const char *first = json_string_value(json_object_get(summary, "first_not_utf8"));
    if (first != NULL)
        cse_log_line(CSE_LOG_WARNING,
                     "%lld documents have bytes that are no UTF-8; each became the character "
                     "U+FFFD, and what they said is lost. Convert such files, as by `iconv -f "
                     "WINDOWS-1252 -t UTF-8`. The first: %s",
                     (long long)cse_json_whole(summary, "num_not_utf8", 0), first);
}

int cse_data_tokenize(const cse_command_line *line)
{
    wishes w = { .tokenizer = NULL };
    display d = { .phase = "reading the tokenizer", .begun_ns = cse_clock_ns() };
    json_t *summary = NULL;
    const struct sigaction interrupt = { .sa_handler = note_interrupt, .sa_flags = SA_RESETHAND };
    cse_status status = read_wishes(line, &w);
    if (status != CSE_OK)
        return cse_report(status);
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGTERM, &interrupt, NULL);
    w.options.progress = show;
    w.options.self = &d;
    if (cse_is_terminal(2) && !cse_option_is_on(line, "json"))
        d.line =
            cse_live_line_open(&(cse_live_line_options){ .out = stderr, .draw = draw, .self = &d });
    status = prepare(&w, &d, &summary);
    cse_live_line_close(&d.line);
    warn(summary);
    if (status == CSE_OK && cse_option_is_on(line, "json"))
        cse_json_print(summary);
    else if (status == CSE_OK)
        print_summary(&w, summary);
    json_decref(summary);
    return status == CSE_OK ? 0 : cse_report(status);
}
