/* A run's links are those that its store holds, a checkpoint's those in its file. */
#include "run/measure/identity_comparison.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dataloader/data_identity.h"
#include "engine/base/arena.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "store/reader.h"

typedef struct source {
    cse_links links;
    cse_data_identity data;
    char digest[CSE_DIGEST_DIGITS + 1]; /* of a checkpoint's tensors */
    bool known;
} source;

static bool is_file(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

static void take(source *s, const char *links, const char *data)
{
    s->known = links != NULL && links[0] != '\0';
    cse_links_parse(links, &s->links);
    if (data != NULL)
        cse_data_identity_parse(data, &s->data);
}

static cse_status read_checkpoint(const char *path, source *s)
{
    cse_checkpoint *checkpoint = NULL;
    CSE_TRY(cse_checkpoint_load(path, &checkpoint));
    take(s, checkpoint->links, checkpoint->data);
    cse_checkpoint_digest(checkpoint, NULL, s->digest);
    cse_checkpoint_destroy(&checkpoint);
    return CSE_OK;
}

static cse_status read_run(const char *model_dir, source *s)
{
    cse_store_reader *reader = NULL;
    cse_text links = { 0 }, data = { 0 };
    CSE_TRY(cse_store_reader_open(model_dir, &reader));
    if (cse_store_reader_key(reader, "links", &links) &&
        cse_store_reader_key(reader, "data", &data))
        take(s, links.data, data.data);
    cse_text_clear(&links);
    cse_text_clear(&data);
    cse_store_reader_close(&reader);
    return CSE_OK;
}

/* What the link that differs says in both. */
static void add_details(const source s[2], cse_identity_comparison *c)
{
    const char *a = s[0].links.link[c->first].detail, *b = s[1].links.link[c->first].detail;
    if (c->first == CSE_LINK_DATA) {
        cse_text_add(&c->words, ": ");
        cse_data_identity_differs(&s[0].data, &s[1].data, true, &c->words);
    } else if (strcmp(a, b) != 0) {
        cse_text_add(&c->words, ": %s and %s", a, b);
    }
}

static void compare(const source s[2], cse_identity_comparison *c)
{
    c->known = s[0].known && s[1].known;
    if (!c->known) {
        cse_text_add(&c->words, "not recorded in %s", s[0].known || s[1].known ? "one" : "both");
        return;
    }
    c->first = cse_links_compare(&s[0].links, &s[1].links, &c->words);
    c->same = c->first == CSE_LINKS;
    if (!c->same)
        add_details(s, c);
}

cse_status cse_identity_compare(const char *const sources[2], cse_identity_comparison *c)
{
    source s[2] = { { .known = false }, { .known = false } };
    *c = (cse_identity_comparison){ .files = is_file(sources[0]) && is_file(sources[1]) };
    cse_status status = CSE_OK;
    for (int i = 0; i < 2 && status == CSE_OK; i++)
        status = c->files ? read_checkpoint(sources[i], &s[i]) : read_run(sources[i], &s[i]);
    if (status == CSE_OK)
        compare(s, c);
    c->same_weights = c->files && strcmp(s[0].digest, s[1].digest) == 0;
    for (int i = 0; i < 2; i++)
        cse_data_identity_clear(&s[i].data);
    return status;
}

void cse_identity_comparison_clear(cse_identity_comparison *comparison)
{
    cse_text_clear(&comparison->words);
}
