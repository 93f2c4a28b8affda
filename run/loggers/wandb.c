/* WandbLogger: an offline run of Weights & Biases, which `wandb sync DIRECTORY` uploads later.
 *
 * MODEL_DIR/wandb/offline-run-TIME-ID/run-ID.wandb begins with ":W&B", the number 0xbee1 (u16) and
 * version 0 (u8), and is then a log in the format of LevelDB: blocks of 32,768 bytes, of records of
 * CRC-32 of type and data (u32), length (u16) and type (u8: whole, first, middle, last), all
 * little-endian; where fewer than 7 bytes of a block are left they are 0. The data are protocol
 * buffers:
 *   Record  { int64 num = 1; HistoryRecord history = 2; SummaryRecord summary = 3;
 *             RunRecord run = 17; RunExitRecord exit = 18; HeaderRecord header = 21; }
 *   HistoryRecord { repeated Item item = 1; HistoryStep step = 2; }  HistoryStep { int64 num = 1; }
 *   SummaryRecord { repeated Item update = 1; }
 *   RunRecord { string run_id = 1, project = 3; ConfigRecord config = 4; string display_name = 8;
 *               Timestamp start_time = 17; bool resumed = 18; }
 *   ConfigRecord { repeated Item update = 1; }   Item { string key = 1; string value_json = 16; }
 * The scalars of a step are one history record, written when the next step begins. A run that goes
 * on writes a further directory with the same id, which the file `run_id` keeps. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "engine/base/directory.h"
#include "engine/base/file_status.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "run/loggers/logger.h"

enum { BLOCK = 32768, HEAD = 7, WHOLE = 1, FIRST, MIDDLE, LAST };
enum { ID_LENGTH = 8, MOST_SUMMARY = 512 };
/* Field numbers with the wire types 0 (number) and 2 (bytes). */
enum {
    RECORD_NUM = 1 << 3,
    RECORD_HISTORY = 2 << 3 | 2,
    RECORD_SUMMARY = 3 << 3 | 2,
    RECORD_RUN = 17 << 3 | 2,
    RECORD_EXIT = 18 << 3 | 2,
    RECORD_HEADER = 21 << 3 | 2,
    ITEM = 1 << 3 | 2,
    ITEM_KEY = 1 << 3 | 2,
    ITEM_JSON = 16 << 3 | 2,
    HISTORY_STEP = 2 << 3 | 2,
    STEP_NUM = 1 << 3,
    RUN_ID = 1 << 3 | 2,
    RUN_PROJECT = 3 << 3 | 2,
    RUN_CONFIG = 4 << 3 | 2,
    RUN_NAME = 8 << 3 | 2,
    RUN_START = 17 << 3 | 2,
    RUN_RESUMED = 18 << 3,
    TIME_SECONDS = 1 << 3,
    VERSION = 1 << 3 | 2,
    VERSION_PRODUCER = 1 << 3 | 2,
};

/* The newest value of a name. */
typedef struct summary_value {
    char *name;
    double value;
} summary_value;

typedef struct wandb {
    FILE *file;
    char path[PATH_MAX], id[64];
    int64_t records, bytes; /* written */
    int64_t step;           /* of `items`; -1: none */
    double step_time, started;
    cse_text items; /* of the step that is not written yet */
    cse_text scratch, message, record;
    summary_value *summary;
    int summary_count, summary_capacity;
    cse_text run; /* the run's record but for `resumed`; written with the first values */
    bool has_run, goes_on;
} wandb;

/* ---- protocol buffer ---- */

static void add_varint(cse_text *text, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        cse_text_add_bytes(text, &(char){ (char)((number & 0x7f) | 0x80) }, 1);
    cse_text_add_bytes(text, &(char){ (char)number }, 1);
}

static void add_bytes(cse_text *text, uint64_t field, const char *bytes, size_t size)
{
    add_varint(text, field);
    add_varint(text, size);
    cse_text_add_bytes(text, bytes, size);
}

static void add_number(cse_text *text, uint64_t field, uint64_t number)
{
    add_varint(text, field);
    add_varint(text, number);
}

static void add_item(wandb *w, cse_text *to, const char *key, const char *json)
{
    w->scratch.size = 0;
    add_bytes(&w->scratch, ITEM_KEY, key, strlen(key));
    add_bytes(&w->scratch, ITEM_JSON, json, strlen(json));
    add_bytes(to, ITEM, w->scratch.data, w->scratch.size);
}

/* The shortest of two notations that reads back as the same; as Python's json where it is none. */
static const char *json_number(double value, char text[40])
{
    if (!isfinite(value))
        return isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
    snprintf(text, 40, "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, 40, "%.17g", value);
    return text;
}

/* ---- records ---- */

static cse_status failure(const wandb *w)
{
    return cse_fail(CSE_IO, "%s cannot be written: %s", w->path, strerror(errno));
}

static cse_status write_part(wandb *w, int type, const char *data, size_t size)
{
    const unsigned char kind = (unsigned char)type;
    uLong crc = crc32(crc32(0, NULL, 0), &kind, 1);
    crc = crc32(crc, (const Bytef *)data, (uInt)size);
    const unsigned char head[HEAD] = { crc & 0xff,
                                       crc >> 8 & 0xff,
                                       crc >> 16 & 0xff,
                                       crc >> 24 & 0xff,
                                       size & 0xff,
                                       size >> 8 & 0xff,
                                       kind };
    if (fwrite(head, HEAD, 1, w->file) != 1 || (size > 0 && fwrite(data, size, 1, w->file) != 1))
        return failure(w);
    w->bytes += HEAD + (int64_t)size;
    return CSE_OK;
}

static cse_status write_data(wandb *w, const char *data, size_t size)
{
    static const char zeros[HEAD] = { 0 };
    for (bool first = true, last = false; !last; first = false) {
        size_t left = BLOCK - (size_t)(w->bytes % BLOCK);
        if (left < HEAD) {
            if (fwrite(zeros, left, 1, w->file) != 1)
                return failure(w);
            w->bytes += (int64_t)left;
            left = BLOCK;
        }
        const size_t part = size < left - HEAD ? size : left - HEAD;
        last = part == size;
        CSE_TRY(write_part(w,
                           first && last ? WHOLE
                           : first       ? FIRST
                           : last        ? LAST
                                         : MIDDLE,
                           data, part));
        data += part;
        size -= part;
    }
    return CSE_OK;
}

/* `message` as the field of a record. */
static cse_status write_record(wandb *w, uint64_t field, const cse_text *message)
{
    w->record.size = 0;
    add_number(&w->record, RECORD_NUM, (uint64_t)++w->records);
    add_bytes(&w->record, field, message->data != NULL ? message->data : "", message->size);
    return write_data(w, w->record.data, w->record.size);
}

static cse_status write_header(wandb *w)
{
    static const char start[] = { ':', 'W', '&', 'B', (char)0xe1, (char)0xbe, 0 };
    static const char producer[] = "csengine";
    cse_text version = { 0 };
    if (fwrite(start, sizeof start, 1, w->file) != 1)
        return failure(w);
    w->bytes = sizeof start;
    w->message.size = 0;
    add_bytes(&version, VERSION_PRODUCER, producer, sizeof producer - 1);
    add_bytes(&w->message, VERSION, version.data, version.size);
    cse_text_clear(&version);
    return write_record(w, RECORD_HEADER, &w->message);
}

static cse_status write_run(wandb *w)
{
    if (w->has_run)
        return CSE_OK;
    w->has_run = true;
    if (w->goes_on)
        add_number(&w->run, RUN_RESUMED, 1);
    return write_record(w, RECORD_RUN, &w->run);
}

/* The values of the step that ended. */
static cse_status write_step(wandb *w)
{
    char number[40];
    cse_text step = { 0 };
    if (w->step < 0)
        return CSE_OK;
    w->message.size = 0;
    cse_text_add_bytes(&w->message, w->items.data, w->items.size);
    add_item(w, &w->message, "_timestamp", json_number(w->step_time, number));
    add_item(w, &w->message, "_runtime", json_number(w->step_time - w->started, number));
    snprintf(number, sizeof number, "%lld", (long long)w->step);
    add_item(w, &w->message, "_step", number);
    add_number(&step, STEP_NUM, (uint64_t)w->step);
    add_bytes(&w->message, HISTORY_STEP, step.data, step.size);
    cse_text_clear(&step);
    w->items.size = 0;
    w->step = -1;
    return write_record(w, RECORD_HISTORY, &w->message);
}

static void keep_summary(wandb *w, const cse_logged_scalar *scalar)
{
    int i = 0;
    while (i < w->summary_count && strcmp(w->summary[i].name, scalar->name) != 0)
        i++;
    if (i == MOST_SUMMARY)
        return;
    if (i == w->summary_count) {
        CSE_GROW(w->summary, w->summary_count, w->summary_capacity);
        w->summary[w->summary_count++].name = cse_strdup(scalar->name);
    }
    w->summary[i].value = scalar->value;
}

static cse_status write_scalar(void *logger, const cse_logged_scalar *scalar)
{
    char number[40];
    wandb *w = logger;
    CSE_TRY(write_run(w));
    if (scalar->step != w->step)
        CSE_TRY(write_step(w));
    if (w->started == 0)
        w->started = scalar->time_s;
    w->step = scalar->step;
    w->step_time = scalar->time_s;
    add_item(w, &w->items, scalar->name, json_number(scalar->value, number));
    keep_summary(w, scalar);
    return CSE_OK;
}

static cse_status flush(void *logger)
{
    wandb *w = logger;
    return fflush(w->file) == 0 ? CSE_OK : failure(w);
}

static cse_status go_on(void *logger, int64_t step)
{
    (void)step;
    ((wandb *)logger)->goes_on = true;
    return CSE_OK;
}

/* The last step, the newest values, and that the run has ended. */
static cse_status write_end(wandb *w)
{
    char number[40];
    static const cse_text nothing = { 0 };
    CSE_TRY(write_run(w));
    CSE_TRY(write_step(w));
    w->message.size = 0;
    for (int i = 0; i < w->summary_count; i++)
        add_item(w, &w->message, w->summary[i].name, json_number(w->summary[i].value, number));
    if (w->message.size > 0)
        CSE_TRY(write_record(w, RECORD_SUMMARY, &w->message));
    CSE_TRY(write_record(w, RECORD_EXIT, &nothing));
    return flush(w);
}

static void release(wandb *w)
{
    if (w->file != NULL)
        fclose(w->file);
    for (int i = 0; i < w->summary_count; i++)
        free(w->summary[i].name);
    free(w->summary);
    cse_text_clear(&w->items);
    cse_text_clear(&w->scratch);
    cse_text_clear(&w->message);
    cse_text_clear(&w->record);
    cse_text_clear(&w->run);
    free(w);
}

static void close_logger(void *logger)
{
    (void)write_end(logger); /* what is written is whole without it */
    release(logger);
}

/* ---- opening ---- */

/* The id that an earlier start of the run has left, else a new one. */
static cse_status find_id(wandb *w, const char *folder, const char *given)
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    char path[PATH_MAX + 16], id[sizeof w->id] = "";
    unsigned char words[ID_LENGTH] = { 0 };
    snprintf(path, sizeof path, "%s/run_id", folder);
    FILE *file = fopen(path, "re");
    if (file != NULL && fgets(id, sizeof id, file) != NULL)
        id[strcspn(id, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
    if (given != NULL)
        snprintf(id, sizeof id, "%s", given);
    if (id[0] == '\0' && getrandom(words, sizeof words, 0) == (ssize_t)sizeof words)
        for (int i = 0; i < ID_LENGTH; i++)
            id[i] = digits[words[i] % (sizeof digits - 1)];
    if (id[0] == '\0' ||
        strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
            strlen(id))
        return cse_fail(CSE_CONFIG, "run_id \"%.60s\": accepted are letters, digits, _ and -", id);
    snprintf(w->id, sizeof w->id, "%s", id);
    file = cse_confined_stream(path, O_TRUNC);
    if (file == NULL)
        return cse_fail(cse_status_of_writing(errno), "%s cannot be written: %s", path,
                        strerror(errno));
    fprintf(file, "%s\n", id);
    return fclose(file) == 0 ? CSE_OK : cse_fail(CSE_IO, "%s: %s", path, strerror(errno));
}

/* A directory of the time that is not there yet. */
static cse_status open_file(wandb *w, const char *folder)
{
    for (time_t now = time(NULL); w->file == NULL; now++) {
        struct tm local;
        char directory[PATH_MAX], name[32];
        localtime_r(&now, &local);
        strftime(name, sizeof name, "%Y%m%d_%H%M%S", &local);
        if (snprintf(directory, sizeof directory, "%s/offline-run-%s-%s", folder, name, w->id) >=
            (int)sizeof directory - 100)
            return cse_fail(CSE_CANNOT_CREATE, "%s: the path is too long", folder);
        if (access(directory, F_OK) == 0)
            continue;
        snprintf(w->path, sizeof w->path, "%.*s/files", (int)sizeof w->path - 8, directory);
        CSE_TRY(cse_make_directories("WandbLogger", w->path));
        snprintf(w->path, sizeof w->path, "%.*s/run-%s.wandb", (int)sizeof w->path - 80, directory,
                 w->id);
        w->file = cse_confined_stream(w->path, O_EXCL);
        if (w->file == NULL)
            return errno == EXDEV ? cse_confinement_refuse(CSE_PATH_OUTPUT, w->path)
                                  : cse_fail(cse_status_of_writing(errno),
                                             "%s cannot be created: %s", w->path, strerror(errno));
    }
    return CSE_OK;
}

/* A number, true, false and null as they are, anything else as text. */
static void add_config(wandb *w, cse_text *config, const char *key, const char *value)
{
    char *end;
    cse_text quoted = { 0 };
    strtod(value, &end);
    const bool is_number =
        end != value && *end == '\0' &&
        (isdigit((unsigned char)*value) || (*value == '-' && isdigit((unsigned char)value[1])));
    if (!is_number && strcmp(value, "true") != 0 && strcmp(value, "false") != 0 &&
        strcmp(value, "null") != 0) {
        cse_json_add_string(&quoted, value);
        value = quoted.data;
    }
    add_item(w, config, key, value);
    cse_text_clear(&quoted);
}

static cse_status fill_run(wandb *w, const cse_settings *s)
{
    cse_text config = { 0 }, start = { 0 };
    const char *project = cse_settings_text(s, "project"), *name = cse_settings_text(s, "name");
    cse_status status = CSE_OK;
    for (int i = 0; i < cse_settings_count(s, "config") && status == CSE_OK; i++) {
        char key[128];
        const char *entry = cse_settings_text_at(s, "config", i), *equals = strchr(entry, '=');
        if (equals == NULL || equals == entry || equals - entry >= (long)sizeof key) {
            status = cse_fail(CSE_CONFIG, "config: \"%.60s\": accepted is KEY=VALUE", entry);
            continue;
        }
        snprintf(key, sizeof key, "%.*s", (int)(equals - entry), entry);
        add_config(w, &config, key, equals + 1);
    }
    add_bytes(&w->run, RUN_ID, w->id, strlen(w->id));
    add_bytes(&w->run, RUN_PROJECT, project, strlen(project));
    if (config.size > 0)
        add_bytes(&w->run, RUN_CONFIG, config.data, config.size);
    if (name != NULL)
        add_bytes(&w->run, RUN_NAME, name, strlen(name));
    add_number(&start, TIME_SECONDS, (uint64_t)time(NULL));
    add_bytes(&w->run, RUN_START, start.data, start.size);
    cse_text_clear(&config);
    cse_text_clear(&start);
    return status;
}

static cse_status open_logger(const cse_settings *s, const char *model_dir, void **logger)
{
    char folder[PATH_MAX];
    const char *given = cse_settings_text(s, "dir");
    snprintf(folder, sizeof folder, "%s/wandb", given != NULL ? given : model_dir);
    CSE_TRY(cse_make_directories("WandbLogger", folder));
    wandb *w = cse_calloc(1, sizeof *w);
    w->step = -1;
    cse_status status = find_id(w, folder, cse_settings_text(s, "run_id"));
    if (status == CSE_OK)
        status = fill_run(w, s);
    if (status == CSE_OK)
        status = open_file(w, folder);
    if (status == CSE_OK)
        status = write_header(w);
    if (status != CSE_OK) {
        release(w);
        return status;
    }
    *logger = w;
    return CSE_OK;
}

static const cse_setting settings[] = {
    { .name = "project",
      .type = CSE_SETTING_TEXT,
      .default_value = "csengine",
      .doc = "of the run" },
    { .name = "name",
      .type = CSE_SETTING_TEXT,
      .default_value = "null",
      .doc = "of the run, to be shown; null: W&B chooses one" },
    { .name = "run_id",
      .type = CSE_SETTING_TEXT,
      .default_value = "null",
      .doc = "letters, digits, _ and -; null: by chance, and kept for a run that goes on" },
    { .name = "config",
      .type = CSE_SETTING_TEXT_LIST,
      .default_value = "[]",
      .doc = "[KEY=VALUE]: what the run is told to have been configured with" },
    { .name = "dir",
      .type = CSE_SETTING_PATH,
      .default_value = "null",
      .doc = "the folder `wandb` is made there; null: MODEL_DIR" },
    { .name = NULL },
};

const cse_logger_descriptor cse_logger_wandb = {
    .name = "WandbLogger",
    .summary = "an offline run of Weights & Biases, for `wandb sync`",
    .settings = settings,
    .open = open_logger,
    .scalar = write_scalar,
    .flush = flush,
    .close = close_logger,
    .later = true,
    .go_on = go_on,
};
