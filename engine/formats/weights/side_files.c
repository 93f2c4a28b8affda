/* Known by their names: any other file of a folder stays where it is. */
#include "engine/formats/weights/side_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/weights/new_file.h"

enum { BLOCK_BYTES = 1 << 20 };

/* In the order in which they are told. */
static const struct {
    const char *name;
    bool of_tokenizer;
} files[] = {
    { "tokenizer.json", true },
    { "tokenizer_config.json", true },
    { "special_tokens_map.json", true },
    { "added_tokens.json", true },
    { "vocab.json", true },
    { "vocab.txt", true },
    { "merges.txt", true },
    { "tokenizer.model", true },
    { "spiece.model", true },
    { "sentencepiece.bpe.model", true },
    { "generation_config.json", false },
    { "sentence_bert_config.json", false },
    { "config_sentence_transformers.json", false },
    { "chat_template.jinja", true },
    { "chat_template.json", true },
    { "preprocessor_config.json", false },
    { "processor_config.json", false },
    { "LICENSE", false },
    { "LICENSE.txt", false },
    { "NOTICE", false },
};
enum { FILES = sizeof files / sizeof files[0] };

static bool is_there(const char *folder, const char *name, char path[PATH_MAX])
{
    struct stat status;
    return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX && stat(path, &status) == 0 &&
           S_ISREG(status.st_mode);
}

static cse_status copy_bytes(const char *path, int from, int to)
{
    char *block = cse_malloc(BLOCK_BYTES);
    cse_status status = CSE_OK;
    int64_t got = 1;
    for (uint64_t at = 0; status == CSE_OK && got > 0; at += (uint64_t)got) {
        got = cse_read_at(from, block, BLOCK_BYTES, at);
        if (got < 0 || (got > 0 && cse_write_at(to, block, (size_t)got, at) != 0))
            status = cse_fail(CSE_IO, "%s: cannot be copied: %s", path, strerror(errno));
    }
    free(block);
    return status;
}

static cse_status copy(const char *from, const char *to)
{
    cse_new_file file;
    const int descriptor = cse_confined_open(CSE_PATH_INPUT, from, O_RDONLY | O_NONBLOCK, 0);
    if (descriptor < 0)
        return cse_fail(CSE_PERMISSION, "%s: cannot be opened: %s", from, strerror(errno));
    cse_status status = cse_new_file_open(&file, to);
    if (status == CSE_OK)
        status = cse_new_file_close(&file, copy_bytes(from, descriptor, file.descriptor));
    close(descriptor);
    return status;
}

cse_status cse_side_files_copy(const char *from, const char *to, cse_text *names)
{
    char source[PATH_MAX], target[PATH_MAX];
    for (int i = 0; i < FILES; i++) {
        if (!is_there(from, files[i].name, source))
            continue;
        if (snprintf(target, sizeof target, "%s/%s", to, files[i].name) >= (int)sizeof target)
            return cse_fail(CSE_CANNOT_CREATE, "%s: the path is too long", to);
        CSE_TRY(copy(source, target));
        if (names != NULL)
            cse_text_add(names, "%s%s", names->size > 0 ? ", " : "", files[i].name);
    }
    return CSE_OK;
}

bool cse_side_files_have_tokenizer(const char *folder)
{
    char path[PATH_MAX];
    return folder != NULL && is_there(folder, files[0].name, path);
}

void cse_side_files_list(const char *folder, bool but_tokenizer, cse_text *names)
{
    char path[PATH_MAX];
    for (int i = 0; i < FILES; i++)
        if (!(but_tokenizer && files[i].of_tokenizer) && is_there(folder, files[i].name, path))
            cse_text_add(names, "%s%s", names->size > 0 ? ", " : "", files[i].name);
}
