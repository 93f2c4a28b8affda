/* Filled beside and renamed, as a new one is: nobody reads a part. */
#include "engine/code/codegen/kept_artefact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/directory.h"
#include "engine/base/log.h"

enum { PATH_BYTES = PATH_MAX + 32, NAME_BYTES = PATH_BYTES + 32 };

void cse_kept_artefact_clear(cse_kept_artefact *kept)
{
    cse_artefact_clear(&kept->artefact);
    kept->directory[0] = '\0';
}

static bool is_there(const char *directory)
{
    char path[NAME_BYTES];
    struct stat about;
    snprintf(path, sizeof path, "%s/manifest", directory);
    return lstat(path, &about) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

static bool write_file(const char *directory, const char *name, const cse_text *text)
{
    char path[NAME_BYTES];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wxe");
    if (file == NULL)
        return false;
    const bool is_written = text->size == 0 || fwrite(text->data, text->size, 1, file) == 1;
    return fclose(file) == 0 && is_written;
}

static bool fill(const cse_kept_artefact *kept, const char *directory)
{
    bool is_good = true;
    for (int f = 0; f < CSE_ARTEFACT_FILES && is_good; f++)
        if (f != CSE_ARTEFACT_OBJECT || kept->artefact.compiled)
            is_good = write_file(directory, cse_artefact_names[f], &kept->artefact.files[f]);
    return is_good && cse_artefact_seal(directory, strrchr(kept->directory, '/') + 1) == CSE_OK;
}

/* What is left of a directory that was removed in part goes, too. */
static bool put_back(const cse_kept_artefact *kept)
{
    char parent[PATH_MAX], beside[PATH_BYTES];
    snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(kept->directory, '/') - kept->directory),
             kept->directory);
    if (cse_make_directories("compile_dir", parent) != CSE_OK)
        return false;
    snprintf(beside, sizeof beside, "%s.XXXXXX", kept->directory);
    if (mkdtemp(beside) == NULL)
        return false;
    bool is_placed = fill(kept, beside);
    if (is_placed && rename(beside, kept->directory) != 0) {
        cse_remove_tree(kept->directory);
        is_placed = rename(beside, kept->directory) == 0;
    }
    if (!is_placed)
        cse_remove_tree(beside);
    return is_placed;
}

void cse_kept_artefact_look(cse_kept_artefact *kept, const char *directory, const char *digest)
{
    if (directory[0] != '/' && strchr(directory, '/') == NULL)
        return; /* nothing was compiled */
    if (strcmp(kept->directory, directory) != 0) {
        cse_kept_artefact_clear(kept);
        if (cse_artefact_read(directory, digest, &kept->artefact) == CSE_OK)
            snprintf(kept->directory, sizeof kept->directory, "%s", directory);
        return;
    }
    if (!is_there(directory) && put_back(kept))
        cse_log_line(CSE_LOG_WARNING,
                     "the compiled step %s was removed while the run is under way; it is made anew",
                     directory);
}
