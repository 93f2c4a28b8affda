/* `csengine answer VERSION WHAT ...`: does for a process that has loaded the library what only the
 * program can (client/ask.h, run/hosts/own_identity.h). The input is standard input, the answer
 * standard output; a failure is the last line of standard error: the status and the message. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/arguments/command.h"
#include "dataloader/formats/hdf5_table.h"
#include "engine/base/float_mode.h"
#include "engine/code/kernels/kernel_record.h"
#include "engine/formats/checkpoint/shared_checkpoint.h"
#include "engine/graph/pack.h"
#include "workers/group/host_identity.h"
#include "workers/worker/work.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "0"
#endif

enum { USAGE = 64 };

/* What was asked: the words after WHAT, and where the answer goes. */
typedef struct question {
    const char *const *words;
    int word_count;
    int output;
} question;

static cse_status put(const question *q, const cse_text *text)
{
    size_t done = 0;
    while (done < text->size) {
        const ssize_t written = write(q->output, text->data + done, text->size - done);
        if (written < 0)
            return cse_fail(CSE_IO, "the answer cannot be written: %m");
        done += (size_t)written;
    }
    return CSE_OK;
}

static cse_status tell_choices(const question *q)
{
    cse_text choices = { 0 };
    cse_status status = cse_kernel_record_choices(&choices);
    if (status == CSE_OK)
        status = put(q, &choices);
    cse_text_clear(&choices);
    return status;
}

static cse_status tell_identity(const question *q)
{
    cse_arena *arena = cse_arena_new();
    cse_host_identity identity;
    cse_text text = { 0 };
    cse_host_identity_new(arena, false, &identity);
    cse_text_add(&text, "%s %s %s\n", identity.build, identity.instruction_set, identity.kernels);
    cse_status status = put(q, &text);
    cse_text_clear(&text);
    cse_arena_destroy(&arena);
    return status;
}

static cse_status read_graph(cse_graph **graph)
{
    struct stat facts;
    if (fstat(STDIN_FILENO, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size == 0)
        return cse_fail(CSE_USAGE, "standard input is no file with a graph");
    const unsigned char *bytes =
        mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0);
    if (bytes == MAP_FAILED)
        return cse_fail(CSE_IO, "the graph cannot be read: %m");
    cse_unpacker from = { .at = bytes, .end = bytes + facts.st_size };
    cse_status status = cse_graph_unpack(&from, NULL, graph);
    munmap((void *)(uintptr_t)bytes, (size_t)facts.st_size);
    return status;
}

static cse_status tell_kernels(const question *q)
{
    cse_graph *graph = NULL;
    cse_text record = { 0 };
    CSE_TRY(read_graph(&graph));
    cse_status status = cse_kernel_record_new(graph, &record);
    if (status == CSE_OK)
        status = put(q, &record);
    cse_text_clear(&record);
    cse_graph_destroy(&graph);
    return status;
}

static cse_status write_checkpoint(const question *q)
{
    if (cse_shared_checkpoint_fill(STDIN_FILENO, q->output) == 0)
        return CSE_OK;
    return cse_fail(CSE_IO, "standard input is no memory of a checkpoint that can be written");
}

static cse_status tell_table(const question *q)
{
    cse_hdf5_table *table = NULL;
    cse_text answer = { 0 };
    if (q->word_count != 2)
        return cse_fail(CSE_USAGE, "a table is asked for by its name and its file's path");
    CSE_TRY(cse_hdf5_table_open(STDIN_FILENO, q->words[1], q->words[0], &table));
    const cse_shape shape = cse_hdf5_table_shape(table);
    cse_text_add(&answer, "%d", shape.rank);
    for (int i = 0; i < shape.rank; i++)
        cse_text_add(&answer, " %lld", (long long)shape.dims[i]);
    cse_hdf5_table_close(&table);
    cse_status status = put(q, &answer);
    cse_text_clear(&answer);
    return status;
}

static const struct answer {
    const char *what;
    cse_status (*give)(const question *q);
} answers[] = {
    { "checkpoint", write_checkpoint }, { "choices", tell_choices }, { "identity", tell_identity },
    { "kernels", tell_kernels },        { "table", tell_table },
};

static cse_status answer(const cse_command_line *line, const question *q)
{
    if (line->argc < 3)
        return cse_fail(CSE_USAGE, "this command is started by the client library alone");
    if (strcmp(line->argv[1], PACKAGE_VERSION) != 0)
        return cse_fail(CSE_UNAVAILABLE,
                        "the client library is of version %s, this program of version " //
                        PACKAGE_VERSION ": install both of one version, or name the right program "
                        "in CSENGINE_EXECUTABLE",
                        line->argv[1]);
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        if (strcmp(line->argv[2], answers[i].what) == 0)
            return answers[i].give(q);
    return cse_fail(CSE_USAGE, "%s is nothing that this program answers", line->argv[2]);
}

/* The lines of a message are one here, as the last line is what is read. */
static int tell_failure(cse_status status)
{
    cse_text line = { 0 };
    cse_text_add(&line, "%d %s", (int)status, cse_error_message());
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] == '\n')
            line.data[i] = ' ';
    fprintf(stderr, "%s\n", line.data);
    cse_text_clear(&line);
    return cse_status_exit_code(status);
}

/* What anything here prints goes to standard error, so that the answer is whole. Ctrl-C is for the
 * process that asked: it waits for what it asked for, which is short, or ends. */
static int run(const cse_command_line *line)
{
    signal(SIGINT, SIG_IGN);
    const question q = { .words = (const char *const *)line->argv + 3,
                         .word_count = line->argc - 3,
                         .output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) };
    if (q.output < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return USAGE;
    cse_set_float_mode();
    cse_status status = answer(line, &q);
    return status == CSE_OK ? 0 : tell_failure(status);
}

const cse_command cse_command_answer = {
    .name = "answer",
    .summary = "does for a client of the library what only the program can",
    .arguments = "",
    .hidden = true,
    .run = run,
};
