/* A batch of pieces is read, encoded by several threads, and written in order. Which thread encodes
 * a piece does not show in its tokens. */
#include "dataloader/prepare/tokenize.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/prepare/text_pieces.h"
#include "dataloader/tokenizer/train.h"
#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "engine/formats/checkpoint/parallel.h"

enum { BATCH_PIECES = 4096, BATCH_BYTES = 1 << 25, MOST_JOBS = 256 };

typedef struct piece_work {
    cse_text_piece piece;
    cse_token_ids ids;
    size_t text_bytes;
    bool not_utf8;
    char *failure; /* why it could not be read; NULL: it could */
    cse_status status;
} piece_work;

typedef struct tokenizing {
    const cse_tokenize_options *options;
    cse_encoder *encoders[MOST_JOBS];
    int jobs;
    piece_work *work; /* [BATCH_PIECES] */
    int count;
    atomic_int next;
    bool not_utf8; /* a piece of the document so far */
} tokenizing;

static bool is_utf8(const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        uint64_t eight;
        if (size - at >= sizeof eight) {
            memcpy(&eight, text + at, sizeof eight);
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                at += sizeof eight;
                continue;
            }
        }
        const size_t length = cse_utf8_length(text + at, size - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

static cse_status encode_piece(tokenizing *t, cse_encoder *encoder, piece_work *work)
{
    char *text = NULL;
    size_t size = work->piece.size;
    if (work->piece.is_json)
        CSE_TRY(cse_json_line_text(work->piece.bytes, size, t->options->field, &text, &size));
    const char *bytes = text != NULL ? text : work->piece.bytes;
    work->text_bytes = size;
    work->not_utf8 = !is_utf8(bytes, size);
    cse_status status = cse_encode(encoder, bytes, size, &work->ids);
    free(text);
    return status;
}

/* The message of a thread is its own. */
static void encode_some(void *self, int job)
{
    tokenizing *t = self;
    for (int i; (i = atomic_fetch_add(&t->next, 1)) < t->count;) {
        piece_work *work = &t->work[i];
        work->ids.count = 0;
        work->not_utf8 = false;
        work->status = encode_piece(t, t->encoders[job], work);
        if (work->status != CSE_OK)
            work->failure = cse_strdup(cse_error_message());
    }
}

static cse_status read_batch(cse_text_pieces *pieces, tokenizing *t)
{
    size_t bytes = 0;
    for (t->count = 0; t->count < BATCH_PIECES && bytes < BATCH_BYTES; t->count++) {
        CSE_TRY(cse_text_pieces_next(pieces, &t->work[t->count].piece));
        if (t->work[t->count].piece.bytes == NULL)
            break;
        bytes += t->work[t->count].piece.size;
    }
    return CSE_OK;
}

static void tell_place(const cse_text_piece *piece, const char *why, char *text, size_t size)
{
    if (piece->line > 0)
        snprintf(text, size, "%s:%" PRId64 ": %s", piece->path, piece->line, why);
    else
        snprintf(text, size, "%s: %s", piece->path, why);
}

static cse_status write_piece(tokenizing *t, piece_work *work, cse_token_writer *writer,
                              cse_tokenize_result *result)
{
    const int32_t end = t->options->end_of_document;
    char where[512];
    if (work->failure != NULL) {
        tell_place(&work->piece, work->failure, where, sizeof where);
        if (!t->options->skips_bad)
            return cse_fail(work->status, "%s", where);
        if (result->bad_documents++ == 0)
            snprintf(result->first_bad, sizeof result->first_bad, "%s", where);
        return CSE_OK;
    }
    result->text_bytes += (int64_t)work->text_bytes;
    if (work->not_utf8 && !t->not_utf8 && result->not_utf8++ == 0)
        tell_place(&work->piece, "has bytes that are no UTF-8", result->first_not_utf8,
                   sizeof result->first_not_utf8);
    t->not_utf8 = (t->not_utf8 || work->not_utf8) && !work->piece.ends_document;
    CSE_TRY(cse_token_writer_add(writer, work->ids.ids, work->ids.count));
    if (!work->piece.ends_document)
        return CSE_OK;
    result->documents++;
    return end >= 0 ? cse_token_writer_add(writer, &end, 1) : CSE_OK;
}

static cse_status write_batch(tokenizing *t, cse_token_writer *writer, cse_tokenize_result *result)
{
    cse_status status = CSE_OK;
    for (int i = 0; i < t->count && status == CSE_OK; i++)
        status = write_piece(t, &t->work[i], writer, result);
    return status;
}

/* Frees what the pieces hold; the numbers' memory is used again. */
static void clear_batch(tokenizing *t)
{
    for (int i = 0; i < t->count; i++) {
        free(t->work[i].piece.bytes);
        free(t->work[i].failure);
        t->work[i].failure = NULL;
    }
    t->count = 0;
}

static cse_status tell(const cse_tokenize_options *options, const cse_tokenize_progress *so_far)
{
    if (options->progress == NULL || options->progress(options->self, so_far))
        return CSE_OK;
    return cse_fail(CSE_INTERRUPTED, "interrupted");
}

static cse_status show(const tokenizing *t, const cse_text_pieces *pieces,
                       const cse_token_writer *writer, const cse_tokenize_result *result)
{
    const cse_tokenize_progress so_far = { .bytes = cse_text_pieces_bytes(pieces),
                                           .text_bytes = result->text_bytes,
                                           .documents = result->documents,
                                           .tokens = cse_token_writer_counts_of(writer).tokens };
    return tell(t->options, &so_far);
}

static cse_status tokenize(tokenizing *t, cse_text_pieces *pieces, cse_token_writer *writer,
                           cse_tokenize_result *result)
{
    for (;;) {
        cse_status status = read_batch(pieces, t);
        const bool is_last = t->count == 0;
        atomic_store(&t->next, 0);
        if (status == CSE_OK && !is_last)
            cse_parallel_for(t->jobs, encode_some, t);
        if (status == CSE_OK)
            status = write_batch(t, writer, result);
        clear_batch(t);
        CSE_TRY(status);
        if (is_last)
            return CSE_OK;
        CSE_TRY(show(t, pieces, writer, result));
    }
}

cse_status cse_tokenize(const cse_tokenizer *tokenizer, const cse_tokenize_options *options,
                        cse_token_writer *writer, cse_tokenize_result *result)
{
    tokenizing *t = cse_calloc(1, sizeof *t);
    *result = (cse_tokenize_result){ 0 };
    t->options = options;
    t->jobs = options->jobs < 1 ? 1 : options->jobs > MOST_JOBS ? MOST_JOBS : options->jobs;
    t->work = cse_calloc(BATCH_PIECES, sizeof *t->work);
    for (int i = 0; i < t->jobs; i++)
        t->encoders[i] = cse_encoder_new(tokenizer);
    cse_text_pieces *pieces = cse_text_pieces_new(options->paths, options->path_count,
                                                  cse_tokenizer_cuts_at_lines(tokenizer));
    cse_status status = tokenize(t, pieces, writer, result);
    cse_text_pieces_close(&pieces);
    for (int i = 0; i < t->jobs; i++)
        cse_encoder_close(&t->encoders[i]);
    for (int i = 0; i < BATCH_PIECES; i++)
        free(t->work[i].ids.ids);
    free(t->work);
    free(t);
    return status;
}

/* ---- training ---- */

static cse_status add_piece(cse_tokenizer_trainer *trainer, const cse_tokenize_options *options,
                            const cse_text_piece *piece)
{
    char *text = NULL, where[512];
    size_t size = piece->size;
    cse_status status = CSE_OK;
    if (piece->is_json)
        status = cse_json_line_text(piece->bytes, size, options->field, &text, &size);
    if (status == CSE_OK)
        status = cse_tokenizer_trainer_add(trainer, text != NULL ? text : piece->bytes, size);
    free(text);
    if (status == CSE_OK || options->skips_bad)
        return CSE_OK;
    tell_place(piece, cse_error_message(), where, sizeof where);
    return cse_fail(status, "%s", where);
}

static cse_status train(cse_text_pieces *pieces, cse_tokenizer_trainer *trainer,
                        const cse_tokenize_options *options)
{
    cse_tokenize_progress so_far = { 0 };
    for (;;) {
        cse_text_piece piece;
        CSE_TRY(cse_text_pieces_next(pieces, &piece));
        if (piece.bytes == NULL)
            return CSE_OK;
        cse_status status = add_piece(trainer, options, &piece);
        free(piece.bytes);
        CSE_TRY(status);
        so_far.bytes = cse_text_pieces_bytes(pieces);
        so_far.text_bytes += (int64_t)piece.size;
        so_far.documents += piece.ends_document;
        CSE_TRY(tell(options, &so_far));
    }
}

cse_status cse_train_tokenizer(const cse_tokenize_options *options, cse_trainer_kind kind,
                               int64_t vocab_size, cse_text *json)
{
    const cse_trainer_wish wish = { .vocab_size = vocab_size, .min_frequency = 2 };
    cse_tokenizer_trainer *trainer = cse_tokenizer_trainer_new(kind);
    cse_text_pieces *pieces = cse_text_pieces_new(options->paths, options->path_count, true);
    cse_status status = train(pieces, trainer, options);
    if (status == CSE_OK)
        status = cse_tokenizer_trainer_finish(trainer, &wish, json);
    cse_text_pieces_close(&pieces);
    cse_tokenizer_trainer_destroy(&trainer);
    return status;
}
