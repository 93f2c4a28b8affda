/* The order of the lines is fixed, so that each is read once and none is missing. */
#include "workers/group/agent_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 16 };
#define FIRST_LINE "csengine-agent"
#define FORM 3

void cse_agent_place_encode(const cse_agent_place *p, cse_text *out)
{
    cse_text_add(out, "%s %d\nhost %d\nhosts %d\nleader %d\nepoch %lld\nlease_ns %lld\n",
                 FIRST_LINE, FORM, p->host, p->host_count, p->leader, (long long)p->epoch,
                 (long long)p->lease_ns);
    cse_text_add(out, "plain %d\nportable %d\nkey ", p->plain, p->portable);
    for (int i = 0; i < CSE_HOST_LINK_KEY_BYTES; i++)
        cse_text_add(out, "%02x", p->key[i]);
    cse_text_add(out, "\nlink %s\nlog_level %s\nrun %s\nconfinement %s\n", p->link, p->log_level,
                 p->run, p->confinement);
    for (int h = 0; h < p->host_count; h++)
        cse_text_add(out, "name %s\naddress %s\nmover %s\ndata %d\n", p->names[h], p->addresses[h],
                     p->movers[h], cse_hosts_have(&p->data_hosts, h));
    cse_text_add(out, "end\n");
}

/* The lines that are still to be read. */
typedef struct reader {
    const char *at;
    cse_arena *arena;
    cse_status status;
} reader;

/* The value of the next line, which must begin with `word`; "" after an error. */
static const char *next(reader *in, const char *word)
{
    const size_t length = strlen(word), line = strcspn(in->at, "\n");
    if (in->status != CSE_OK)
        return "";
    if (strncmp(in->at, word, length) != 0 || in->at[length] != ' ' || in->at[line] != '\n') {
        in->status =
            cse_fail(CSE_DATA, "agent: standard input: a line \"%s VALUE\" is missing", word);
        return "";
    }
    const char *value =
        cse_arena_printf(in->arena, "%.*s", (int)(line - length - 1), in->at + length + 1);
    in->at += line + 1;
    return value;
}

static int64_t number(reader *in, const char *word, int64_t least, int64_t most)
{
    const char *text = next(in, word);
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (in->status == CSE_OK &&
        (end == text || *end != '\0' || errno != 0 || value < least || value > most)) {
        in->status = cse_fail(CSE_DATA, "agent: standard input: %s is from %lld to %lld", word,
                              (long long)least, (long long)most);
        return least;
    }
    return in->status == CSE_OK ? value : least;
}

static void read_key(reader *in, unsigned char key[CSE_HOST_LINK_KEY_BYTES])
{
    const char *text = next(in, "key");
    const size_t digits = 2 * CSE_HOST_LINK_KEY_BYTES;
    if (in->status == CSE_OK &&
        (strlen(text) != digits || strspn(text, "0123456789abcdef") != digits))
        in->status =
            cse_fail(CSE_DATA, "agent: standard input: key is %zu hexadecimal digits", digits);
    for (int i = 0; in->status == CSE_OK && i < CSE_HOST_LINK_KEY_BYTES; i++) {
        const char pair[3] = { text[2 * i], text[2 * i + 1], '\0' };
        key[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
}

cse_status cse_agent_place_decode(const char *text, cse_arena *arena, cse_agent_place *p)
{
    reader in = { text, arena, CSE_OK };
    *p = (cse_agent_place){ .host = 0 };
    number(&in, FIRST_LINE, FORM, FORM);
    p->host = (int)number(&in, "host", 0, CSE_MAX_HOSTS - 1);
    p->host_count = (int)number(&in, "hosts", p->host + 1, CSE_MAX_HOSTS);
    p->leader = (int)number(&in, "leader", 0, p->host_count - 1);
    p->epoch = number(&in, "epoch", 0, INT64_MAX);
    p->lease_ns = number(&in, "lease_ns", 1, INT64_MAX / 4);
    p->plain = number(&in, "plain", 0, 1) != 0;
    p->portable = number(&in, "portable", 0, 1) != 0;
    read_key(&in, p->key);
    p->link = next(&in, "link");
    p->log_level = next(&in, "log_level");
    p->run = next(&in, "run");
    p->confinement = next(&in, "confinement");
    for (int h = 0; h < p->host_count && in.status == CSE_OK; h++) {
        p->names[h] = next(&in, "name");
        p->addresses[h] = next(&in, "address");
        p->movers[h] = next(&in, "mover");
        if (number(&in, "data", 0, 1) != 0)
            cse_hosts_add(&p->data_hosts, h);
    }
    CSE_TRY(in.status);
    if (strcmp(in.at, "end\n") != 0)
        return cse_fail(CSE_DATA, "agent: standard input: the line \"end\" is missing");
    return CSE_OK;
}

static bool is_whole(const char *text, size_t size)
{
    return size >= 5 && memcmp(text + size - 5, "\nend\n", 5) == 0;
}

cse_status cse_agent_place_read(int descriptor, cse_arena *arena, cse_agent_place *place)
{
    char *text = cse_arena_alloc(arena, MOST_BYTES + 1);
    size_t size = 0;
    while (!is_whole(text, size)) {
        const ssize_t got = read(descriptor, text + size, 1); /* what follows is not its own */
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || size + 1 >= MOST_BYTES)
            return cse_fail(CSE_NO_INPUT, "agent: standard input ends before the line \"end\": "
                                          "this command is started by csengine start --hosts");
        size++;
    }
    cse_status status = cse_agent_place_decode(text, arena, place);
    memset(text, 0, size); /* the key */
    return status;
}
