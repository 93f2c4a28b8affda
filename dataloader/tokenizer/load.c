/* Finds the files of a tokenizer and reads them whole. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "csengine/input.h"
#include "dataloader/tokenizer/tokenizer_json.h"

typedef struct content {
    unsigned char *bytes;
    size_t size;
} content;

static cse_status read_file(const char *path, content *file)
{
    cse_byte_source *source;
    *file = (content){ 0 };
    CSE_TRY(cse_byte_source_open(path, &source));
    cse_status status =
        cse_byte_source_take(source, CSE_TOKENIZER_FILE_MOST_BYTES, &file->bytes, &file->size);
    cse_byte_source_close(&source);
    if (status == CSE_OK && file->size == CSE_TOKENIZER_FILE_MOST_BYTES) {
        free(file->bytes);
        status = cse_fail(CSE_DATA, "%s: it has %d bytes or more, accepted are fewer", path,
                          CSE_TOKENIZER_FILE_MOST_BYTES);
    }
    return status;
}

static cse_status load_one(const char *path, cse_tokenizer *tokenizer)
{
    content file;
    CSE_TRY(read_file(path, &file));
    cse_status status = cse_tokenizer_json_read((const char *)file.bytes, file.size, tokenizer);
    free(file.bytes);
    return status == CSE_OK ? CSE_OK : cse_fail_within(status, "%s: ", path);
}

static cse_status load_pair(const char *vocab_path, const char *merges_path,
                            cse_tokenizer *tokenizer)
{
    content vocab = { 0 }, merges = { 0 };
    cse_status status = read_file(vocab_path, &vocab);
    if (status == CSE_OK)
        status = read_file(merges_path, &merges);
    if (status == CSE_OK) {
        status = cse_tokenizer_pair_read((const char *)vocab.bytes, vocab.size,
                                         (const char *)merges.bytes, merges.size, tokenizer);
        if (status != CSE_OK)
            cse_fail_within(status, "%s with %s: ", vocab_path, merges_path);
    }
    free(vocab.bytes);
    free(merges.bytes);
    return status;
}

/* The file of the folder, if it exists. */
static const char *in_folder(cse_arena *arena, const char *folder, const char *name)
{
    const char *path = cse_arena_printf(arena, "%s/%s", folder, name);
    return cse_byte_source_exists(path) ? path : NULL;
}

static cse_status load_from_folder(cse_arena *arena, const char *folder, cse_tokenizer *tokenizer)
{
    const char *one = in_folder(arena, folder, "tokenizer.json");
    const char *vocab = in_folder(arena, folder, "vocab.json");
    const char *merges = in_folder(arena, folder, "merges.txt");
    if (one != NULL)
        return load_one(one, tokenizer);
    if (merges == NULL)
        merges = in_folder(arena, folder, "vocab.bpe");
    if (vocab != NULL && merges != NULL)
        return load_pair(vocab, merges, tokenizer);
    return cse_fail(CSE_NO_INPUT,
                    "%s: there is no tokenizer.json, and no vocab.json with merges.txt or "
                    "vocab.bpe",
                    folder);
}

static bool is_named(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash != NULL ? slash + 1 : path, name) == 0;
}

cse_status cse_tokenizer_load(const char *path, cse_tokenizer **tokenizer)
{
    struct stat info;
    cse_arena *arena = cse_arena_new();
    cse_tokenizer *loaded = cse_calloc(1, sizeof *loaded);
    cse_status status;
    *tokenizer = NULL;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        status = load_from_folder(arena, path, loaded);
    } else if (is_named(path, "vocab.json")) {
        const char *slash = strrchr(path, '/');
        const char *folder =
            slash == NULL ? "." : cse_arena_printf(arena, "%.*s", (int)(slash - path), path);
        status = load_from_folder(arena, *folder == '\0' ? "/" : folder, loaded);
    } else {
        status = load_one(path, loaded);
    }
    cse_arena_destroy(&arena);
    if (status != CSE_OK)
        cse_tokenizer_close(&loaded);
    *tokenizer = loaded;
    return status;
}
