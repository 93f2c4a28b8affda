/* Finds the files of a tokenizer and reads them whole. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csengine/input.h"
#include "dataloader/files/file_list.h"
#include "dataloader/tokenizer/sentence_piece.h"
#include "dataloader/tokenizer/tokenizer_json.h"
#include "engine/base/file_replace.h"
#include "engine/formats/weights/tokenizer/own_tokenizer.h"

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

bool cse_tokenizer_is_in_weights(const char *path)
{
    char magic[4] = "";
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const bool is_whole = descriptor >= 0 && read(descriptor, magic, sizeof magic) == sizeof magic;
    if (descriptor >= 0)
        close(descriptor);
    return is_whole && memcmp(magic, "GGUF", sizeof magic) == 0;
}

/* That of a GGUF file, which is part of the data's identity as any other file. */
static cse_status load_from_weights(const char *path, cse_tokenizer *tokenizer)
{
    int descriptor;
    cse_tokenizer_files files;
    CSE_TRY(cse_input_open_file(path, &descriptor));
    close(descriptor);
    CSE_TRY(cse_own_tokenizer(path, &files));
    cse_status status = files.json != NULL
                            ? cse_tokenizer_json_read(files.json, strlen(files.json), tokenizer)
                            : cse_fail(CSE_NO_INPUT, "it holds no tokenizer");
    cse_tokenizer_files_clear(&files);
    return status == CSE_OK ? CSE_OK : cse_fail_within(status, "%s: ", path);
}

static cse_status load_one(const char *path, cse_tokenizer *tokenizer)
{
    content file;
    if (cse_tokenizer_is_in_weights(path))
        return load_from_weights(path, tokenizer);
    CSE_TRY(read_file(path, &file));
    cse_status status =
        cse_name_ends(path, ".model")
            ? cse_sentence_piece_read(file.bytes, file.size, tokenizer)
            : cse_tokenizer_json_read((const char *)file.bytes, file.size, tokenizer);
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

/* The files of a tokenizer: tokenizer.json or tokenizer.model, or `vocab` with `merges`. */
typedef struct files {
    const char *one, *vocab, *merges;
} files;

/* Names that SentencePiece's file has. */
static const char *sentence_model(cse_arena *arena, const char *folder)
{
    static const char *const names[] = { "tokenizer.model", "spiece.model",
                                         "sentencepiece.bpe.model", "spm.model" };
    const char *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && found == NULL; i++)
        found = in_folder(arena, folder, names[i]);
    return found;
}

static files files_of_folder(cse_arena *arena, const char *folder)
{
    files found = { .one = in_folder(arena, folder, "tokenizer.json") };
    if (found.one != NULL)
        return found;
    found.vocab = in_folder(arena, folder, "vocab.json");
    found.merges = in_folder(arena, folder, "merges.txt");
    if (found.merges == NULL)
        found.merges = in_folder(arena, folder, "vocab.bpe");
    if (found.vocab == NULL || found.merges == NULL)
        found.one = sentence_model(arena, folder);
    return found;
}

static bool are_there(const files *found)
{
    return found->one != NULL || (found->vocab != NULL && found->merges != NULL);
}

static bool is_named(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash != NULL ? slash + 1 : path, name) == 0;
}

/* `path`: a file, or a folder. */
static cse_status find_files(cse_arena *arena, const char *path, files *found)
{
    struct stat info;
    const char *folder = path;
    *found = (files){ .one = path };
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        const char *slash = strrchr(path, '/');
        if (!is_named(path, "vocab.json"))
            return CSE_OK;
        folder = slash == NULL   ? "."
                 : slash == path ? "/"
                                 : cse_arena_printf(arena, "%.*s", (int)(slash - path), path);
    }
    *found = files_of_folder(arena, folder);
    return are_there(found) ? CSE_OK
                            : cse_fail(CSE_NO_INPUT,
                                       "%s: there is no tokenizer.json, no tokenizer.model, and no "
                                       "vocab.json with merges.txt or vocab.bpe",
                                       folder);
}

cse_status cse_tokenizer_load(const char *path, cse_tokenizer **tokenizer)
{
    files found;
    cse_arena *arena = cse_arena_new();
    cse_tokenizer *loaded = cse_calloc(1, sizeof *loaded);
    *tokenizer = NULL;
    cse_status status = find_files(arena, path, &found);
    if (status == CSE_OK)
        status = found.one != NULL ? load_one(found.one, loaded)
                                   : load_pair(found.vocab, found.merges, loaded);
    cse_arena_destroy(&arena);
    if (status != CSE_OK)
        cse_tokenizer_close(&loaded);
    *tokenizer = loaded;
    return status;
}

bool cse_tokenizer_is_in(const char *folder)
{
    cse_arena *arena = cse_arena_new();
    const files found = files_of_folder(arena, folder);
    const bool there = are_there(&found);
    cse_arena_destroy(&arena);
    return there;
}

bool cse_tokenizer_beside(const char *source, char *folder, size_t size)
{
    struct stat info;
    const char *slash = strrchr(source, '/');
    if (stat(source, &info) != 0)
        return false;
    if (S_ISDIR(info.st_mode))
        snprintf(folder, size, "%s", source);
    else if (!cse_name_ends(source, ".h5|.hdf5|.npy"))
        return false;
    else if (slash == NULL)
        snprintf(folder, size, ".");
    else
        snprintf(folder, size, "%.*s", slash > source ? (int)(slash - source) : 1, source);
    return cse_tokenizer_is_in(folder);
}

static cse_status copy_file(cse_arena *arena, const char *from, const char *folder,
                            const char *name)
{
    content file;
    CSE_TRY(read_file(from, &file));
    cse_status status =
        cse_file_replace(cse_arena_printf(arena, "%s/%s", folder, name), file.bytes, file.size);
    free(file.bytes);
    return status;
}

cse_status cse_tokenizer_copy(const char *path, const char *folder)
{
    files found;
    cse_arena *arena = cse_arena_new();
    cse_status status = find_files(arena, path, &found);
    if (status == CSE_OK && found.one != NULL && cse_tokenizer_is_in_weights(found.one)) {
        cse_tokenizer_files own;
        status = cse_own_tokenizer(found.one, &own);
        if (status == CSE_OK && own.json != NULL)
            status = cse_own_tokenizer_write(&own, folder);
        cse_tokenizer_files_clear(&own);
    } else if (status == CSE_OK && found.one != NULL) {
        status =
            copy_file(arena, found.one, folder,
                      cse_name_ends(found.one, ".model") ? "tokenizer.model" : "tokenizer.json");
    } else if (status == CSE_OK) {
        status = copy_file(arena, found.vocab, folder, "vocab.json");
        if (status == CSE_OK)
            status = copy_file(arena, found.merges, folder, "merges.txt");
    }
    cse_arena_destroy(&arena);
    return status;
}
