/* Input functions open their files as they like, by csengine/input.h, which tells each here; the
 * watch of the loader that this thread is opening is what they are compared with. */
#include "dataloader/data_watch.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dataloader/data_cache.h"
#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "engine/base/log.h"

static _Thread_local const cse_data_watch *watch;

static cse_data_file *find(const cse_data_identity *identity, const char *path)
{
    for (int i = 0; i < identity->count; i++)
        if (strcmp(identity->files[i].path, path) == 0)
            return &identity->files[i];
    return NULL;
}

static cse_status changed(const cse_data_file *before, const cse_data_file *now)
{
    cse_text text = { 0 };
    cse_data_file_tell(before, now, "when the run began", &text);
    cse_status status =
        cse_fail(CSE_DATA,
                 "the data changed under the run: %s; put the file back and start the run again, "
                 "or train on the new data with another model_dir or --new_data",
                 text.data);
    cse_text_clear(&text);
    return status;
}

/* The content decides where size, times or inode are others. What it has now is kept, so that it is
 * read once. */
static cse_status compare(int descriptor, cse_data_file *known, cse_data_file *now)
{
    if (cse_data_file_same_facts(known, now))
        return CSE_OK;
    CSE_TRY(cse_data_file_digest(descriptor, known->path, now));
    now->path = known->path;
    now->training = known->training;
    if (known->bytes != now->bytes || strcmp(known->digest, now->digest) != 0)
        return changed(known, now);
    *known = *now;
    return CSE_OK;
}

static cse_status note(int descriptor, const char *path, bool is_code)
{
    cse_data_file now;
    if (watch == NULL)
        return CSE_OK;
    cse_data_identity *identity = watch->identity;
    CSE_TRY(cse_data_file_examine(descriptor, path, &now));
    cse_data_file *known = find(identity, path);
    if (known == NULL && watch->complete)
        return cse_fail(CSE_DATA,
                        "the data changed under the run: %s: this run did not read a file of this "
                        "name when it began; move it away and start the run again",
                        path);
    if (known != NULL) {
        CSE_TRY(compare(descriptor, known, &now));
    } else {
        CSE_TRY(cse_data_cached_digest(descriptor, path, watch->cache, &now));
        CSE_GROW(identity->files, identity->count, identity->capacity);
        known = &identity->files[identity->count++];
        *known = now;
        known->path = cse_strdup(path);
    }
    known->opened = true;
    known->is_code = is_code;
    return CSE_OK;
}

cse_status cse_data_note_open(int descriptor, const char *path)
{
    return note(descriptor, path, false);
}

cse_status cse_data_note_library(int descriptor, const char *path)
{
    return note(descriptor, path, true);
}

bool cse_data_is_first_look(void)
{
    return watch != NULL && !watch->complete;
}

void cse_data_tell(const char *format, ...)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char **told;
    static int count, capacity;
    char text[1024];
    bool known = watch != NULL && watch->complete;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count && !known; i++)
        known = strcmp(told[i], text) == 0;
    if (!known) {
        CSE_GROW(told, count, capacity);
        told[count++] = cse_strdup(text);
    }
    pthread_mutex_unlock(&lock);
    if (!known)
        cse_log_line(CSE_LOG_WARNING, "%s", text);
}

void cse_data_watch_set(const cse_data_watch *wanted)
{
    watch = wanted;
}
