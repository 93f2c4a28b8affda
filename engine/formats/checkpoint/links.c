/* Details are for people and enter no digest. */
#include "engine/formats/checkpoint/links.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/formats/checkpoint/seal.h"
#include "engine/formats/checkpoint/seal_line.h"

const char *const cse_link_names[CSE_LINKS] = {
    [CSE_LINK_CONFIGURATION] = "configuration",
    [CSE_LINK_CODE] = "code",
    [CSE_LINK_ARTEFACT] = "artefact",
    [CSE_LINK_DATA] = "data",
    [CSE_LINK_SEED] = "seed",
    [CSE_LINK_PREVIOUS] = "previous",
};

/* ---- as text ---- */

void cse_links_print(const cse_links *links, cse_text *text)
{
    for (int i = 0; i < CSE_LINKS; i++)
        if (links->link[i].digest[0] != '\0')
            cse_text_add(text, "%s %s %s\n", cse_link_names[i], links->link[i].digest,
                         links->link[i].detail);
}

static void parse_line(const char *line, cse_links *links)
{
    char name[32], digest[CSE_DIGEST_DIGITS + 1];
    int detail_at = 0;
    if (sscanf(line, "%31[a-z] %64[0-9a-f]%n", name, digest, &detail_at) != 2 || detail_at == 0)
        return;
    const char *detail = line + detail_at + (line[detail_at] == ' ');
    for (int i = 0; i < CSE_LINKS; i++) {
        if (strcmp(name, cse_link_names[i]) != 0)
            continue;
        memcpy(links->link[i].digest, digest, sizeof digest);
        snprintf(links->link[i].detail, sizeof links->link[i].detail, "%.*s",
                 (int)strcspn(detail, "\n"), detail);
    }
}

void cse_links_parse(const char *text, cse_links *links)
{
    *links = (cse_links){ .link = { { .digest = "" } } };
    for (const char *line = text; line != NULL && *line != '\0';) {
        parse_line(line, links);
        line = strchr(line, '\n');
        line += line != NULL;
    }
}

/* ---- identities ---- */

void cse_link_digest(const void *content, size_t size, char digits[CSE_DIGEST_DIGITS + 1])
{
    crypto_generichash_state hash;
    cse_digest_begin(&hash);
    crypto_generichash_update(&hash, content, size);
    cse_digest_end(&hash, digits);
}

static void add_text(crypto_generichash_state *hash, const char *text)
{
    crypto_generichash_update(hash, (const unsigned char *)text, strlen(text) + 1);
}

static void add_links(crypto_generichash_state *hash, const cse_links *links, int count)
{
    for (int i = 0; i < count; i++) {
        add_text(hash, cse_link_names[i]);
        add_text(hash, links->link[i].digest);
    }
}

void cse_links_initial(const cse_links *links, char digits[CSE_DIGEST_DIGITS + 1])
{
    crypto_generichash_state hash;
    cse_digest_begin(&hash);
    add_links(&hash, links, CSE_LINK_PREVIOUS);
    cse_digest_end(&hash, digits);
}

/* The lines stand in the order of the tensors' names. */
static cse_status add_tensors(crypto_generichash_state *hash, const char *path, char *lines,
                              uint64_t limit)
{
    cse_seal_line tensor;
    char *rest = lines, *line;
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        if (!cse_seal_line_read(line, limit, &tensor))
            return cse_fail(CSE_DATA, "%s: damaged in the list of its tensors", path);
        add_text(hash, tensor.name);
        add_text(hash, tensor.digest);
    }
    return CSE_OK;
}

cse_status cse_checkpoint_identity(const char *path, const char *text, int64_t step,
                                   char digits[CSE_DIGEST_DIGITS + 1])
{
    crypto_generichash_state hash;
    cse_links links;
    char number[32], *lines = NULL;
    uint64_t limit = 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return cse_fail(CSE_IO, "%s: cannot be opened: %s", path, strerror(errno));
    cse_links_parse(text, &links);
    snprintf(number, sizeof number, "%" PRId64, step);
    cse_digest_begin(&hash);
    add_links(&hash, &links, CSE_LINKS);
    add_text(&hash, number);
    cse_status status = cse_seal_read(descriptor, path, &lines, &limit);
    if (status == CSE_OK)
        status = add_tensors(&hash, path, lines, limit);
    cse_digest_end(&hash, digits);
    free(lines);
    close(descriptor);
    return status;
}

/* ---- comparing ---- */

cse_link cse_links_compare(const cse_links *a, const cse_links *b, cse_text *words)
{
    bool any = false;
    for (int i = 0; i < CSE_LINK_PREVIOUS; i++) {
        const char *first = a->link[i].digest, *second = b->link[i].digest;
        if (*first == '\0' || *second == '\0')
            continue;
        bool same = strcmp(first, second) == 0;
        cse_text_add(words, "%s%s %s", any ? ", " : "", same ? "same" : "other", cse_link_names[i]);
        any = true;
        if (!same)
            return (cse_link)i;
    }
    return CSE_LINKS;
}
