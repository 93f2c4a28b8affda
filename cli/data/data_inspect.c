/* What files of data hold, told from their content: shapes, counts and the first sample. */
#include "cli/data/data_inspect.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "csengine/input.h"
#include "dataloader/files/file_list.h"
#include "dataloader/formats/hdf5_table.h"
#include "dataloader/formats/npy_file.h"
#include "dataloader/prepare/text_pieces.h"
#include "dataloader/tokenizer/tokenizer.h"
#include "engine/base/arena.h"

enum { SHOWN_TOKENS = 64, SHOWN_TEXT = 400, MOST_SHOWN_FILES = 100 };

typedef struct inspection {
    cse_tokenizer *tokenizer; /* NULL: tokens are shown as numbers */
    json_t *files;            /* what is known of each */
} inspection;

static json_t *shape_json(cse_shape shape)
{
    json_t *list = json_array();
    for (int i = 0; i < shape.rank; i++)
        json_array_append_new(list, json_integer(shape.dims[i]));
    return list;
}

/* The tokens, as text where the tokenizer is known. */
static json_t *tokens_json(const inspection *all, const int32_t *tokens, int64_t count)
{
    cse_text text = { 0 };
    json_t *shown = NULL;
    if (all->tokenizer != NULL &&
        cse_decode(all->tokenizer, tokens, (size_t)count, &text) == CSE_OK) {
        char printable[4 * SHOWN_TEXT];
        cse_text_printable(text.data != NULL ? text.data : "", printable, sizeof printable);
        shown = json_string(printable);
    }
    cse_text_clear(&text);
    if (shown != NULL)
        return shown;
    shown = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(shown, json_integer(tokens[i]));
    return shown;
}

static int64_t at_most(int64_t value, int64_t most)
{
    return value < most ? value : most;
}

static cse_status inspect_hdf5(inspection *all, const char *path, json_t *about)
{
    int descriptor;
    cse_hdf5_table *table = NULL;
    int32_t tokens[SHOWN_TOKENS];
    CSE_TRY(cse_input_open_file(path, &descriptor));
    cse_status status = cse_hdf5_table_open(descriptor, path, "data", &table);
    if (status == CSE_OK) {
        const cse_shape shape = cse_hdf5_table_shape(table);
        const int64_t starts[4] = { 0 };
        int64_t counts[4] = { 1, 1, 1, 1 };
        counts[shape.rank - 1] = at_most(shape.dims[shape.rank - 1], SHOWN_TOKENS);
        json_object_set_new(about, "dataset", json_string("data"));
        json_object_set_new(about, "shape", shape_json(shape));
        if (cse_shape_elements(shape) > 0)
            status = cse_hdf5_table_read(table, starts, counts, CSE_INT32, tokens);
        if (status == CSE_OK && cse_shape_elements(shape) > 0)
            json_object_set_new(about, "begins_with",
                                tokens_json(all, tokens, counts[shape.rank - 1]));
    }
    cse_hdf5_table_close(&table);
    close(descriptor);
    return status;
}

static cse_status inspect_npy(inspection *all, const char *path, json_t *about)
{
    int file;
    cse_npy_header header;
    char type[4], raw[SHOWN_TOKENS * 8];
    cse_file_pool *pool = cse_file_pool_new(NULL, NULL);
    cse_status status = cse_file_pool_add(pool, path, &file);
    if (status == CSE_OK)
        status = cse_npy_read_header(pool, file, &header);
    if (status == CSE_OK) {
        const int64_t shown = at_most(header.elements, SHOWN_TOKENS);
        snprintf(type, sizeof type, "%c%d", header.kind, header.size);
        json_object_set_new(about, "dtype", json_string(type));
        json_object_set_new(about, "shape", shape_json(header.shape));
        status = cse_file_pool_read(pool, file, header.offset, raw, (size_t)(shown * header.size));
        if (status == CSE_OK && header.kind != 'f') {
            int32_t tokens[SHOWN_TOKENS];
            cse_npy_convert(&header, raw, shown, CSE_INT32, tokens);
            json_object_set_new(about, "begins_with", tokens_json(all, tokens, shown));
        }
    }
    cse_file_pool_destroy(&pool);
    return status;
}

static cse_status inspect_tokenizer(const char *path, json_t *about)
{
    cse_tokenizer *tokenizer = NULL;
    CSE_TRY(cse_tokenizer_load(path, &tokenizer));
    json_object_set_new(about, "vocab_size", json_integer(cse_tokenizer_vocab_size(tokenizer)));
    cse_tokenizer_close(&tokenizer);
    return CSE_OK;
}

static cse_status inspect_text(const char *path, json_t *about)
{
    cse_text_piece piece;
    int64_t documents = 0, bytes = 0;
    char printable[4 * SHOWN_TEXT];
    cse_text_pieces *pieces = cse_text_pieces_new(&path, 1, true);
    cse_status status;
    while ((status = cse_text_pieces_next(pieces, &piece)) == CSE_OK && piece.bytes != NULL) {
        if (bytes == 0) {
            piece.bytes[at_most((int64_t)piece.size, SHOWN_TEXT)] = '\0';
            cse_text_printable(piece.bytes, printable, sizeof printable);
            json_object_set_new(about, "begins_with", json_string(printable));
        }
        documents += piece.ends_document;
        bytes += (int64_t)piece.size;
        free(piece.bytes);
    }
    cse_text_pieces_close(&pieces);
    json_object_set_new(about, "documents", json_integer(documents));
    json_object_set_new(about, "text_bytes", json_integer(bytes));
    return status;
}

static cse_status inspect_file(inspection *all, const char *path)
{
    json_t *about = json_pack("{s:s}", "file", path);
    cse_status status = CSE_OK;
    json_array_append_new(all->files, about);
    if (cse_name_ends(path, ".h5|.hdf5"))
        status = inspect_hdf5(all, path, about);
    else if (cse_name_ends(path, ".npy"))
        status = inspect_npy(all, path, about);
    else if (cse_name_ends(path, "tokenizer.json|vocab.json|.model"))
        status = inspect_tokenizer(path, about);
    else
        status = inspect_text(path, about);
    return status;
}

static cse_status inspect_folder(inspection *all, const char *path)
{
    cse_file_list list = { 0 };
    if (all->tokenizer == NULL && cse_tokenizer_is_in(path) &&
        cse_tokenizer_load(path, &all->tokenizer) != CSE_OK)
        cse_report(CSE_DATA);
    cse_status status =
        cse_file_list_read(&list, path,
                           ".h5|.hdf5|.npy|.jsonl|.ndjson|.jsonl.gz|.jsonl.zst|.txt|"
                           "tokenizer.json|.model");
    if (status == CSE_OK && list.count == 0)
        status = cse_fail(CSE_NO_INPUT, "%s: no file of it is data that is known here", path);
    for (int i = 0; i < list.count && i < MOST_SHOWN_FILES && status == CSE_OK; i++)
        status = inspect_file(all, cse_arena_printf(list.arena, "%s/%s", path, list.names[i]));
    cse_file_list_clear(&list);
    return status;
}

static void print_files(const json_t *files)
{
    size_t i;
    const json_t *about, *value;
    const char *name;
    json_array_foreach(files, i, about)
    {
        json_object_foreach((json_t *)(uintptr_t)about, name, value)
        {
            char *text = json_is_string(value) ? cse_strdup(json_string_value(value))
                                               : json_dumps(value, JSON_ENCODE_ANY);
            cse_print("%-12s %s\n", name, text);
            free(text);
        }
        if (i + 1 < json_array_size(files))
            printf("\n");
    }
}

int cse_data_inspect(const cse_command_line *line)
{
    struct stat info;
    inspection all = { .files = json_array() };
    const char *path = line->arguments[1], *tokenizer = cse_option_value(line, "tokenizer");
    cse_status status = CSE_OK;
    if (line->argument_count != 2)
        status = cse_fail(CSE_USAGE, "data inspect: takes one file or folder");
    if (status == CSE_OK && tokenizer != NULL)
        status = cse_tokenizer_load(tokenizer, &all.tokenizer);
    if (status == CSE_OK)
        status = stat(path, &info) == 0 && S_ISDIR(info.st_mode) ? inspect_folder(&all, path)
                                                                 : inspect_file(&all, path);
    if (status == CSE_OK && cse_option_is_on(line, "json"))
        cse_json_print(all.files);
    else if (status == CSE_OK)
        print_files(all.files);
    json_decref(all.files);
    cse_tokenizer_close(&all.tokenizer);
    return status == CSE_OK ? 0 : cse_report(status);
}
