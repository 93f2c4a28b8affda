/* A line of numbers and text for each token, or lists of them as JSON. */
#include "cli/data/data_tokens.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "dataloader/prepare/text_pieces.h"
#include "dataloader/tokenizer/tokenizer.h"

typedef struct looking {
    const cse_tokenizer *tokenizer;
    cse_encoder *encoder;
    const char *field, *second; /* NULL: texts are no pairs */
    bool with_specials;
    json_t *documents; /* NULL: they are printed */
    int64_t count;
} looking;

/* The bytes as text, without the decoder. */
static void printable_token(const looking *l, int32_t id, char *text, size_t size)
{
    size_t bytes = 0;
    cse_text token = { 0 };
    const char *view = cse_tokenizer_token_view(l->tokenizer, id, &bytes);
    cse_text_add(&token, "%s", "");
    cse_text_add_bytes(&token, view, view != NULL ? bytes : 0);
    cse_text_one_line(token.data, text, size);
    cse_text_clear(&token);
}

static void add_document(const looking *l, const cse_token_ids *ids)
{
    json_t *numbers = json_array(), *places = json_array(), *types = json_array();
    for (size_t i = 0; i < ids->count; i++) {
        json_array_append_new(numbers, json_integer(ids->ids[i]));
        json_array_append_new(places, json_pack("[I, I]", (json_int_t)ids->places[i].begin,
                                                (json_int_t)ids->places[i].end));
        json_array_append_new(types, json_integer(ids->places[i].type));
    }
    json_array_append_new(l->documents, json_pack("{s:o, s:o, s:o}", "ids", numbers, "places",
                                                  places, "types", types));
}

static void print_document(looking *l, const cse_token_ids *ids)
{
    char token[1024];
    if (l->count > 0)
        cse_print("\n");
    for (size_t i = 0; i < ids->count; i++) {
        printable_token(l, ids->ids[i], token, sizeof token);
        cse_print("%7d %7zu %7zu  %s\n", (int)ids->ids[i], ids->places[i].begin, ids->places[i].end,
                  token);
    }
}

static cse_status show_texts(looking *l, const cse_given_text texts[2])
{
    cse_token_ids ids = { .with_places = true };
    cse_status status = l->with_specials || texts[1].bytes != NULL
                            ? cse_encode_whole(l->encoder, texts, &ids)
                            : cse_encode(l->encoder, texts[0].bytes, texts[0].size, &ids);
    if (status == CSE_OK && l->documents != NULL)
        add_document(l, &ids);
    else if (status == CSE_OK)
        print_document(l, &ids);
    l->count++;
    free(ids.ids);
    free(ids.places);
    return status;
}

static cse_status show_line(looking *l, const cse_text_piece *piece)
{
    char *texts[2] = { NULL, NULL };
    size_t sizes[2] = { 0, 0 };
    cse_status status =
        cse_json_line_text(piece->bytes, piece->size, l->field, &texts[0], &sizes[0]);
    if (status == CSE_OK && l->second != NULL)
        status = cse_json_line_text(piece->bytes, piece->size, l->second, &texts[1], &sizes[1]);
    if (status == CSE_OK)
        status = show_texts(
            l, (const cse_given_text[]){ { texts[0], sizes[0] }, { texts[1], sizes[1] } });
    free(texts[0]);
    free(texts[1]);
    return status == CSE_OK ? CSE_OK
                            : cse_fail_within(status, "%s:%" PRId64 ": ", piece->path, piece->line);
}

static cse_status show_piece(looking *l, const cse_text_piece *piece)
{
    if (piece->is_json)
        return show_line(l, piece);
    if (l->second != NULL)
        return cse_fail(CSE_USAGE,
                        "data tokens: --second names a member of JSON lines, and %s is no .jsonl",
                        piece->path);
    return show_texts(l, (const cse_given_text[]){ { piece->bytes, piece->size }, { NULL, 0 } });
}

static cse_status show_files(looking *l, const char *const *paths, int count)
{
    cse_text_piece piece;
    cse_status status;
    cse_text_pieces *pieces = cse_text_pieces_new(paths, count, false);
    while ((status = cse_text_pieces_next(pieces, &piece)) == CSE_OK && piece.bytes != NULL) {
        status = show_piece(l, &piece);
        free(piece.bytes);
        if (status != CSE_OK)
            break;
    }
    cse_text_pieces_close(&pieces);
    return status;
}

int cse_data_tokens(const cse_command_line *line)
{
    const char *path = cse_option_value(line, "tokenizer"),
               *field = cse_option_value(line, "field");
    cse_tokenizer *tokenizer = NULL;
    cse_status status = CSE_OK;
    if (path == NULL)
        status = cse_fail(CSE_USAGE, "data tokens: --tokenizer is missing: a tokenizer.json, a "
                                     "tokenizer.model, or a folder with one of them");
    if (status == CSE_OK)
        status = cse_tokenizer_load(path, &tokenizer);
    if (status != CSE_OK)
        return cse_report(status);
    looking l = { .tokenizer = tokenizer,
                  .encoder = cse_encoder_new(tokenizer),
                  .field = field != NULL ? field : "text",
                  .second = cse_option_value(line, "second"),
                  .with_specials = cse_option_is_on(line, "special_tokens"),
                  .documents = cse_option_is_on(line, "json") ? json_array() : NULL };
    status = show_files(&l, (const char *const *)line->arguments + 1, line->argument_count - 1);
    if (status == CSE_OK && l.documents != NULL) {
        json_t *shown = json_pack("{s:O}", "documents", l.documents);
        cse_json_print(shown);
        json_decref(shown);
    }
    json_decref(l.documents);
    cse_encoder_close(&l.encoder);
    cse_tokenizer_close(&tokenizer);
    return status == CSE_OK ? 0 : cse_report(status);
}
