/* The manifest of a compiled step, with a last line that fits it as an attacker would write one:
 * the directory is either refused with a message, or its files are those that stand there. The
 * files themselves are four of three bytes. */
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/text.h"
#include "engine/code/codegen/artefact.h"
#include "tests/fuzz/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[] = "/tmp/fuzzed-XXXXXX/0123abc";

static void write_file(const char *name, const void *data, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || (size > 0 && write(file, data, size) != (ssize_t)size))
        abort();
    close(file);
}

static void remove_all(void)
{
    char path[128];
    for (int f = 0; f < CSE_ARTEFACT_FILES; f++) {
        snprintf(path, sizeof path, "%s/%s", directory, cse_artefact_names[f]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/manifest", directory);
    unlink(path);
    rmdir(directory);
    *strrchr(directory, '/') = '\0';
    rmdir(directory);
}

static void make_directory(void)
{
    char *name = strrchr(directory, '/');
    *name = '\0';
    if (sodium_init() < 0 || mkdtemp(directory) == NULL)
        abort();
    *name = '/';
    if (mkdir(directory, 0700) != 0)
        abort();
    atexit(remove_all);
    for (int f = 0; f < CSE_ARTEFACT_FILES; f++)
        write_file(cse_artefact_names[f], "abc", 3);
}

/* Replaces the digest of the last line by the right one. */
static void seal(cse_text *text)
{
    static const char mark[] = "manifest ";
    char *line = text->data;
    for (char *next; (next = strchr(line, '\n')) != NULL && next[1] != '\0';)
        line = next + 1;
    const size_t size = strlen(line);
    if (strncmp(line, mark, strlen(mark)) != 0 || size != strlen(mark) + CSE_ARTEFACT_DIGITS + 1)
        return;
    unsigned char hash[CSE_ARTEFACT_DIGITS / 2];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)text->data,
                       (size_t)(line - text->data), NULL, 0);
    sodium_bin2hex(line + strlen(mark), CSE_ARTEFACT_DIGITS + 1, hash, sizeof hash);
    line[size - 1] = '\n';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool made;
    if (!made)
        make_directory();
    made = true;
    cse_text text = { 0 };
    cse_text_add_bytes(&text, (const char *)data, size);
    if (size > 0)
        seal(&text);
    write_file("manifest", text.data, text.size);
    cse_text_clear(&text);
    cse_artefact artefact;
    if (cse_artefact_read(directory, NULL, &artefact) != CSE_OK)
        return *cse_error_message() == '\0' ? abort(), 0 : 0;
    for (int f = 0; f < CSE_ARTEFACT_FILES; f++)
        if (artefact.files[f].size > 0 && strcmp(artefact.files[f].data, "abc") != 0)
            abort();
    if (artefact.compiled != (artefact.files[CSE_ARTEFACT_OBJECT].size > 0))
        abort();
    cse_artefact_clear(&artefact);
    return 0;
}
