/* A call belongs to two: the client's side, which waits for it or reads its stream, and the model's
 * thread, which fills it. The last one to leave frees it. */
#include "dashboard/models/model_calls.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "dashboard/models/model_process.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"

enum { LOOK_MS = 100, MOST_WORDS = 20 + 2 * CSE_MOST_SERVED_SETTINGS, MOST_UNSENT_BYTES = 1 << 20 };

typedef enum call_state { CALL_WAITS, CALL_STREAMS, CALL_ANSWERED, CALL_LOST } call_state;

typedef struct served served;

struct cse_model_call {
    cse_models *models;
    served *model;
    cse_model_call *next;
    json_int_t number;
    char *line; /* the request, for the process */
    int owners;
    call_state state;
    bool cancelled, done;
    bool told, held; /* the process knows that it is cancelled; that its client is behind */
    int64_t handed;  /* lines that the process had said when it got the call */
    bool again;      /* it was handed to a second process */
    int status;
    cse_text text; /* the answer, or what of the stream was not sent */
    size_t sent;
    void (*wake)(void *waker);
    void *waker;
};

struct served {
    cse_models *models;
    char *path, *name;
    char *adapter, *chat_template; /* NULL: none */
    bool any_base;
    char *settings[CSE_MOST_SERVED_SETTINGS + 1]; /* ended by NULL */
    pthread_t thread;
    int wake;               /* an eventfd: there is something to tell the process */
    cse_model_call *first;  /* that wait, by `next` */
    cse_model_call *active; /* that the process answers */
    int64_t said;           /* lines of all processes so far */
    cse_model_process process;
};

struct cse_models {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char *executable, context[32], together_text[32];
    served list[CSE_MOST_MODELS];
    int count, threads;
    int together;        /* calls that a process answers at a time */
    int under_way, most; /* calls that are not done */
    int64_t number;
    bool ending;
};

/* ---- calls ---- */

/* With the lock held: the model's thread looks at its calls. */
static void wake_model(const served *model)
{
    const uint64_t one = 1;
    if (write(model->wake, &one, sizeof one) < 0 && errno != EAGAIN)
        return; /* it looks from time to time, too */
    pthread_cond_broadcast(&model->models->changed);
}

/* With the lock held. */
static void leave(cse_model_call *call)
{
    if (--call->owners > 0)
        return;
    free(call->line);
    cse_text_clear(&call->text);
    free(call);
}

void cse_model_call_release(cse_model_call *call)
{
    cse_models *models = call->models;
    pthread_mutex_lock(&models->lock);
    call->cancelled = true;
    call->wake = NULL;
    wake_model(call->model);
    leave(call);
    pthread_mutex_unlock(&models->lock);
}

int cse_model_call_status(const cse_model_call *call)
{
    return call->status;
}

const char *cse_model_call_text_view(const cse_model_call *call)
{
    return call->text.data;
}

static int64_t read_stream(void *self, char *buffer, size_t room)
{
    cse_model_call *call = self;
    pthread_mutex_lock(&call->models->lock);
    size_t size = call->text.size - call->sent;
    const bool over = size == 0 && call->done;
    size = size < room ? size : room;
    if (size > 0)
        memcpy(buffer, call->text.data + call->sent, size);
    call->sent += size;
    if (call->text.size > 0 && (call->sent == call->text.size || call->sent > MOST_UNSENT_BYTES)) {
        call->text.size -= call->sent;
        memmove(call->text.data, call->text.data + call->sent, call->text.size);
        call->sent = 0;
    }
    if (call->held)
        wake_model(call->model);
    pthread_mutex_unlock(&call->models->lock);
    return over ? -1 : (int64_t)size;
}

static void attach_stream(void *self, void (*wake)(void *waker), void *waker)
{
    cse_model_call *call = self;
    pthread_mutex_lock(&call->models->lock);
    call->wake = wake;
    call->waker = waker;
    pthread_mutex_unlock(&call->models->lock);
}

static void close_stream(void *self)
{
    cse_model_call_release(self);
}

const cse_stream cse_model_call_stream = { .read = read_stream,
                                           .attach = attach_stream,
                                           .close = close_stream };

/* ---- the client's side ---- */

static bool client_has_gone(int client)
{
    struct pollfd socket = { .fd = client, .events = POLLRDHUP };
    return client >= 0 && poll(&socket, 1, 0) > 0;
}

/* With the lock held, until there is a first word. */
static void wait_for_word(cse_model_call *call, int client)
{
    while (call->state == CALL_WAITS && !call->cancelled) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&call->models->changed, &call->models->lock, &until);
        call->cancelled = call->cancelled || client_has_gone(client);
    }
    if (call->cancelled)
        wake_model(call->model);
}

static cse_model_call *new_call(cse_models *models, const cse_model_asked *asked)
{
    cse_model_call *call = cse_calloc(1, sizeof *call);
    served *model = &models->list[asked->model];
    json_t *request = json_pack("{s:i, s:s, s:I, s:O}", "kind", asked->kind, "name", model->name,
                                "number", (json_int_t)++models->number, "body", asked->body);
    *call = (cse_model_call){ .models = models,
                              .model = model,
                              .number = models->number,
                              .owners = 2,
                              .line = json_dumps(request, JSON_COMPACT) };
    json_decref(request);
    return call;
}

cse_model_outcome cse_models_call(cse_models *models, const cse_model_asked *asked,
                                  cse_model_call **result)
{
    *result = NULL;
    pthread_mutex_lock(&models->lock);
    if (models->ending || models->under_way >= models->most) {
        pthread_mutex_unlock(&models->lock);
        return models->ending ? CSE_MODEL_GONE : CSE_MODEL_BUSY;
    }
    cse_model_call *call = new_call(models, asked);
    cse_model_call **last = &models->list[asked->model].first;
    while (*last != NULL)
        last = &(*last)->next;
    *last = call;
    models->under_way++;
    wake_model(call->model);
    wait_for_word(call, asked->client);
    const cse_model_outcome outcome = call->state == CALL_STREAMS    ? CSE_MODEL_STREAMS
                                      : call->state == CALL_ANSWERED ? CSE_MODEL_ANSWERED
                                      : call->state == CALL_LOST     ? CSE_MODEL_LOST
                                                                     : CSE_MODEL_GONE;
    pthread_mutex_unlock(&models->lock);
    *result = call;
    return outcome;
}

/* ---- the model's side ---- */

static const char lost_event[] =
    "data: {\"error\":{\"message\":\"the model's process has ended\",\"type\":\"server_error\","
    "\"param\":null,\"code\":null}}\n\n";

/* With the lock held. */
static void tell(cse_model_call *call)
{
    if (call->wake != NULL)
        call->wake(call->waker);
    pthread_cond_broadcast(&call->models->changed);
}

/* With the lock held. */
static void end_call(cse_model_call *call, bool good)
{
    if (!good && call->state == CALL_STREAMS)
        cse_text_add(&call->text, "%s", lost_event);
    if (call->state == CALL_WAITS)
        call->state = CALL_LOST;
    call->done = true;
    call->models->under_way--;
    tell(call);
    leave(call);
}

/* With the lock held: a word about a call. True: it was the last one. */
static bool take_word(cse_model_call *call, const char *word, const char *text)
{
    char *rest = NULL;
    if (strcmp(word, "EVENT") == 0) {
        call->state = CALL_STREAMS;
        cse_text_add(&call->text, "data: %s\n\n", text);
    } else if (strcmp(word, "ANSWER") == 0 && call->state == CALL_WAITS) {
        call->status = (int)strtol(text, &rest, 10);
        cse_text_add(&call->text, "%s", rest + strspn(rest, " "));
        call->state = CALL_ANSWERED;
    } else if (strcmp(word, "DONE") == 0) {
        if (call->state == CALL_STREAMS)
            cse_text_add(&call->text, "data: [DONE]\n\n");
        return true;
    }
    tell(call);
    return false;
}

/* With the lock held: a line of the process, WORD NUMBER TEXT. */
static void take_line(served *model, const char *line)
{
    char word[16], *text = NULL;
    const size_t length = strcspn(line, " ");
    model->said++;
    if (length >= sizeof word)
        return;
    snprintf(word, sizeof word, "%.*s", (int)length, line);
    const json_int_t number = strtoll(line + length, &text, 10);
    cse_model_call **place = &model->active;
    while (*place != NULL && (*place)->number != number)
        place = &(*place)->next;
    cse_model_call *call = *place;
    if (call == NULL || !take_word(call, word, text + (*text == ' ')))
        return;
    *place = call->next;
    end_call(call, true);
}

/* `value` NULL: the option is not given. */
static void add_option(char *words[MOST_WORDS], int *count, const char *name, char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    words[(*count)++] = (char *)(uintptr_t)name;
    words[(*count)++] = value;
}

static bool start_process(served *model)
{
    char *words[MOST_WORDS];
    int count = 0;
    cse_text line = { 0 };
    if (model->process.pid != 0)
        return true;
    words[count++] = model->models->executable;
    words[count++] = (char *)(uintptr_t) "serve-model";
    words[count++] = model->path;
    add_option(words, &count, "--context", model->models->context);
    add_option(words, &count, "--together", model->models->together_text);
    add_option(words, &count, "--adapter", model->adapter);
    add_option(words, &count, "--chat_template", model->chat_template);
    if (model->any_base)
        words[count++] = (char *)(uintptr_t) "--any_base";
    for (char **setting = model->settings; *setting != NULL; setting++)
        add_option(words, &count, "--set", *setting);
    words[count] = NULL;
    if (cse_model_process_start(words, &model->process) != CSE_OK)
        return false;
    bool runs = true, found = false, ending = false;
    while (!found && runs && !ending) {
        found = cse_model_process_line(&model->process, &line);
        runs = found || cse_model_process_wait(&model->process, -1, LOOK_MS);
        pthread_mutex_lock(&model->models->lock);
        ending = model->models->ending;
        pthread_mutex_unlock(&model->models->lock);
    }
    const bool ready = found && strncmp(line.data, "READY", 5) == 0;
    cse_text_clear(&line);
    if (!ready)
        cse_model_process_stop(&model->process);
    return ready;
}

/* With the lock held: the calls that wait go to the process, as many as it takes. True: there are
 * some that it does not know yet, as it is not there. */
static bool hand_over(served *model)
{
    int active = 0;
    cse_model_call **last = &model->active;
    for (; *last != NULL; last = &(*last)->next)
        active++;
    while (model->first != NULL && (active < model->models->together || model->first->cancelled)) {
        cse_model_call *call = model->first;
        if (!call->cancelled && model->process.pid == 0)
            return true;
        model->first = call->next;
        call->next = NULL;
        if (call->cancelled) {
            end_call(call, true);
            continue;
        }
        cse_model_process_say(&model->process, call->line);
        call->handed = model->said;
        *last = call;
        last = &call->next;
        active++;
    }
    return false;
}

/* With the lock held. A client that reads slowly holds up its own texts, not the memory of the
 * server. */
static void tell_process(served *model)
{
    char line[96];
    for (cse_model_call *call = model->active; call != NULL; call = call->next) {
        const size_t unsent = call->text.size - call->sent;
        const bool held = unsent > (call->held ? MOST_UNSENT_BYTES / 2 : MOST_UNSENT_BYTES);
        if (call->cancelled && !call->told) {
            call->told = true;
            snprintf(line, sizeof line, "{\"number\": %lld, \"cancel\": true}",
                     (long long)call->number);
            cse_model_process_say(&model->process, line);
        } else if (held != call->held) {
            call->held = held;
            snprintf(line, sizeof line, "{\"number\": %lld, \"hold\": %s}", (long long)call->number,
                     held ? "true" : "false");
            cse_model_process_say(&model->process, line);
        }
    }
}

/* With the lock held: no call waits for the process any more. One that it has said nothing after
 * may have been handed to a process that was dead already: it goes to another one, once. */
static void lose_calls(served *model)
{
    cse_model_call *kept = NULL, **last = &kept;
    while (model->active != NULL) {
        cse_model_call *call = model->active;
        model->active = call->next;
        if (call->handed < model->said || call->again || model->models->ending) {
            end_call(call, false);
            continue;
        }
        call->again = true;
        call->told = call->held = false;
        *last = call;
        last = &call->next;
    }
    *last = model->first;
    model->first = kept;
}

/* With the lock held, but while it waits. */
static void exchange(served *model)
{
    cse_models *models = model->models;
    cse_text line = { 0 };
    const bool starts = hand_over(model);
    tell_process(model);
    pthread_mutex_unlock(&models->lock);
    const bool runs = starts ? start_process(model)
                             : model->process.pid == 0 ||
                                   cse_model_process_wait(&model->process, model->wake, LOOK_MS);
    pthread_mutex_lock(&models->lock);
    while (!starts && model->process.pid != 0 && cse_model_process_line(&model->process, &line))
        take_line(model, line.data);
    cse_text_clear(&line);
    if (runs)
        return;
    if (starts && model->first != NULL) { /* it cannot be started for this call */
        cse_model_call *call = model->first;
        model->first = call->next;
        end_call(call, false);
    }
    lose_calls(model);
    pthread_mutex_unlock(&models->lock);
    cse_model_process_stop(&model->process);
    pthread_mutex_lock(&models->lock);
}

static void *serve(void *self)
{
    served *model = self;
    cse_models *models = model->models;
    pthread_mutex_lock(&models->lock);
    while (!models->ending)
        if (model->first != NULL || model->active != NULL)
            exchange(model);
        else
            pthread_cond_wait(&models->changed, &models->lock);
    lose_calls(model);
    while (model->first != NULL) {
        cse_model_call *call = model->first;
        model->first = call->next;
        end_call(call, true);
    }
    pthread_mutex_unlock(&models->lock);
    cse_model_process_stop(&model->process);
    return NULL;
}

/* ---- the models ---- */

static cse_status check_path(const char *option, const char *path)
{
    return access(path, R_OK) == 0
               ? CSE_OK
               : cse_fail(CSE_NO_INPUT, "--%s %s: %s", option, path, strerror(errno));
}

/* Names stand in JSON. */
static bool is_utf8(const char *text)
{
    size_t length = 1;
    for (; *text != '\0' && length > 0; text += length)
        length = cse_utf8_length(text, strlen(text));
    return length > 0;
}

static cse_status add_model(cse_models *models, const cse_served_model *given)
{
    if (models->count == CSE_MOST_MODELS)
        return cse_fail(CSE_USAGE, "--model, --adapter: at most %d are served together",
                        CSE_MOST_MODELS);
    served *model = &models->list[models->count];
    *model = (served){ .models = models, .any_base = given->any_base, .wake = -1 };
    cse_served_name_split(given->given, &model->path, &model->name);
    if (given->adapter != NULL) {
        free(model->name);
        cse_served_name_split(given->adapter, &model->adapter, &model->name);
    }
    if (given->chat_template != NULL)
        model->chat_template = cse_strdup(given->chat_template);
    for (int i = 0; given->settings[i] != NULL; i++)
        model->settings[i] = cse_strdup(given->settings[i]);
    const int same = cse_models_find(models, model->name);
    const bool is_first = models->count++ == 0;
    CSE_TRY(check_path("model", model->path));
    if (model->adapter != NULL)
        CSE_TRY(check_path("adapter", model->adapter));
    if (!is_utf8(model->name))
        return cse_fail(CSE_USAGE,
                        "--%s: the name of %s is not UTF-8: give it another, as in %s=NAME",
                        given->adapter != NULL ? "adapter" : "model",
                        given->adapter != NULL ? model->adapter : model->path,
                        given->adapter != NULL ? "FOLDER" : "PATH");
    return same < 0 || is_first
               ? CSE_OK
               : cse_fail(CSE_USAGE,
                          "--%s: two models have the name %s: give one of them another, as in "
                          "%s=NAME",
                          given->adapter != NULL ? "adapter" : "model", model->name,
                          given->adapter != NULL ? "FOLDER" : "PATH");
}

cse_status cse_models_open(const cse_models_options *options, cse_models **result)
{
    cse_models *models = cse_calloc(1, sizeof *models);
    cse_status status = CSE_OK;
    *result = models;
    pthread_mutex_init(&models->lock, NULL);
    pthread_cond_init(&models->changed, NULL);
    models->executable = cse_strdup(options->executable);
    models->together = options->together > 0 ? options->together : CSE_MODEL_TOGETHER;
    models->most = models->together + (options->queue > 0 ? options->queue : CSE_MODEL_QUEUE);
    snprintf(models->together_text, sizeof models->together_text, "%d", models->together);
    if (options->context > 0)
        snprintf(models->context, sizeof models->context, "%lld", (long long)options->context);
    for (int i = 0; options->models != NULL && options->models[i].given != NULL && status == CSE_OK;
         i++)
        status = add_model(models, &options->models[i]);
    for (int i = 0; i < models->count && status == CSE_OK; i++) {
        models->list[i].wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (models->list[i].wake < 0)
            status = cse_fail(CSE_TEMPORARY, "eventfd: %s", strerror(errno));
    }
    for (int i = 0; i < models->count && status == CSE_OK; i++, models->threads++)
        pthread_create(&models->list[i].thread, NULL, serve, &models->list[i]);
    if (status != CSE_OK)
        cse_models_close(result);
    return status;
}

void cse_models_end(cse_models *models)
{
    pthread_mutex_lock(&models->lock);
    models->ending = true;
    pthread_cond_broadcast(&models->changed);
    pthread_mutex_unlock(&models->lock);
    for (; models->threads > 0; models->threads--)
        pthread_join(models->list[models->threads - 1].thread, NULL);
}

void cse_models_close(cse_models **models)
{
    cse_models *old = *models;
    *models = NULL;
    if (old == NULL)
        return;
    cse_models_end(old);
    for (int i = 0; i < old->count; i++) {
        if (old->list[i].wake >= 0)
            close(old->list[i].wake);
        free(old->list[i].path);
        free(old->list[i].name);
        free(old->list[i].adapter);
        free(old->list[i].chat_template);
        for (char **setting = old->list[i].settings; *setting != NULL; setting++)
            free(*setting);
    }
    free(old->executable);
    pthread_mutex_destroy(&old->lock);
    pthread_cond_destroy(&old->changed);
    free(old);
}

int cse_models_count(const cse_models *models)
{
    return models != NULL ? models->count : 0;
}

const char *cse_models_name(const cse_models *models, int index)
{
    return index < cse_models_count(models) ? models->list[index].name : NULL;
}

int cse_models_find(const cse_models *models, const char *name)
{
    if (name == NULL)
        return cse_models_count(models) == 1 ? 0 : -1;
    for (int i = 0; i < cse_models_count(models); i++)
        if (strcmp(models->list[i].name, name) == 0)
            return i;
    return -1;
}
