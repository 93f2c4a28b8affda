/* The tools of a writer; see conversation_writer.h. */
#include "dataloader/conversations/conversation_writer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/arena.h"

struct cse_conversation_tools {
    cse_conversation_writer writer;
    char folder[PATH_MAX];
    char *end_of_text;
    struct tm day;
};

static const char *text_or_null(const cse_settings *settings, const char *name)
{
    return cse_settings_has(settings, name) ? cse_settings_text(settings, name) : NULL;
}

void cse_conversation_choices_read(const cse_settings *settings, cse_conversation_choices *choices)
{
    *choices = (cse_conversation_choices){
        .tokenizer = cse_settings_text(settings, "tokenizer"),
        .chat_template = text_or_null(settings, "chat_template"),
        .template_name = text_or_null(settings, "chat_template_name"),
        .end_of_text = text_or_null(settings, "end_of_text"),
        .date = text_or_null(settings, "date"),
    };
}

/* The folder itself, or that of the file. */
static void folder_of(const char *path, char folder[PATH_MAX])
{
    struct stat status;
    const char *slash = strrchr(path, '/');
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        snprintf(folder, PATH_MAX, "%s", path);
    else if (slash == NULL)
        snprintf(folder, PATH_MAX, ".");
    else
        snprintf(folder, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

static cse_status read_day(const char *date, struct tm *day)
{
    const char *end = strptime(date, "%Y-%m-%d", day);
    day->tm_isdst = -1;
    return end != NULL && *end == '\0' && mktime(day) != -1
               ? CSE_OK
               : cse_fail(CSE_CONFIG, "date is \"%s\": accepted is a day such as 2026-01-31", date);
}

static cse_status open_template(cse_conversation_tools *tools,
                                const cse_conversation_choices *choices)
{
    cse_conversation_writer *writer = &tools->writer;
    if (choices->chat_template != NULL) {
        if (choices->template_name != NULL)
            return cse_fail(CSE_CONFIG, "chat_template_name is for templates of a folder, and "
                                        "chat_template is a file with one");
        return cse_chat_template_of_file(choices->chat_template, tools->folder,
                                         &writer->chat_template, &writer->variables);
    }
    const cse_status status = cse_chat_template_of_folder(
        tools->folder, choices->template_name, &writer->chat_template, &writer->variables);
    return status == CSE_NO_INPUT && choices->template_name == NULL ? CSE_OK : status;
}

static cse_status choose_end(cse_conversation_tools *tools, const char *given)
{
    const char *known = json_string_value(json_object_get(tools->writer.variables, "eos_token"));
    const char *end = given != NULL ? given : known;
    if (end == NULL || strcmp(end, "none") == 0)
        return CSE_OK;
    if (cse_tokenizer_find(tools->writer.tokenizer, end) < 0)
        return cse_fail(CSE_CONFIG,
                        "end_of_text: the tokenizer has no token \"%s\": accepted are its tokens "
                        "and none",
                        end);
    tools->writer.end_of_text = tools->end_of_text = cse_strdup(end);
    return CSE_OK;
}

cse_status cse_conversation_tools_open(const cse_conversation_choices *choices,
                                       cse_conversation_tools **tools)
{
    cse_conversation_tools *self = *tools = cse_calloc(1, sizeof *self);
    folder_of(choices->tokenizer, self->folder);
    self->writer.folder = self->folder;
    self->writer.loss_on = choices->loss_on;
    cse_status status = cse_tokenizer_load(choices->tokenizer, &self->writer.tokenizer);
    if (status == CSE_OK) {
        self->writer.encoder = cse_encoder_new(self->writer.tokenizer);
        status = open_template(self, choices);
    }
    if (status == CSE_OK)
        status = choose_end(self, choices->end_of_text);
    if (status == CSE_OK && choices->date != NULL) {
        status = read_day(choices->date, &self->day);
        self->writer.now = &self->day;
    }
    if (status != CSE_OK)
        cse_conversation_tools_close(tools);
    return status;
}

void cse_conversation_tools_close(cse_conversation_tools **tools)
{
    cse_conversation_tools *self = *tools;
    if (self != NULL) {
        cse_encoder_close(&self->writer.encoder);
        cse_tokenizer_close(&self->writer.tokenizer);
        cse_chat_template_destroy(&self->writer.chat_template);
        json_decref(self->writer.variables);
        free(self->end_of_text);
    }
    free(self);
    *tools = NULL;
}

const cse_conversation_writer *cse_conversation_writer_view(const cse_conversation_tools *tools)
{
    return &tools->writer;
}
