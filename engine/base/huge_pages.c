/* What the kernel may do stands in sysfs; it has one file for private and one for shared memory. */
#include "engine/base/huge_pages.h"

#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = 24 };

bool cse_huge_pages_choice(const char *line, char *word, size_t size)
{
    const char *open = strchr(line, '['), *close = open != NULL ? strchr(open, ']') : NULL;
    if (close == NULL || (size_t)(close - open) > size)
        return false;
    memcpy(word, open + 1, (size_t)(close - open - 1));
    word[close - open - 1] = '\0';
    return true;
}

static bool read_choice(const char *name, char word[WORD_BYTES])
{
    char path[96], line[128] = "";
    snprintf(path, sizeof path, "/sys/kernel/mm/transparent_hugepage/%s", name);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    const bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    return read && cse_huge_pages_choice(line, word, WORD_BYTES);
}

static bool is_given(const char *word)
{
    return strcmp(word, "never") != 0 && strcmp(word, "deny") != 0;
}

void cse_huge_pages_describe(char *text, size_t size)
{
    char own[WORD_BYTES] = "not known", shared[WORD_BYTES] = "not known";
    const bool has_own = read_choice("enabled", own) && is_given(own);
    const bool has_shared = read_choice("shmem_enabled", shared) && is_given(shared);
    snprintf(text, size,
             "private memory has %s (enabled: %s), shared memory %s (shmem_enabled: %s)",
             has_own ? "them where it is large" : "none", own,
             has_shared ? "as the kernel finds room" : "none", shared);
}
