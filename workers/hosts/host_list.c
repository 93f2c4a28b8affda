/* Host lists: each form is cut into single hosts, and one function adds a host, with all checks.
 * So no form can bring in a name that another would refuse. */
#include "workers/hosts/host_list.h"
#include "engine/base/arena.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static cse_status wrong(cse_place place, const char *text, const char *what)
{
    return cse_fail_at(&(cse_error){ .status = CSE_CONFIG,
                                     .context = place.source != NULL ? "hosts: " : NULL,
                                     .place = place },
                       "\"%.80s\": %s", text, what);
}

static cse_status check_name(const char *name, cse_place place)
{
    const size_t length = strnlen(name, CSE_HOST_NAME_BYTES);
    if (length == 0)
        return wrong(place, name, "a host has no name");
    if (length == CSE_HOST_NAME_BYTES)
        return wrong(place, name, "a name of a host has at most 253 letters");
    if (name[0] == '-')
        return wrong(place, name, "a name of a host does not begin with \"-\"");
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && strchr("._:-", name[i]) == NULL)
            return wrong(place, name,
                         "it is no name of a host: only letters, digits, \".\", \"_\", \"-\" and "
                         "\":\" are accepted");
    return CSE_OK;
}

cse_status cse_host_name_check(const char *name, const char *source)
{
    return check_name(name, (cse_place){ .source = source });
}

int cse_host_list_find(const cse_host_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcasecmp(list->hosts[i].name, name) == 0)
            return i;
    return -1;
}

/* What a text is parsed into. */
typedef struct building {
    cse_host_list *list;
    cse_place place;
    int port, slots;     /* of the host that is added */
    bool repeated_slots; /* see cse_host_list_parse_file */
} building;

static cse_status add_host(void *self, const char *name)
{
    building *b = self;
    cse_host_list *list = b->list;
    CSE_TRY(check_name(name, b->place));
    const int earlier = cse_host_list_find(list, name);
    if (earlier >= 0 && b->repeated_slots) {
        list->hosts[earlier].slots += b->slots > 0 ? b->slots : 1;
        return CSE_OK;
    }
    if (earlier >= 0)
        return wrong(b->place, name, "the host is in the list twice");
    if (list->count == CSE_MAX_HOSTS)
        return wrong(b->place, name, "the list has more than 256 hosts");
    cse_host_entry *entry = &list->hosts[list->count++];
    *entry = (cse_host_entry){ .port = b->port, .slots = b->slots };
    if (b->repeated_slots && entry->slots == 0)
        entry->slots = 1;
    snprintf(entry->name, sizeof entry->name, "%s", name);
    return CSE_OK;
}

/* A number from 1 to `most` that is the whole text; 0: it is none. */
static int whole_number(const char *text, int most)
{
    if (*text == 0 || strspn(text, "0123456789") != strlen(text) || strlen(text) > 9)
        return 0;
    const long number = strtol(text, NULL, 10);
    return number <= most ? (int)number : 0;
}

/* Takes "]:PORT" or ":PORT" off the end of an item, and the brackets of an address off its ends. */
static cse_status take_port(building *b, char **item)
{
    char *colon = strrchr(*item, ':');
    b->port = 0;
    const bool bracketed = **item == '[' && strchr(*item, ':') != NULL;
    if (bracketed) { /* an address: Slurm's brackets never hold a colon */
        char *close = strchr(*item, ']');
        if (close == NULL || (close[1] != 0 && close[1] != ':'))
            return wrong(b->place, *item, "an address in brackets is [ADDRESS]:PORT");
        colon = close[1] == ':' ? close + 1 : NULL;
        *close = 0;
        ++*item;
    } else if (colon == NULL || strchr(*item, ':') != colon)
        return CSE_OK;
    if (colon == NULL)
        return CSE_OK;
    *colon = 0;
    b->port = whole_number(colon + 1, 65535);
    if (b->port == 0)
        return wrong(b->place, colon + 1, "it is no number of a port, 1 to 65535");
    return CSE_OK;
}

/* A copy that may be cut into pieces. */
static cse_status copy_text(const char *text, cse_place place, char **copy)
{
    const size_t length = strnlen(text, CSE_HOST_LIST_BYTES);
    if (length == CSE_HOST_LIST_BYTES)
        return wrong(place, text, "the list is longer than 1 MiB");
    *copy = strndup(text, length);
    return *copy != NULL ? CSE_OK : cse_fail(CSE_TEMPORARY, "no memory for a list of hosts");
}

/* Cuts the next item off at a comma outside of brackets; NULL at the end. */
static char *next_item(char **rest)
{
    char *item = *rest;
    if (item == NULL)
        return NULL;
    int depth = 0;
    for (char *at = item;; at++) {
        depth += (*at == '[') - (*at == ']');
        if (*at == 0 || (*at == ',' && depth <= 0)) {
            *rest = *at == 0 ? NULL : at + 1;
            *at = 0;
            return item;
        }
    }
}

cse_status cse_host_list_add(const char *text, cse_place place, cse_host_list *list)
{
    building b = { .list = list, .place = place };
    char *copy;
    CSE_TRY(copy_text(text, b.place, &copy));
    cse_status status = CSE_OK;
    char *rest = copy;
    for (char *item; status == CSE_OK && (item = next_item(&rest)) != NULL;) {
        item += strspn(item, " \t");
        for (size_t end = strlen(item); end > 0 && strchr(" \t\n", item[end - 1]) != NULL; end--)
            item[end - 1] = 0;
        if (*item == 0)
            status = wrong(place, text, "a host has no name between two commas");
        else
            status = take_port(&b, &item);
        if (status == CSE_OK)
            status = cse_host_names_expand(item, place.source, add_host, &b);
    }
    free(copy);
    return status;
}

cse_status cse_host_list_parse(const char *text, const char *source, cse_host_list *list)
{
    *list = (cse_host_list){ 0 };
    return cse_host_list_add(text, (cse_place){ .source = source }, list);
}

/* One word behind a host of a file. */
static cse_status take_file_word(building *b, const char *word)
{
    static const char *const slots[] = { "slots=", "slots:", "cpu=", "count=" };
    for (int i = 0; i < 4; i++)
        if (strncasecmp(word, slots[i], strlen(slots[i])) == 0) {
            b->slots = whole_number(word + strlen(slots[i]), 1 << 20);
            return b->slots > 0 ? CSE_OK : wrong(b->place, word, "it is no number of slots");
        }
    if (strncasecmp(word, "max_slots=", 10) == 0 || strncasecmp(word, "max-slots=", 10) == 0)
        return CSE_OK;
    return wrong(b->place, word, "a line is a host's name and slots=N");
}

static cse_status parse_line(building *b, char *line)
{
    line[strcspn(line, "#")] = 0;
    char *rest = NULL, *name = strtok_r(line, " \t\r", &rest);
    if (name == NULL)
        return CSE_OK;
    b->port = b->slots = 0;
    char *colon = strchr(name, ':');
    if (colon != NULL && strrchr(name, ':') == colon) { /* hydra's form; more colons: an address */
        *colon = 0;
        b->slots = whole_number(colon + 1, 1 << 20);
        if (b->slots == 0)
            return wrong(b->place, colon + 1, "it is no number of slots");
    }
    for (char *word; (word = strtok_r(NULL, " \t\r", &rest)) != NULL;)
        CSE_TRY(take_file_word(b, word));
    return add_host(b, name);
}

cse_status cse_host_list_parse_file(const char *text, const char *source, bool repeated_slots,
                                    cse_host_list *list)
{
    *list = (cse_host_list){ 0 };
    building b = { .list = list, .place.source = source, .repeated_slots = repeated_slots };
    char *copy;
    CSE_TRY(copy_text(text, b.place, &copy));
    cse_status status = CSE_OK;
    for (char *line = copy, *next; status == CSE_OK && line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = 0;
        b.place.line++;
        b.place.column = 1;
        status = parse_line(&b, line);
    }
    free(copy);
    if (status == CSE_OK && list->count == 0)
        return cse_fail(CSE_CONFIG, "hosts: %s: it names no host",
                        source != NULL ? source : "host file");
    return status;
}

cse_status cse_host_list_parse_pairs(const char *text, const char *source, cse_host_list *list)
{
    *list = (cse_host_list){ 0 };
    building b = { .list = list, .place.source = source };
    char *copy;
    CSE_TRY(copy_text(text, b.place, &copy));
    cse_status status = CSE_OK;
    char *rest = NULL, *name = strtok_r(copy, " \t\n", &rest);
    for (; status == CSE_OK && name != NULL; name = strtok_r(NULL, " \t\n", &rest)) {
        const char *number = strtok_r(NULL, " \t\n", &rest);
        b.slots = number != NULL ? whole_number(number, 1 << 20) : 0;
        status = b.slots > 0 ? add_host(&b, name)
                             : wrong(b.place, name, "no number of slots follows the host");
    }
    free(copy);
    return status;
}

cse_status cse_host_list_environment(char *(*get)(const char *name), cse_host_list *list,
                                     const char **source)
{
    static const struct {
        const char *name;
        enum { NODES, FILE_OF_LINES, FILE_OF_SLOTS, PAIRS } form;
    } variables[] = {
        { "SLURM_JOB_NODELIST", NODES },
        { "PBS_NODEFILE", FILE_OF_LINES },
        { "LSB_MCPU_HOSTS", PAIRS },
        { "OMPI_MCA_orte_default_hostfile", FILE_OF_SLOTS },
    };
    *list = (cse_host_list){ 0 };
    *source = NULL;
    for (int i = 0; i < (int)(sizeof variables / sizeof *variables); i++) {
        const char *value = get(variables[i].name);
        if (value == NULL || *value == 0)
            continue;
        *source = variables[i].name;
        switch (variables[i].form) {
        case NODES:
            return cse_host_list_parse(value, *source, list);
        case PAIRS:
            return cse_host_list_parse_pairs(value, *source, list);
        default:
            return cse_host_list_read(value, variables[i].form == FILE_OF_LINES, list);
        }
    }
    return CSE_OK;
}

cse_status cse_host_list_read(const char *path, bool repeated_slots, cse_host_list *list)
{
    *list = (cse_host_list){ 0 };
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return cse_fail(errno == ENOENT ? CSE_NO_INPUT : CSE_IO,
                        "hosts: the host file %s cannot be read: %s", path, strerror(errno));
    char *text = cse_malloc(CSE_HOST_LIST_BYTES + 1);
    const size_t size = fread(text, 1, CSE_HOST_LIST_BYTES, file);
    const bool failed = ferror(file) != 0;
    fclose(file);
    text[size] = 0;
    cse_status status;
    if (failed)
        status = cse_fail(CSE_IO, "hosts: the host file %s cannot be read", path);
    else if (strlen(text) != size)
        status = cse_fail(CSE_DATA, "hosts: the host file %s holds bytes that are no text", path);
    else
        status = cse_host_list_parse_file(text, path, repeated_slots, list);
    free(text);
    return status;
}
