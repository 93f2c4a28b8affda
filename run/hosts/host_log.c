/* "csengine-log NUMBER csengine: LEVEL: PROCESS: TEXT": as cse_log_print has it, with a number. */
#include "run/hosts/host_log.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"

#define MARK "csengine-log "
#define PROGRAM "csengine: "

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t printed;

static void print(void *self, const char *line)
{
    (void)self;
    pthread_mutex_lock(&lock);
    fprintf(stderr, MARK "%lld %s", (long long)++printed, line);
    pthread_mutex_unlock(&lock);
}

void cse_host_log_begin(void)
{
    cse_log_set_printer(print, NULL);
}

/* What follows `start` in `text`; NULL: it does not begin so. */
static const char *behind(const char *text, const char *start)
{
    const size_t length = strlen(start);
    return strncmp(text, start, length) == 0 ? text + length : NULL;
}

/* The number of a line; 0: it has none. */
static int64_t read_number(const char **text)
{
    const char *at = behind(*text, MARK);
    char *end;
    if (at == NULL)
        return 0;
    errno = 0;
    const long long number = strtoll(at, &end, 10);
    if (end == at || errno != 0 || *end != ' ' || number < 1)
        return 0;
    *text = end + 1;
    return number;
}

const char *cse_host_log_text(const char *line)
{
    read_number(&line);
    return line;
}

static cse_log_level read_level(const char **text)
{
    const char *at = behind(*text, PROGRAM);
    for (int k = CSE_LOG_DEBUG; at != NULL && k <= CSE_LOG_ERROR; k++) {
        const char *rest = behind(at, cse_log_level_name((cse_log_level)k));
        if (rest != NULL && strncmp(rest, ": ", 2) == 0) {
            *text = rest + 2;
            return (cse_log_level)k;
        }
    }
    *text = at != NULL ? at : *text;
    return CSE_LOG_INFO;
}

/* "replica 1: ", as cse_process_name writes it; a coordinator's line names none. */
static cse_process read_process(const char **text)
{
    static const cse_role roles[] = { CSE_ROLE_REPLICA, CSE_ROLE_WEIGHT_SERVER, CSE_ROLE_INPUT,
                                      CSE_ROLE_MOVER };
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        char name[32];
        cse_process process = { .role = roles[i] };
        cse_process_name(process, name, sizeof name);
        name[strlen(name) - 1] = '\0'; /* the number 0 */
        const char *at = behind(*text, name);
        char *end = NULL;
        const long rank = at != NULL && *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : -1;
        if (rank < 0 || rank > 1 << 20 || strncmp(end, ": ", 2) != 0)
            continue;
        *text = end + 2;
        process.rank = (int)rank;
        return process;
    }
    return (cse_process){ .role = CSE_ROLE_COORDINATOR };
}

void cse_host_log_pass(cse_host_log *log, const char *host, const char *line)
{
    const int64_t number = read_number(&line);
    if (number > log->read + 1) {
        log->lost += number - log->read - 1;
        char text[64];
        snprintf(text, sizeof text, "%lld lines of its log were lost",
                 (long long)(number - log->read - 1));
        cse_log_pass(&(cse_log_record){
            .level = CSE_LOG_WARNING, .host = host, .time_ms = cse_unix_ms(), .text = text });
    }
    log->read = number > log->read ? number : log->read;
    cse_log_record record = { .level = read_level(&line), .time_ms = cse_unix_ms() };
    record.process = read_process(&line);
    record.host = host;
    record.text = line;
    cse_log_pass(&record);
}
