/* Who has bound the socket of the directory is its first server, and the token there is its own.
 * A second one, which may show the same run, takes the token that it finds. */
#include "dashboard/http/entry.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dashboard/access/token.h"
#include "engine/base/arena.h"
#include "engine/base/log.h"
#include "engine/base/text.h"

static void open_local(const char *directory, cse_listener *local)
{
    cse_text address = { 0 };
    cse_text_add(&address, "unix:%s/server.sock", directory);
    if (cse_listen(address.data, true, local) != CSE_OK) {
        cse_log_line(CSE_LOG_INFO, "no unix socket: %s", cse_error_message());
        cse_listener_clear(local);
    }
    cse_text_clear(&address);
}

static cse_status take_token(const cse_entry_options *o, cse_entry *entry)
{
    cse_text page = { 0 };
    cse_text_add(&page, "%s", entry->main.url);
    entry->page = page.data;
    if (o->token_file != NULL) {
        for (int i = 0; i < o->tokens->count; i++)
            cse_token_list_add(&entry->tokens, o->tokens->tokens[i]);
        memcpy(entry->tokens.grants, o->tokens->grants, sizeof entry->tokens.grants);
        entry->token_path = realpath(o->token_file, NULL);
        return CSE_OK;
    }
    if (entry->main.unix_path != NULL)
        return CSE_OK;
    bool first = entry->local.socket >= 0;
    char *token = NULL;
    CSE_TRY(cse_token_make(o->directory, o->keep_token || !first, &token, &entry->token_path));
    entry->removes_token = first && !o->keep_token;
    cse_token_list_add(&entry->tokens, token);
    cse_text_add(&page, "/?token=%s", token);
    cse_token_clear(&token);
    entry->page = page.data;
    return CSE_OK;
}

cse_status cse_entry_open(const cse_entry_options *options, cse_entry *entry)
{
    *entry = (cse_entry){ .main.socket = -1, .local.socket = -1 };
    CSE_TRY(cse_listen(options->listen, options->token_file != NULL, &entry->main));
    open_local(options->directory, &entry->local);
    return take_token(options, entry);
}

void cse_entry_close(cse_entry *entry)
{
    if (entry->removes_token && entry->token_path != NULL)
        unlink(entry->token_path);
    cse_listener_clear(&entry->local);
    cse_listener_clear(&entry->main);
    cse_token_list_clear(&entry->tokens);
    free(entry->token_path);
    if (entry->page != NULL)
        memset(entry->page, 0, strlen(entry->page));
    free(entry->page);
    *entry = (cse_entry){ .main.socket = -1, .local.socket = -1 };
}
