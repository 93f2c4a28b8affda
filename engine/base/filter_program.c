/* Lines of the program, and the search tree over ranges of numbers that ends it. */
#include "engine/base/filter_program.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>

static void add(cse_filter_program *p, uint16_t code, uint32_t value, int if_true, int if_false)
{
    if (p->length == CSE_FILTER_LINES || if_true > UINT8_MAX || if_false > UINT8_MAX)
        p->is_full = true;
    else
        p->lines[p->length++] =
            (struct sock_filter){ code, (uint8_t)if_true, (uint8_t)if_false, value };
}

static void load(cse_filter_program *p, size_t offset)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Low half; both processors are little-endian. */
static void load_argument(cse_filter_program *p, int number)
{
    load(p, offsetof(struct seccomp_data, args) + 8 * (size_t)number);
}

void cse_filter_answer(cse_filter_program *p, int error)
{
    add(p, BPF_RET | BPF_K, error == 0 ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (uint32_t)error, 0,
        0);
}

void cse_filter_begin(cse_filter_program *p, uint32_t processor)
{
    load(p, offsetof(struct seccomp_data, arch));
    add(p, BPF_JMP | BPF_JEQ | BPF_K, processor, 1, 0);
    add(p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    load(p, offsetof(struct seccomp_data, nr));
}

void cse_filter_refuse(cse_filter_program *p, int number, int error)
{
    add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
    cse_filter_answer(p, error);
}

void cse_filter_refuse_from(cse_filter_program *p, uint32_t number, int error)
{
    add(p, BPF_JMP | BPF_JGE | BPF_K, number, 0, 1);
    cse_filter_answer(p, error);
}

/* Lines for one call alone, which end with an answer; others go on after them, with the number
 * still loaded. */
static int begin_call(cse_filter_program *p, int call)
{
    add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 0);
    return p->length;
}

static void end_call(cse_filter_program *p, int begin)
{
    const int length = p->length - begin;
    if (p->is_full || length > UINT8_MAX)
        p->is_full = true;
    else
        p->lines[begin - 1].jf = (uint8_t)length;
}

void cse_filter_allow_where(cse_filter_program *p, int call, const cse_filter_argument *arguments,
                            int count)
{
    const int begin = begin_call(p, call);
    for (int i = 0; i < count; i++) {
        load_argument(p, arguments[i].number);
        add(p, BPF_JMP | BPF_JEQ | BPF_K, arguments[i].value, 1, 0);
        cse_filter_answer(p, EPERM);
    }
    cse_filter_answer(p, 0);
    end_call(p, begin);
}

void cse_filter_allow_values(cse_filter_program *p, int call, int argument,
                             cse_filter_values values)
{
    const int begin = begin_call(p, call);
    load_argument(p, argument);
    for (int i = 0; i < values.count; i++)
        add(p, BPF_JMP | BPF_JEQ | BPF_K, values.list[i], values.count - i, 0);
    cse_filter_answer(p, values.inverse ? 0 : EPERM);
    cse_filter_answer(p, values.inverse ? EPERM : 0);
    end_call(p, begin);
}

void cse_filter_allow_flags(cse_filter_program *p, int call, int argument, uint32_t refused,
                            uint32_t needed)
{
    const int begin = begin_call(p, call);
    load_argument(p, argument);
    add(p, BPF_JMP | BPF_JSET | BPF_K, refused, 0, 1);
    cse_filter_answer(p, EPERM);
    if (needed != 0) {
        add(p, BPF_JMP | BPF_JSET | BPF_K, needed, 1, 0);
        cse_filter_answer(p, EPERM);
    }
    cse_filter_answer(p, 0);
    end_call(p, begin);
}

void cse_filter_refuse_bits(cse_filter_program *p, int call, int argument, uint32_t mask,
                            const uint32_t values[2])
{
    const int begin = begin_call(p, call);
    load_argument(p, argument);
    add(p, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, values[0], 1, 0);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, values[1], 0, 1);
    cse_filter_answer(p, EPERM);
    cse_filter_answer(p, 0);
    end_call(p, begin);
}

void cse_filter_allow_or_leave(cse_filter_program *p, int call, cse_filter_argument allowed,
                               cse_filter_argument left)
{
    const int begin = begin_call(p, call);
    load_argument(p, allowed.number);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, allowed.value, 0, 1);
    cse_filter_answer(p, 0);
    load_argument(p, left.number);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, left.value, 0, 1);
    add(p, BPF_RET | BPF_K, SECCOMP_RET_ERRNO, 0, 0);
    cse_filter_answer(p, EPERM);
    end_call(p, begin);
}

/* ---- the tree ---- */

typedef struct range {
    uint32_t first, last;
} range;

static int compare(const void *a, const void *b)
{
    const int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* At most `count` ranges. */
static int join(const int *calls, int count, range *ranges)
{
    int made = 0;
    for (int i = 0; i < count; i++) {
        const uint32_t call = (uint32_t)calls[i];
        if (made > 0 && call <= ranges[made - 1].last + 1)
            ranges[made - 1].last = call;
        else
            ranges[made++] = (range){ call, call };
    }
    return made;
}

static void add_tree(cse_filter_program *p, const range *ranges, int count)
{
    if (count == 1) {
        add(p, BPF_JMP | BPF_JGE | BPF_K, ranges->first, 0, 2);
        add(p, BPF_JMP | BPF_JGT | BPF_K, ranges->last, 1, 0);
        cse_filter_answer(p, 0);
        cse_filter_answer(p, EPERM);
        return;
    }
    const int half = count / 2;
    add(p, BPF_JMP | BPF_JGE | BPF_K, ranges[half].first, 0, 1);
    const int far = p->length; /* a jump that may be longer than a comparison's */
    add(p, BPF_JMP | BPF_JA, 0, 0, 0);
    add_tree(p, ranges, half);
    if (!p->is_full)
        p->lines[far].k = (uint32_t)(p->length - far - 1);
    add_tree(p, ranges + half, count - half);
}

void cse_filter_allow_calls(cse_filter_program *p, int *calls, int count)
{
    range ranges[CSE_FILTER_LINES];
    qsort(calls, (size_t)count, sizeof *calls, compare);
    const int made = count <= CSE_FILTER_LINES ? join(calls, count, ranges) : 0;
    if (made > 0)
        add_tree(p, ranges, made);
    else
        p->is_full = true;
}
