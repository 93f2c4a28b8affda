/* Status codes and errors.
 *
 * Every call that can fail returns a cse_status. The last failure of the calling thread is kept
 * until the next one, as a value (cse_error): what was wrong, where, what is accepted and what to
 * do. One table gives each code its exit code (sysexits) and whether a retry can help. */
#ifndef CSENGINE_STATUS_H
#define CSENGINE_STATUS_H

#include <stdbool.h>

#if defined(__GNUC__)
#define CSE_API __attribute__((visibility("default")))
#define CSE_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define CSE_API
#define CSE_PRINTF(format_index, first)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* X(code, exit code of the process, retryable, text) */
#define CSE_STATUS_TABLE(X)                                          \
    X(CSE_OK, 0, 0, "success")                                       \
    X(CSE_FAILED, 1, 0, "the job failed")                            \
    X(CSE_DIVERGED, 1, 0, "the training diverged")                   \
    X(CSE_USAGE, 64, 0, "wrong use of the command line")             \
    X(CSE_DATA, 65, 0, "the content of a file is wrong")             \
    X(CSE_SHAPE, 65, 0, "shapes or types of tensors do not fit")     \
    X(CSE_NO_INPUT, 66, 0, "an input file is missing")               \
    X(CSE_UNAVAILABLE, 69, 1, "a peer or service is not available")  \
    X(CSE_INTERNAL, 70, 0, "internal error")                         \
    X(CSE_SYSTEM_LIMIT, 71, 0, "a limit of the system is too small") \
    X(CSE_CANNOT_CREATE, 73, 0, "a file cannot be created")          \
    X(CSE_IO, 74, 1, "input or output failed")                       \
    X(CSE_TEMPORARY, 75, 1, "a resource is short at the moment")     \
    X(CSE_PREEMPTED, 75, 1, "the run's place is needed for another") \
    X(CSE_PERMISSION, 77, 0, "permission denied")                    \
    X(CSE_CONFIG, 78, 0, "the configuration is wrong")               \
    X(CSE_TIME_LIMIT, 124, 0, "the time limit of the run is over")   \
    X(CSE_INTERRUPTED, 130, 1, "interrupted")

typedef enum cse_status {
#define CSE_STATUS_ENUM(code, exit_code, retryable, text) code,
    CSE_STATUS_TABLE(CSE_STATUS_ENUM)
#undef CSE_STATUS_ENUM
} cse_status;

/* The code's short text; never NULL. */
CSE_API const char *cse_status_text(cse_status status);

/* The exit code a process that ends with this status gives. */
CSE_API int cse_status_exit_code(cse_status status);

/* Whether the same call may succeed later without a change. */
CSE_API bool cse_status_retryable(cse_status status);

/* Where something was written: a line and column of a file, or, with line 0, a flag ("--seed"). */
typedef struct cse_place {
    const char *source; /* a file's or a flag's name; NULL: no place is known */
    int line, column;   /* from 1 */
} cse_place;

/* Why a call was refused, for callers that act on the difference. */
typedef enum cse_error_reason {
    CSE_ERROR_GENERAL,
    CSE_ERROR_UNSUPPORTED, /* never possible here, though it may be elsewhere */
} cse_error_reason;

/* What failed, as fields. People see them as one text, in this order (cse_error_message):
 *
 *     CONTEXT PLACE: MESSAGE; HINT; ACCEPTED       (a hint that is in the message is not repeated)
 *     configuration: a.yaml:3:5: unknown setting "sed"; did you mean "seed"?; accepted: seed, loop
 */
typedef struct cse_error {
    cse_status status;
    cse_error_reason reason;
    const char *context; /* what was being done, with its own ": "; or NULL */
    cse_place place;
    const char *message;
    const char *hint;     /* what was probably meant, or what to do; or NULL */
    const char *accepted; /* "accepted: ...", or NULL */
} cse_error;

/* The calling thread's last failure; its texts are empty before the first. It is valid until the
 * next failure. */
CSE_API const cse_error *cse_error_last(void);

/* The text of cse_error_last(); "" before the first failure. */
CSE_API const char *cse_error_message(void);

/* Stores a failure that has only a message for the calling thread and returns `status`, so that a
 * failing call can end with `return cse_fail(CSE_DATA, "...", ...)`. `status` must not be CSE_OK.
 * Arguments may be texts of the last failure, here and below. */
CSE_API cse_status cse_fail(cse_status status, const char *format, ...) CSE_PRINTF(2, 3);

/* The same with fields: `error->message` is replaced by the formatted one. For example
 *
 *     return cse_fail_at(&(cse_error){ .status = CSE_CONFIG, .place = place, .hint = "add it" },
 *                        "the setting \"%s\" is missing", name);
 */
CSE_API cse_status cse_fail_at(const cse_error *error, const char *format, ...) CSE_PRINTF(2, 3);

/* Stores a copy of `error`, which was kept from an earlier failure; returns its status. */
CSE_API cse_status cse_fail_again(const cse_error *error);

/* Puts "while reading x: " before the context of the last failure, sets its status to `status` and
 * returns that. */
CSE_API cse_status cse_fail_within(cse_status status, const char *format, ...) CSE_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif

/* Returns from the calling function when `expression` is not CSE_OK. */
#define CSE_TRY(expression)                       \
    do {                                          \
        cse_status cse_try_status = (expression); \
        if (cse_try_status != CSE_OK)             \
            return cse_try_status;                \
    } while (0)

#endif
