/* The two processes speak over a pair of sockets. The one that asks sends the position of a weight;
 * the one that reads answers with a status, followed by the message of a failure or by the
 * elements. The one that reads ends when the other end of its socket is closed, and is killed when
 * it takes more processor time than a good file needs. */
#include "engine/formats/weights/apart.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/sandbox.h"

enum {
    MESSAGE_BYTES = 4096,     /* of a failure */
    BLOCK_BYTES = 1 << 20,    /* that are sent at once */
    LEAST_SECONDS = 60,       /* of processor time for an answer, */
    BYTES_A_SECOND = 1 << 20, /* and for as many more elements one more */
    MOST_GROWTH = 1100        /* of compressed elements: deflate makes 1032 bytes of one */
};

typedef struct answer {
    int32_t status;
    uint32_t message_bytes; /* of the message that follows a failure */
    uint64_t count;         /* of the weights, or of the bytes that follow */
} answer;

typedef struct entry {
    int32_t name_bytes, element, rank, is_in_file;
    uint64_t offset;
    int64_t dims[CSE_MAX_RANK];
} entry;

static bool send_all(int socket, const void *data, size_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        const ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int socket, void *data, size_t bytes)
{
    for (char *at = data; bytes > 0;) {
        const ssize_t got = recv(socket, at, bytes, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

/* ---- the process that reads ---- */

static void limit_time(uint64_t bytes)
{
    struct rusage used;
    struct rlimit limit;
    const uint64_t seconds = LEAST_SECONDS + bytes / BYTES_A_SECOND;
    if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &limit) != 0)
        return;
    const rlim_t end = (rlim_t)used.ru_utime.tv_sec + (rlim_t)used.ru_stime.tv_sec + seconds;
    limit.rlim_cur = end < limit.rlim_max ? end : limit.rlim_max;
    setrlimit(RLIMIT_CPU, &limit);
}

/* Of the descriptors that it was given, all but two and those of standard input and output. */
static void close_others(int one, int other)
{
    const unsigned low = (unsigned)(one < other ? one : other);
    const unsigned high = (unsigned)(one < other ? other : one);
    if (low > 3)
        close_range(3, low - 1, 0);
    if (high > low + 1)
        close_range(low + 1, high - 1, 0);
    close_range(high + 1, ~0U, 0);
}

static bool send_answer(int socket, cse_status status, uint64_t count)
{
    const char *message = status != CSE_OK ? cse_error_message() : "";
    const size_t length = strlen(message);
    const answer sent = { .status = status,
                          .message_bytes =
                              (uint32_t)(length < MESSAGE_BYTES ? length : MESSAGE_BYTES - 1),
                          .count = count };
    return send_all(socket, &sent, sizeof sent) && send_all(socket, message, sent.message_bytes);
}

static bool send_entry(int socket, const cse_weight *weight)
{
    entry sent = { .name_bytes = (int32_t)strlen(weight->name),
                   .element = weight->element,
                   .rank = weight->shape.rank,
                   .is_in_file = weight->file >= 0,
                   .offset = weight->offset };
    memcpy(sent.dims, weight->shape.dims, sizeof sent.dims);
    return send_all(socket, &sent, sizeof sent) &&
           send_all(socket, weight->name, (size_t)sent.name_bytes);
}

/* The first block is read before the answer: by then all is known to be well. */
static bool send_elements(int socket, cse_weights *weights, int index, unsigned char *block)
{
    const uint64_t all = cse_weight_bytes(&weights->list[index]);
    const size_t first = all < BLOCK_BYTES ? (size_t)all : BLOCK_BYTES;
    limit_time(all);
    cse_status status = cse_weights_read(weights, index, 0, first, block);
    if (!send_answer(socket, status, all) || status != CSE_OK)
        return status != CSE_OK;
    for (uint64_t at = 0; at < all;) {
        const size_t some = all - at < BLOCK_BYTES ? (size_t)(all - at) : BLOCK_BYTES;
        if (at > 0 && cse_weights_read(weights, index, at, some, block) != CSE_OK)
            return false;
        if (!send_all(socket, block, some))
            return false;
        at += some;
    }
    return true;
}

_Noreturn static void serve(int socket, const cse_weights *asked, int file,
                            const cse_weights_options *options, cse_weights_opener *open)
{
    const struct sigaction plain = { .sa_handler = SIG_DFL };
    unsigned char *block = cse_calloc(BLOCK_BYTES, 1);
    cse_weights *weights = cse_weights_new(asked->path);
    int32_t index;
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &plain, NULL);
    signal(SIGINT, SIG_IGN); /* the other process handles a terminal's Ctrl-C */
    close_others(socket, asked->files[file].descriptor);
    limit_time(0);
    CSE_GROW(weights->files, weights->file_count, weights->file_capacity);
    weights->files[weights->file_count++] = asked->files[file];
    cse_status status = cse_sandbox_enter(CSE_SANDBOX_PARSER, NULL, NULL);
    if (status == CSE_OK)
        status = open(weights, 0, options);
    bool goes_on = send_answer(socket, status, (uint64_t)weights->count) && status == CSE_OK;
    for (int i = 0; goes_on && i < weights->count; i++)
        goes_on = send_entry(socket, &weights->list[i]);
    while (goes_on && receive_all(socket, &index, sizeof index))
        goes_on =
            index >= 0 && index < weights->count && send_elements(socket, weights, index, block);
    _exit(0); /* what belongs to the other process as well stays as it is */
}

/* ---- the process that asks ---- */

typedef struct reader {
    int socket;
    pid_t process;
    int kept; /* the weight that was read last; -1: none */
    unsigned char *elements;
} reader;

/* Waits for its end; it keeps nothing that could be lost. */
static void end_process(reader *r)
{
    if (r->process <= 0)
        return;
    close(r->socket);
    kill(r->process, SIGKILL);
    while (waitpid(r->process, NULL, 0) < 0 && errno == EINTR)
        continue;
    r->process = 0;
}

/* After an answer that is missing or malformed. */
static cse_status fail_ended(const cse_weights *weights, reader *r)
{
    end_process(r);
    return cse_fail(CSE_DATA,
                    "%s: is damaged: the process that read it ended, or took too much time",
                    weights->path);
}

static cse_status receive_answer(const cse_weights *weights, reader *r, answer *received)
{
    char message[MESSAGE_BYTES];
    if (r->process <= 0 || !receive_all(r->socket, received, sizeof *received) ||
        received->message_bytes >= sizeof message ||
        !receive_all(r->socket, message, received->message_bytes))
        return fail_ended(weights, r);
    message[received->message_bytes] = '\0';
    switch (received->status) {
    case CSE_OK:
        return CSE_OK;
    case CSE_IO:
    case CSE_SHAPE:
    case CSE_UNAVAILABLE:
        return cse_fail((cse_status)received->status, "%s", message);
    default:
        return cse_fail(CSE_DATA, "%s", message);
    }
}

static cse_status receive_entry(cse_weights *weights, int file, reader *r)
{
    entry received;
    char name[CSE_WEIGHT_NAME_BYTES + 1];
    if (!receive_all(r->socket, &received, sizeof received) || received.name_bytes < 0 ||
        received.name_bytes > CSE_WEIGHT_NAME_BYTES ||
        !receive_all(r->socket, name, (size_t)received.name_bytes))
        return fail_ended(weights, r);
    name[received.name_bytes] = '\0';
    cse_weight weight = { .name = name,
                          .element = (cse_element)received.element,
                          .shape.rank = received.rank,
                          .file = received.is_in_file ? file : -1,
                          .offset = received.offset };
    memcpy(weight.shape.dims, received.dims, sizeof received.dims);
    CSE_TRY(cse_weights_add(weights, &weight));
    if (cse_weight_bytes(&weights->list[weights->count - 1]) / MOST_GROWTH >
        weights->files[file].bytes)
        return cse_fail(CSE_DATA, "%s: '%s' has more elements than the file can hold",
                        weights->path, name);
    return CSE_OK;
}

static cse_status receive_elements(cse_weights *weights, reader *r, int32_t index, uint64_t bytes)
{
    answer received;
    free(r->elements);
    r->elements = NULL;
    r->kept = -1;
    if (r->process <= 0 || !send_all(r->socket, &index, sizeof index))
        return fail_ended(weights, r);
    CSE_TRY(receive_answer(weights, r, &received));
    r->elements = cse_calloc(bytes + 1, 1);
    if (received.count != bytes || !receive_all(r->socket, r->elements, bytes))
        return fail_ended(weights, r);
    r->kept = index;
    return CSE_OK;
}

static cse_status read_weight(cse_weights *weights, int index, uint64_t first, size_t bytes,
                              void *to)
{
    reader *r = weights->self;
    if (weights->list[index].file >= 0)
        return cse_weights_read_file(weights, index, first, bytes, to);
    if (r->kept != index)
        CSE_TRY(receive_elements(weights, r, index, cse_weight_bytes(&weights->list[index])));
    memcpy(to, r->elements + first, bytes);
    return CSE_OK;
}

static void close_reader(cse_weights *weights)
{
    reader *r = weights->self;
    end_process(r);
    free(r->elements);
}

cse_status cse_weights_open_apart(cse_weights *weights, int file,
                                  const cse_weights_options *options, cse_weights_opener *open)
{
    int ends[2];
    answer received;
    reader *r = cse_arena_alloc(weights->arena, sizeof *r);
    r->kept = -1;
    weights->self = r;
    weights->read = read_weight;
    weights->close = close_reader;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return cse_fail(CSE_TEMPORARY, "%s: no process can be made to read it: %s", weights->path,
                        strerror(errno));
    r->process = fork();
    if (r->process == 0)
        serve(ends[1], weights, file, options, open);
    const int code = errno;
    close(ends[1]);
    r->socket = ends[0];
    if (r->process < 0) {
        close(r->socket);
        return cse_fail(CSE_TEMPORARY, "%s: no process can be made to read it: %s", weights->path,
                        strerror(code));
    }
    CSE_TRY(receive_answer(weights, r, &received));
    for (uint64_t i = 0; i < received.count; i++)
        CSE_TRY(receive_entry(weights, file, r));
    return CSE_OK;
}
