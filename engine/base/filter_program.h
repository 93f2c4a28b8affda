/* A program for the kernel's classic BPF that judges a system call: made line by line, read by the
 * kernel at every call. Its form matters: kernels since 5.11 run it once for each number, and keep
 * the answer where that depends on comparisons of the number alone. */
#ifndef CSE_BASE_FILTER_PROGRAM_H
#define CSE_BASE_FILTER_PROGRAM_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CSE_FILTER_LINES = 1024 };

typedef struct cse_filter_program {
    struct sock_filter lines[CSE_FILTER_LINES];
    unsigned short length;
    bool is_full; /* a line did not fit: the program must not be used */
} cse_filter_program;

/* Ends the judgement: 0 allows, an error number refuses. */
void cse_filter_answer(cse_filter_program *p, int error);
/* Ends the process where the call is not one of this processor, and loads the call's number. */
void cse_filter_begin(cse_filter_program *p, uint32_t processor);
/* The call with this number, and those from it on, fail. */
void cse_filter_refuse(cse_filter_program *p, int number, int error);
void cse_filter_refuse_from(cse_filter_program *p, uint32_t number, int error);

/* ---- calls that are judged by their arguments; only low halves are, which the kernel reads of
 * numbers and flags. What is not allowed fails with EPERM. ---- */

/* Where each of `count` arguments has its value. */
typedef struct cse_filter_argument {
    int number;
    uint32_t value;
} cse_filter_argument;
void cse_filter_allow_where(cse_filter_program *p, int call, const cse_filter_argument *arguments,
                            int count);
/* Where the argument is one of the values; with `inverse`, where it is none of them. */
typedef struct cse_filter_values {
    const uint32_t *list;
    int count;
    bool inverse;
} cse_filter_values;
void cse_filter_allow_values(cse_filter_program *p, int call, int argument,
                             cse_filter_values values);
/* Where the argument has none of the flags `refused` and, if `needed` is not 0, one of those. */
void cse_filter_allow_flags(cse_filter_program *p, int call, int argument, uint32_t refused,
                            uint32_t needed);
/* Where the argument's bits of `mask` are none of the two values. */
void cse_filter_refuse_bits(cse_filter_program *p, int call, int argument, uint32_t mask,
                            const uint32_t values[2]);

/* Where the first argument has its value; else, where the second one has, the call is answered as
 * done and has no effect. */
void cse_filter_allow_or_leave(cse_filter_program *p, int call, cse_filter_argument allowed,
                               cse_filter_argument left);

/* Ends the program: the calls of the list, which is sorted here, are allowed, others fail with
 * EPERM. */
void cse_filter_allow_calls(cse_filter_program *p, int *calls, int count);

#endif
