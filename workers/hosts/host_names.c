/* Slurm's form of many names: "rack[1-2]n[01-04,7]-ib".
 *
 * Each pair of brackets holds numbers and ranges; several pairs multiply, the last is the fastest,
 * and the zeros that a number is written with stay. How many names there are is known before the
 * first is made, so a text of a few bytes cannot ask for millions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workers/hosts/host_list.h"

enum { MAX_PAIRS = 4, MAX_DIGITS = 9 };

typedef struct range {
    long first, last;
    int width;
} range;

/* A name in parts: literal text, then a pair of brackets, and so on. */
typedef struct pattern {
    const char *source, *text;
    int pairs;
    struct {
        const char *literal; /* before the brackets */
        int literal_bytes;
        int range_count;
        range ranges[CSE_MAX_HOSTS];
    } parts[MAX_PAIRS];
    const char *end; /* what follows the last brackets */
} pattern;

static cse_status wrong(const pattern *p, const char *at, const char *what)
{
    return cse_fail_at(&(cse_error){ .status = CSE_CONFIG,
                                     .context = p->source != NULL ? "hosts: " : NULL,
                                     .place = { .source = p->source },
                                     .hint = "numbers in brackets are written as n[1-3,7] or "
                                             "gpu[01-04]" },
                       "\"%s\": %s at \"%.20s\"", p->text, what, at);
}

static cse_status take_number(const pattern *p, const char **at, long *number, int *digits)
{
    *number = 0;
    for (*digits = 0; **at >= '0' && **at <= '9'; (*at)++) {
        if (++*digits > MAX_DIGITS)
            return wrong(p, *at, "a number has too many digits");
        *number = *number * 10 + (**at - '0');
    }
    return *digits > 0 ? CSE_OK : wrong(p, *at, "a number is missing");
}

/* The ranges between the brackets; *at is behind the opening one, then behind the closing one. */
static cse_status take_ranges(pattern *p, const char **at)
{
    for (;;) {
        if (p->parts[p->pairs].range_count == CSE_MAX_HOSTS)
            return wrong(p, *at, "too many numbers");
        range *r = &p->parts[p->pairs].ranges[p->parts[p->pairs].range_count++];
        CSE_TRY(take_number(p, at, &r->first, &r->width));
        r->last = r->first;
        int digits = r->width;
        if (**at == '-') {
            ++*at;
            CSE_TRY(take_number(p, at, &r->last, &digits));
        }
        if (r->last < r->first)
            return wrong(p, *at, "a range goes down");
        if (**at == ']')
            break;
        if (**at != ',')
            return wrong(p, *at, "a bracket is not closed");
        ++*at;
    }
    ++*at;
    p->pairs++;
    return CSE_OK;
}

static cse_status read_pattern(pattern *p)
{
    const char *at = p->text;
    for (;;) {
        const size_t literal = strcspn(at, "[]");
        if (at[literal] == ']')
            return wrong(p, at + literal, "a bracket is closed that is not open");
        if (at[literal] == 0)
            break;
        if (p->pairs == MAX_PAIRS)
            return wrong(p, at + literal, "more than 4 pairs of brackets");
        p->parts[p->pairs].literal = at;
        p->parts[p->pairs].literal_bytes = (int)literal;
        p->parts[p->pairs].range_count = 0;
        at += literal + 1;
        CSE_TRY(take_ranges(p, &at));
    }
    p->end = at;
    return CSE_OK;
}

/* How many names the pattern has, at most CSE_MAX_HOSTS + 1. */
static long name_count(const pattern *p)
{
    long count = 1;
    for (int i = 0; i < p->pairs; i++) {
        long numbers = 0;
        for (int r = 0; r < p->parts[i].range_count && numbers <= CSE_MAX_HOSTS; r++)
            numbers += p->parts[i].ranges[r].last - p->parts[i].ranges[r].first + 1;
        count *= numbers < CSE_MAX_HOSTS + 1 ? numbers : CSE_MAX_HOSTS + 1;
        if (count > CSE_MAX_HOSTS)
            return CSE_MAX_HOSTS + 1;
    }
    return count;
}

/* The number at place `index` of a pair of brackets, and its width. */
static long number_at(const pattern *p, int pair, long index, int *width)
{
    for (int r = 0;; r++) {
        const range *one = &p->parts[pair].ranges[r];
        const long numbers = one->last - one->first + 1;
        *width = one->width;
        if (index < numbers)
            return one->first + index;
        index -= numbers;
    }
}

static long numbers_of(const pattern *p, int pair)
{
    long numbers = 0;
    for (int r = 0; r < p->parts[pair].range_count; r++)
        numbers += p->parts[pair].ranges[r].last - p->parts[pair].ranges[r].first + 1;
    return numbers;
}

/* Writes name number `index`. False when it does not fit. */
static bool write_name(const pattern *p, long index, char *name, size_t size)
{
    long places[MAX_PAIRS] = { 0 };
    for (int i = p->pairs - 1; i >= 0; i--) {
        const long numbers = numbers_of(p, i);
        places[i] = index % numbers;
        index /= numbers;
    }
    size_t used = 0;
    for (int i = 0; i < p->pairs && used < size; i++) {
        int width;
        const long number = number_at(p, i, places[i], &width);
        used += (size_t)snprintf(name + used, size - used, "%.*s%0*ld", p->parts[i].literal_bytes,
                                 p->parts[i].literal, width, number);
    }
    if (used < size)
        used += (size_t)snprintf(name + used, size - used, "%s", p->end);
    return used < size;
}

cse_status cse_host_names_expand(const char *text, const char *source,
                                 cse_status (*add)(void *self, const char *name), void *self)
{
    pattern p = { .source = source, .text = text };
    CSE_TRY(read_pattern(&p));
    const long count = name_count(&p);
    if (count > CSE_MAX_HOSTS)
        return wrong(&p, text, "it has more hosts than the 256 that are accepted");
    for (long i = 0; i < count; i++) {
        char name[CSE_HOST_NAME_BYTES];
        if (!write_name(&p, i, name, sizeof name))
            return wrong(&p, text, "a name of a host is longer than 253 letters");
        CSE_TRY(add(self, name));
    }
    return CSE_OK;
}
