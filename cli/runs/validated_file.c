/* The process prints JSON lines; its last one says how it ended. */
#include "cli/runs/validated_file.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/piped_program.h"
#include "engine/base/text.h"

enum { MOST_BYTES = 1 << 22 };

static cse_status start(const char *path, const char *model_dir, pid_t *child, int *output)
{
    char own[PATH_MAX + 1];
    const ssize_t length = readlink("/proc/self/exe", own, PATH_MAX);
    own[length > 0 ? length : 0] = '\0';
    char *const words[] = { own,
                            (char *)"start",
                            (char *)"--validate_only",
                            (char *)"--json",
                            (char *)"--model_dir",
                            (char *)(uintptr_t)model_dir,
                            (char *)(uintptr_t)path,
                            NULL };
    return cse_piped_program_start(words, "/dev/null", child, output);
}

/* Reads until the process has closed its output; false where time or room are over before. */
static bool read_all(int output, int64_t end_ns, cse_text *text)
{
    char part[4096];
    for (;;) {
        const int64_t left_ns = end_ns - cse_clock_ns();
        struct pollfd entry = { .fd = output, .events = POLLIN };
        if (left_ns <= 0 || text->size > MOST_BYTES)
            return false;
        const int ready = poll(&entry, 1, (int)(left_ns / 1000000) + 1);
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready <= 0)
            continue;
        const ssize_t size = read(output, part, sizeof part);
        if (size == 0)
            return true;
        if (size > 0)
            cse_text_add(text, "%.*s", (int)size, part);
        else if (errno != EINTR)
            return false;
    }
}

static void add_missing(json_t *missing, const char *message, const json_t *place)
{
    const char *end = strstr(message, "; accepted:");
    json_t *entry = json_object();
    json_t *line = json_object_get(place, "line"), *column = json_object_get(place, "column");
    if (json_is_integer(line))
        json_object_set(entry, "line", line);
    if (json_is_integer(column))
        json_object_set(entry, "column", column);
    json_object_set_new(
        entry, "message",
        json_stringn(message, end != NULL ? (size_t)(end - message) : strlen(message)));
    /* A data loader that several sections have by an alias is told once. */
    for (size_t i = 0; i < json_array_size(missing); i++)
        if (json_equal(json_array_get(missing, i), entry)) {
            json_decref(entry);
            return;
        }
    json_array_append_new(missing, entry);
}

static void take_end(const json_t *end, json_t *missing)
{
    const json_t *list = json_object_get(end, "diagnostics");
    const char *error = json_string_value(json_object_get(end, "error"));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const char *message = json_string_value(json_object_get(entry, "message"));
        if (message != NULL)
            add_missing(missing, message, entry);
    }
    if (json_array_size(missing) == 0 && error != NULL)
        add_missing(missing, error, NULL);
}

static void read_end(const char *text, json_t *missing)
{
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        line += *line == '\n';
        json_t *object = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        const char *event = json_string_value(json_object_get(object, "event"));
        if (event != NULL && strcmp(event, "end") == 0)
            take_end(object, missing);
        json_decref(object);
    }
}

cse_status cse_validate_file(const char *path, const char *model_dir, int most_seconds,
                             cse_validated_file *result)
{
    pid_t child = 0;
    int output = -1, state = 0;
    cse_text text = { 0 };
    const int64_t begin_ns = cse_clock_ns();
    *result = (cse_validated_file){ .missing = json_array() };
    CSE_TRY(start(path, model_dir, &child, &output));
    const bool ended = read_all(output, begin_ns + (int64_t)most_seconds * 1000000000, &text);
    if (!ended)
        kill(child, SIGKILL);
    close(output);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR)
        continue;
    result->seconds = (double)(cse_clock_ns() - begin_ns) * 1e-9;
    result->passes = ended && WIFEXITED(state) && WEXITSTATUS(state) == 0;
    if (text.data != NULL)
        read_end(text.data, result->missing);
    cse_text_clear(&text);
    if (!ended)
        add_missing(result->missing, "the validation did not end in time", NULL);
    else if (!result->passes && json_array_size(result->missing) == 0)
        add_missing(result->missing, "the validation ended without a message", NULL);
    return CSE_OK;
}
