/* A thread waits for each process. What ends a process before its time is the end of a connection
 * that the thread has with itself, as the end of a client's ends a check (checks/checker.h). */
#include "dashboard/replays/replays.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dashboard/checks/checker.h"
#include "dashboard/checks/job_limits.h"
#include "dashboard/replays/replay_folders.h"
#include "engine/base/arena.h"
#include "engine/base/directory.h"
#include "engine/base/job_environment.h"
#include "engine/base/piped_program.h"
#include "engine/base/text.h"
#include "store/reader.h"

enum { MOST_WORDS = 300, MOST_LIMITS = 256, MOST_ANSWER = 4 << 20 };

typedef enum replay_state { RUNNING, DONE, FAILED } replay_state;
static const char *const state_names[] = { "running", "done", "failed" };

typedef struct replay {
    struct replay *next;
    cse_replays *all;
    char *job, *model_dir;
    int64_t step;
    json_t *options;
    char folder[PATH_MAX];
    /* That compiled steps and states stay in; "": those of the run. */
    char code[PATH_MAX], states[PATH_MAX];
    /* With the lock held. */
    replay_state state;
    char *message; /* why it failed */
    json_t *answer;
    int values; /* a file without a name, that holds the tensors; -1: none is kept */
    int64_t value_bytes;
    int connection[2]; /* the second one is closed to end it; -1: it is */
    bool is_forgotten; /* nobody asks for it any more */
    pthread_t thread;
} replay;

struct cse_replays {
    cse_replays_options options;
    char folder[PATH_MAX]; /* that folders of replays are made in */
    pthread_mutex_t lock;
    replay *first; /* the newest */
};

/* ---- the list, with the lock held ---- */

static replay *find(const cse_replays *all, const char *job, int64_t step)
{
    for (replay *r = all->first; r != NULL; r = r->next)
        if (!r->is_forgotten && r->step == step && strcmp(r->job, job) == 0)
            return r;
    return NULL;
}

static void hang_up(replay *r)
{
    if (r->connection[1] >= 0)
        close(r->connection[1]);
    r->connection[1] = -1;
}

static void drop_values(replay *r)
{
    if (r->values >= 0)
        close(r->values);
    r->values = -1;
    r->value_bytes = 0;
}

/* Its thread has been joined. */
static void release(replay *r)
{
    hang_up(r);
    drop_values(r);
    close(r->connection[0]);
    free(r->job);
    free(r->model_dir);
    free(r->message);
    json_decref(r->options);
    json_decref(r->answer);
    free(r);
}

static void destroy(replay *r)
{
    pthread_join(r->thread, NULL);
    release(r);
}

/* Those that have ended, where nobody asks for them or others are newer. */
static void drop_old(cse_replays *all)
{
    int kept = 0;
    for (replay **at = &all->first; *at != NULL;) {
        replay *r = *at;
        kept += !r->is_forgotten;
        if (r->state == RUNNING || (!r->is_forgotten && kept <= CSE_KEPT_REPLAYS)) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        destroy(r);
    }
}

/* Of the oldest, as far as all together take too much. */
static void drop_old_values(cse_replays *all)
{
    int64_t bytes = 0;
    for (replay *r = all->first; r != NULL; r = r->next) {
        bytes += r->value_bytes;
        if (bytes > CSE_KEPT_VALUES_BYTES)
            drop_values(r);
    }
}

static bool is_busy(const cse_replays *all)
{
    for (const replay *r = all->first; r != NULL; r = r->next)
        if (r->state == RUNNING)
            return true;
    return false;
}

/* ---- the process ---- */

static void add_word(char **words, int *count, const char *format, ...) CSE_PRINTF(3, 4);

static void add_word(char **words, int *count, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *word = NULL;
    if (*count + 1 < MOST_WORDS && vasprintf(&word, format, arguments) >= 0)
        words[(*count)++] = word;
    va_end(arguments);
}

static bool keeps(const replay *r)
{
    return json_is_true(json_object_get(r->options, "keep"));
}

/* The options of the question were checked by the route. */
static void add_options(const replay *r, char **words, int *count)
{
    json_t *options = r->options;
    const char *name;
    json_t *value;
    if (keeps(r)) {
        add_word(words, count, "--all");
        add_word(words, count, "--output=%s/values.npz", r->folder);
        add_word(words, count, "--most_bytes=%" PRId64, CSE_KEPT_STEP_BYTES);
        if (json_object_get(options, "values") == NULL)
            add_word(words, count, "--values=0");
    }
    json_object_foreach(options, name, value)
    {
        if (strcmp(name, "keep") == 0)
            continue;
        if (json_is_string(value))
            add_word(words, count, "--%s=%s", name, json_string_value(value));
        else if (json_is_integer(value))
            add_word(words, count, "--%s=%" JSON_INTEGER_FORMAT, name, json_integer_value(value));
        else if (json_is_true(value))
            add_word(words, count, "--%s", name);
    }
}

static char **words_of(const replay *r)
{
    const cse_replays_options *o = &r->all->options;
    char **words = cse_calloc(MOST_WORDS + 1, sizeof *words);
    int count = 0;
    add_word(words, &count, "%s", o->executable);
    add_word(words, &count, "inspect");
    add_word(words, &count, "--json");
    add_word(words, &count, "--num_csx=1");
    add_word(words, &count, "--step=%" PRId64, r->step);
    add_options(r, words, &count);
    if (r->code[0] != '\0') {
        add_word(words, &count, "--compile_dir=%s", r->code);
        add_word(words, &count, "--states_dir=%s", r->states);
    }
    if (o->root != NULL)
        count += cse_job_limits_words(o->confinement, words + count,
                                      MOST_WORDS - count - 2 < MOST_LIMITS ? MOST_WORDS - count - 2
                                                                           : MOST_LIMITS);
    add_word(words, &count, "%s", r->model_dir);
    return words;
}

/* That of this process, or what a job gets of it, with another folder for temporary files. */
static char **environment_of(const replay *r, char *folder_word)
{
    const cse_replays_options *o = &r->all->options;
    char **words = cse_job_environment_list(o->root != NULL ? o->confinement : NULL);
    size_t kept = 0;
    for (size_t i = 0; words[i] != NULL; i++)
        if (strncmp(words[i], "TMPDIR=", 7) != 0)
            words[kept++] = words[i];
    words[kept] = folder_word;
    words[kept + 1] = NULL;
    return words;
}

/* The error that it told. */
static char *message_of(const char *path, cse_checker_end end)
{
    char message[1024];
    if (cse_piped_program_error(path, message, sizeof message))
        return cse_strdup(message);
    return cse_strdup(end == CSE_CHECKER_LATE
                          ? "the steps took longer than a replay may; `csengine inspect` on the "
                            "server's machine has no limit"
                          : "the process ended without an answer");
}

static int open_values(const replay *r, struct stat *about)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/values.npz", r->folder);
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file >= 0 && fstat(file, about) == 0 && S_ISREG(about->st_mode))
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

static void take_end(replay *r, cse_status status, const cse_text *output, cse_checker_end end)
{
    char errors[PATH_MAX + 16];
    snprintf(errors, sizeof errors, "%s/errors", r->folder);
    json_t *answer = output->size > 0 && output->size <= MOST_ANSWER
                         ? json_loadb(output->data, output->size, 0, NULL)
                         : NULL;
    char *message = NULL;
    if (status != CSE_OK)
        message = cse_strdup(cse_error_message());
    else if (output->size > MOST_ANSWER)
        message = cse_strdup("the answer is longer than 4 MiB: ask for fewer tensors or values");
    else if (answer == NULL)
        message = message_of(errors, end);
    struct stat about = { .st_size = 0 };
    const int values = message == NULL && keeps(r) ? open_values(r, &about) : -1;
    pthread_mutex_lock(&r->all->lock);
    r->answer = answer;
    r->message = message;
    r->values = values;
    r->value_bytes = values >= 0 ? about.st_size : 0;
    r->state = message == NULL ? DONE : FAILED;
    drop_old_values(r->all);
    pthread_mutex_unlock(&r->all->lock);
}

/* ---- what they leave ---- */

static const cse_replay_kind *const kinds[] = { &cse_replay_code, &cse_replay_states };
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void bound_folders(const cse_replays *all)
{
    for (size_t i = 0; all->options.root != NULL && i < KINDS; i++)
        cse_replay_folders_bound(kinds[i], all->options.root);
}

static cse_status make_folders(const cse_replays *all, const cse_step_question *q, replay *r)
{
    const char *root = all->options.root;
    CSE_TRY(cse_replay_folder_make(&cse_replay_code, root, q->job, q->created_ms, r->code));
    return cse_replay_folder_make(&cse_replay_states, root, q->job, q->created_ms, r->states);
}

static void *compute(void *self)
{
    replay *r = self;
    cse_text output = { 0 };
    cse_checker_end end = CSE_CHECKER_ENDED;
    char errors[PATH_MAX + 16], folder_word[PATH_MAX + 16];
    snprintf(errors, sizeof errors, "%s/errors", r->folder);
    snprintf(folder_word, sizeof folder_word, "TMPDIR=%s", r->folder);
    char **words = words_of(r), **environment = environment_of(r, folder_word);
    const cse_checker_call call = { .words = words,
                                    .environment = environment,
                                    .errors = errors,
                                    .client = r->connection[0],
                                    .seconds = CSE_REPLAY_SECONDS,
                                    .most_output = MOST_ANSWER + 1 };
    const cse_status status = cse_checker_run(&call, &output, &end);
    bound_folders(r->all);
    take_end(r, status, &output, end);
    cse_remove_tree(r->folder);
    cse_text_clear(&output);
    for (int i = 0; words[i] != NULL; i++)
        free(words[i]);
    free(words);
    free(environment);
    return NULL;
}

static cse_status make_folder(const cse_replays *all, char folder[PATH_MAX])
{
    if (all->options.root != NULL && mkdir(all->folder, 0700) != 0 && errno != EEXIST)
        return cse_fail(CSE_TEMPORARY, "%s: %s", all->folder, strerror(errno));
    if ((size_t)snprintf(folder, PATH_MAX, "%s/csengine-step-XXXXXX", all->folder) >= PATH_MAX ||
        mkdtemp(folder) == NULL)
        return cse_fail(CSE_TEMPORARY, "%s: no folder for a replay: %s", all->folder,
                        strerror(errno));
    return CSE_OK;
}

static cse_status begin(cse_replays *all, const cse_step_question *q, replay **begun)
{
    replay *r = cse_calloc(1, sizeof *r);
    *begun = NULL;
    cse_status status = make_folder(all, r->folder);
    if (status == CSE_OK && all->options.root != NULL)
        status = make_folders(all, q, r);
    if (status == CSE_OK && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, r->connection) != 0)
        status = cse_fail(CSE_TEMPORARY, "socketpair: %s", strerror(errno));
    if (status != CSE_OK) {
        if (r->folder[0] != '\0')
            rmdir(r->folder);
        free(r);
        return status;
    }
    r->all = all;
    r->values = -1;
    r->job = cse_strdup(q->job);
    r->model_dir = cse_strdup(q->model_dir);
    r->step = q->step;
    r->options = q->options != NULL ? json_deep_copy(q->options) : json_object();
    if (pthread_create(&r->thread, NULL, compute, r) != 0)
        abort(); /* the server has no memory for a thread */
    *begun = r;
    return CSE_OK;
}

/* ---- what is seen ---- */

/* The last step that the run in the replay's folder has done; -1: none yet. */
static int64_t steps_done(const replay *r)
{
    struct dirent *entry;
    int64_t step = -1;
    DIR *folder = opendir(r->folder);
    while (folder != NULL && step < 0 && (entry = readdir(folder)) != NULL) {
        char path[2 * PATH_MAX];
        cse_store_reader *reader = NULL;
        cse_run_status run = { .last_step = -1 };
        if (strncmp(entry->d_name, "csengine-replay-", 16) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", r->folder, entry->d_name);
        if (cse_store_reader_open(path, &reader) == CSE_OK &&
            cse_store_reader_status(reader, &run) == CSE_OK)
            step = run.last_step;
        cse_store_reader_close(&reader);
    }
    if (folder != NULL)
        closedir(folder);
    return step;
}

static json_t *show_head(const replay *r)
{
    const int64_t done = r->state == RUNNING ? steps_done(r) : -1;
    return json_pack("{s:I, s:O, s:s, s:o, s:s?, s:o}", "step", (json_int_t)r->step, "options",
                     r->options, "state", state_names[r->state], "last_step",
                     done >= 0 ? json_integer(done) : json_null(), "message", r->message, "kept",
                     r->values >= 0 ? json_integer(r->value_bytes) : json_null());
}

static json_t *show(const replay *r)
{
    json_t *shown = show_head(r);
    json_object_set_new(shown, "job", json_string(r->job));
    json_object_set(shown, "answer", r->answer != NULL ? r->answer : json_null());
    return shown;
}

json_t *cse_replays_show(cse_replays *all, const char *job, int64_t step)
{
    pthread_mutex_lock(&all->lock);
    const replay *r = find(all, job, step);
    json_t *shown = r != NULL ? show(r) : NULL;
    pthread_mutex_unlock(&all->lock);
    return shown;
}

json_t *cse_replays_list(cse_replays *all, const char *job)
{
    json_t *list = json_array();
    pthread_mutex_lock(&all->lock);
    for (const replay *r = all->first; r != NULL; r = r->next)
        if (!r->is_forgotten && strcmp(r->job, job) == 0)
            json_array_append_new(list, show_head(r));
    pthread_mutex_unlock(&all->lock);
    return list;
}

int cse_replays_open_values(cse_replays *all, const char *job, int64_t step)
{
    pthread_mutex_lock(&all->lock);
    const replay *r = find(all, job, step);
    const int file = r != NULL && r->values >= 0 ? fcntl(r->values, F_DUPFD_CLOEXEC, 0) : -1;
    pthread_mutex_unlock(&all->lock);
    return file;
}

/* With the lock held. */
static cse_status begin_or_find(cse_replays *all, const cse_step_question *q, bool *begun,
                                replay **found)
{
    json_t *options = q->options != NULL ? json_deep_copy(q->options) : json_object();
    replay *r = find(all, q->job, q->step);
    const bool same = r != NULL && json_equal(r->options, options);
    json_decref(options);
    *found = r;
    const bool gone = same && keeps(r) && r->state == DONE && r->values < 0;
    if (same && r->state != FAILED && !gone)
        return CSE_OK;
    if (r != NULL && r->state == RUNNING)
        return cse_fail(CSE_USAGE, "this step is being done again for other tensors: wait for it, "
                                   "or end it with DELETE");
    if (is_busy(all))
        return cse_fail(CSE_TEMPORARY, "steps of another run, or another step, are being done "
                                       "again; one is at a time: try again later");
    if (r != NULL)
        r->is_forgotten = true;
    CSE_TRY(begin(all, q, found));
    (*found)->next = all->first;
    all->first = *found;
    *begun = true;
    return CSE_OK;
}

cse_status cse_replays_begin(cse_replays *all, const cse_step_question *q, bool *begun,
                             json_t **shown)
{
    replay *r = NULL;
    *begun = false;
    *shown = NULL;
    pthread_mutex_lock(&all->lock);
    cse_status status = begin_or_find(all, q, begun, &r);
    if (status == CSE_OK)
        *shown = show(r);
    drop_old(all);
    pthread_mutex_unlock(&all->lock);
    return status;
}

bool cse_replays_end(cse_replays *all, const char *job, int64_t step)
{
    pthread_mutex_lock(&all->lock);
    replay *r = find(all, job, step);
    if (r != NULL) {
        r->is_forgotten = true;
        hang_up(r);
    }
    pthread_mutex_unlock(&all->lock);
    return r != NULL;
}

void cse_replays_forget(cse_replays *all, const char *job)
{
    pthread_mutex_lock(&all->lock);
    for (replay *r = all->first; r != NULL; r = r->next)
        if (strcmp(r->job, job) == 0) {
            r->is_forgotten = true;
            hang_up(r);
        }
    drop_old(all);
    if (all->options.root != NULL) /* what one that ends now adds goes at its end */
        for (size_t i = 0; i < KINDS; i++)
            cse_replay_folders_remove(kinds[i], all->options.root, job);
    pthread_mutex_unlock(&all->lock);
}

/* ---- beginning and end ---- */

/* What a server that was killed left of them is removed. */
cse_replays *cse_replays_new(const cse_replays_options *options)
{
    cse_replays *all = cse_calloc(1, sizeof *all);
    const char *temporary = getenv("TMPDIR");
    all->options = *options;
    pthread_mutex_init(&all->lock, NULL);
    if (options->root != NULL) {
        snprintf(all->folder, sizeof all->folder, "%s/.replays", options->root);
        cse_remove_tree(all->folder);
        bound_folders(all);
    } else {
        snprintf(all->folder, sizeof all->folder, "%s",
                 temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp");
    }
    return all;
}

void cse_replays_close(cse_replays **replays)
{
    cse_replays *all = *replays;
    if (all == NULL)
        return;
    pthread_mutex_lock(&all->lock);
    for (replay *r = all->first; r != NULL; r = r->next)
        hang_up(r);
    pthread_mutex_unlock(&all->lock);
    /* Each of them looks at the whole list when it ends. */
    for (replay *r = all->first; r != NULL; r = r->next)
        pthread_join(r->thread, NULL);
    while (all->first != NULL) {
        replay *r = all->first;
        all->first = r->next;
        release(r);
    }
    pthread_mutex_destroy(&all->lock);
    free(all);
    *replays = NULL;
}
