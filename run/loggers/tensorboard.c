/* TensorBoardLogger: one event file a run, as TensorBoard reads it.
 *
 * A record is: length (u64), its masked CRC-32C (u32), the bytes, their masked CRC-32C (u32), all
 * little-endian, where mask(c) = (c >> 15 | c << 17) + 0xa282ead8. The bytes are a protocol buffer:
 *   Event   { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5;
 *             SessionLog session_log = 7; }
 *   Summary { repeated Value value = 1; }   Value { string tag = 1; float simple_value = 2; }
 *   SessionLog { enum status = 1 { START = 1 } }
 * The first record says "brain.Event:2". A run that goes on writes a further file: TensorBoard
 * joins the files of a directory in the order of their names, which begin with the time, and by
 * a START leaves out what earlier ones have of the steps from its own on. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "engine/base/crc32c.h"
#include "engine/base/directory.h"
#include "engine/base/file_status.h"
#include "engine/base/text.h"
#include "run/loggers/logger.h"

/* Field number and wire type in one byte, as the protocol buffer has them. */
enum {
    EVENT_WALL_TIME = 1 << 3 | 1,
    EVENT_STEP = 2 << 3,
    EVENT_FILE_VERSION = 3 << 3 | 2,
    EVENT_SUMMARY = 5 << 3 | 2,
    EVENT_SESSION_LOG = 7 << 3 | 2,
    SESSION_LOG_STATUS = 1 << 3,
    SUMMARY_VALUE = 1 << 3 | 2,
    VALUE_TAG = 1 << 3 | 2,
    VALUE_SIMPLE_VALUE = 2 << 3 | 5,
};
enum { SESSION_LOG_START = 1 };

typedef struct tensorboard {
    FILE *file;
    char path[PATH_MAX];
    cse_text event, summary, value; /* of the record that is being written */
    int64_t goes_on_after;          /* -1: the run does not go on, or that is written */
} tensorboard;

/* ---- protocol buffer ---- */

static void add_byte(cse_text *text, int byte)
{
    char c = (char)byte;
    cse_text_add_bytes(text, &c, 1);
}

static void add_little_endian(cse_text *text, uint64_t bits, int bytes)
{
    for (int i = 0; i < bytes; i++)
        add_byte(text, (int)(bits >> 8 * i & 0xff));
}

static void add_varint(cse_text *text, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        add_byte(text, (int)(number & 0x7f) | 0x80);
    add_byte(text, (int)number);
}

static void add_double(cse_text *text, int field, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    add_byte(text, field);
    add_little_endian(text, bits, 8);
}

static void add_float(cse_text *text, int field, float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    add_byte(text, field);
    add_little_endian(text, bits, 4);
}

static void add_bytes(cse_text *text, int field, const char *bytes, size_t size)
{
    add_byte(text, field);
    add_varint(text, size);
    cse_text_add_bytes(text, bytes, size);
}

/* ---- records ---- */

static uint32_t masked_crc(const void *bytes, size_t size)
{
    uint32_t crc = cse_crc32c(bytes, size);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static cse_status write_failure(const tensorboard *t)
{
    return cse_fail(CSE_IO, "%s cannot be written: %s", t->path, strerror(errno));
}

static cse_status write_record(tensorboard *t)
{
    cse_text head = { 0 }, tail = { 0 };
    add_little_endian(&head, t->event.size, 8);
    add_little_endian(&head, masked_crc(head.data, 8), 4);
    add_little_endian(&tail, masked_crc(t->event.data, t->event.size), 4);
    bool written = fwrite(head.data, head.size, 1, t->file) == 1 &&
                   fwrite(t->event.data, t->event.size, 1, t->file) == 1 &&
                   fwrite(tail.data, tail.size, 1, t->file) == 1;
    cse_text_clear(&head);
    cse_text_clear(&tail);
    return written ? CSE_OK : write_failure(t);
}

static cse_status write_version(tensorboard *t)
{
    struct timespec now;
    static const char version[] = "brain.Event:2";
    clock_gettime(CLOCK_REALTIME, &now);
    t->event.size = 0;
    add_double(&t->event, EVENT_WALL_TIME, (double)now.tv_sec + (double)now.tv_nsec * 1e-9);
    add_bytes(&t->event, EVENT_FILE_VERSION, version, sizeof version - 1);
    return write_record(t);
}

/* TensorBoard leaves out what other files of the directory have of the steps from this one on. */
static cse_status write_start(tensorboard *t, const cse_logged_scalar *first)
{
    static const char start[] = { SESSION_LOG_STATUS, SESSION_LOG_START };
    t->event.size = 0;
    t->goes_on_after = -1;
    add_double(&t->event, EVENT_WALL_TIME, first->time_s);
    add_byte(&t->event, EVENT_STEP);
    add_varint(&t->event, (uint64_t)first->step);
    add_bytes(&t->event, EVENT_SESSION_LOG, start, sizeof start);
    return write_record(t);
}

static cse_status go_on(void *logger, int64_t step)
{
    ((tensorboard *)logger)->goes_on_after = step;
    return CSE_OK;
}

static cse_status write_scalar(void *logger, const cse_logged_scalar *scalar)
{
    tensorboard *t = logger;
    if (t->goes_on_after >= 0 && scalar->step > t->goes_on_after)
        CSE_TRY(write_start(t, scalar));
    t->event.size = t->summary.size = t->value.size = 0;
    add_bytes(&t->value, VALUE_TAG, scalar->name, strlen(scalar->name));
    add_float(&t->value, VALUE_SIMPLE_VALUE, (float)scalar->value);
    add_bytes(&t->summary, SUMMARY_VALUE, t->value.data, t->value.size);
    add_double(&t->event, EVENT_WALL_TIME, scalar->time_s);
    add_byte(&t->event, EVENT_STEP);
    add_varint(&t->event, (uint64_t)scalar->step);
    add_bytes(&t->event, EVENT_SUMMARY, t->summary.data, t->summary.size);
    return write_record(t);
}

/* ---- the file ---- */

/* Makes events.out.tfevents.TIME.HOST.PID.COUNT with the first COUNT for which there is no file. */
static cse_status open_file(tensorboard *t, const char *directory)
{
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    for (int count = 0; t->file == NULL; count++) {
        int length = snprintf(t->path, sizeof t->path, "%s/events.out.tfevents.%010lld.%s.%d.%d",
                              directory, (long long)time(NULL), host, (int)getpid(), count);
        if (length >= (int)sizeof t->path)
            return cse_fail(CSE_CANNOT_CREATE, "%s: the path of an event file there is too long",
                            directory);
        t->file = cse_confined_stream(t->path, O_EXCL);
        if (t->file == NULL && errno == EXDEV)
            return cse_confinement_refuse(CSE_PATH_OUTPUT, t->path);
        if (t->file == NULL && errno != EEXIST)
            return cse_fail(cse_status_of_writing(errno), "%s cannot be created: %s", t->path,
                            strerror(errno));
    }
    return CSE_OK;
}

static void close_file(void *logger)
{
    tensorboard *t = logger;
    if (t->file != NULL)
        fclose(t->file);
    cse_text_clear(&t->event);
    cse_text_clear(&t->summary);
    cse_text_clear(&t->value);
    free(t);
}

static cse_status flush(void *logger)
{
    tensorboard *t = logger;
    return fflush(t->file) == 0 ? CSE_OK : write_failure(t);
}

static cse_status open_logger(const cse_settings *settings, const char *model_dir, void **logger)
{
    char directory[PATH_MAX];
    const char *given = cse_settings_text(settings, "summary_dir");
    snprintf(directory, sizeof directory, "%s%s", given != NULL ? given : model_dir,
             given != NULL ? "" : "/events");
    CSE_TRY(cse_make_directories("summary_dir", directory));
    tensorboard *t = cse_calloc(1, sizeof *t);
    t->goes_on_after = -1;
    cse_status status = open_file(t, directory);
    if (status == CSE_OK)
        status = write_version(t);
    if (status == CSE_OK)
        status = flush(t);
    if (status != CSE_OK) {
        close_file(t);
        return status;
    }
    *logger = t;
    return CSE_OK;
}

static const cse_setting settings[] = {
    { .name = "summary_dir",
      .type = CSE_SETTING_PATH,
      .default_value = "null",
      .doc = "directory of the event files; null: MODEL_DIR/events" },
    { .name = NULL },
};

const cse_logger_descriptor cse_logger_tensorboard = {
    .name = "TensorBoardLogger",
    .summary = "event files of TensorBoard",
    .settings = settings,
    .open = open_logger,
    .scalar = write_scalar,
    .flush = flush,
    .close = close_file,
    .go_on = go_on,
};
