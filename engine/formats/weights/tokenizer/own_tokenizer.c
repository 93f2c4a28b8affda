/* Only the head of the file is read. */
#include "engine/formats/weights/tokenizer/own_tokenizer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/weights/new_file.h"
#include "engine/formats/weights/open.h"

cse_status cse_own_tokenizer(const char *path, cse_tokenizer_files *files)
{
    cse_weights *weights = NULL;
    *files = (cse_tokenizer_files){ .json = NULL };
    if (!cse_weights_are_foreign(path))
        return CSE_OK;
    CSE_TRY(cse_weights_open(path, NULL, &weights));
    cse_status status = cse_tokenizer_files_make(path, weights->tokenizer, files);
    cse_weights_close(&weights);
    return status;
}

static cse_status write_one(const char *folder, const char *name, const char *text)
{
    char path[PATH_MAX];
    cse_new_file file;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return cse_fail(CSE_CANNOT_CREATE, "%s: the path is too long", folder);
    CSE_TRY(cse_new_file_open(&file, path));
    cse_status status = cse_write_at(file.descriptor, text, strlen(text), 0) == 0
                            ? CSE_OK
                            : cse_fail(CSE_IO, "%s: cannot be written: %s", path, strerror(errno));
    return cse_new_file_close(&file, status);
}

cse_status cse_own_tokenizer_write(const cse_tokenizer_files *files, const char *folder)
{
    CSE_TRY(write_one(folder, "tokenizer.json", files->json));
    return write_one(folder, "tokenizer_config.json", files->config);
}
