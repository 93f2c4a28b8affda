/* YAML text -> tree, from libfyaml's events.
 *
 * The text is checked first (size, UTF-8, no control characters), then each event adds one node. An
 * alias is a deep copy of its anchor's node and counts towards the limit of nodes, so that a small
 * text cannot expand to a huge tree. An anchor is known only after its node is complete, so that no
 * tree contains itself. */
#include "engine/base/config/yaml.h"

#include <errno.h>
#include <libfyaml.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/beneath.h"
#include "engine/base/config/yaml_bare_items.h"
#include "engine/base/confinement.h"
#include "engine/base/nesting.h"

/* Each bracket that may be open takes memory of the parser before it tells of the first one. With
 * bare items a text is parsed again for each of them, but no more than so many bytes in all. */
enum { MAX_OPEN = 16384, MAX_PARSED_AGAIN = 16 << 20 };

typedef struct anchor {
    const char *name;
    cse_yaml_node *node;
} anchor;

typedef struct reader {
    cse_arena *arena;
    const char *source;
    struct fy_parser *parser;
    struct fy_diag *diagnostics;
    anchor *anchors;
    int anchor_count, anchor_capacity;
    int node_count;
    bool refused; /* by libfyaml, not by a rule of ours */
} reader;

static cse_place place_of(const reader *r, struct fy_event *event)
{
    const struct fy_mark *mark = fy_event_start_mark(event);
    cse_place place = { r->source, 1, 1 };
    if (mark != NULL) {
        place.line = mark->line + 1;
        place.column = mark->column + 1;
    }
    return place;
}

static cse_status fail_at(cse_place place, const char *what)
{
    return cse_fail_at(&(cse_error){ .status = CSE_CONFIG, .place = place }, "%s", what);
}

/* The errors that libfyaml collected, as one message. */
static cse_status fail_with_diagnostics(reader *r)
{
    void *iterator = NULL;
    struct fy_diag_error *error = fy_diag_errors_iterate(r->diagnostics, &iterator);
    cse_place place = { r->source, 1, 1 };
    r->refused = true;
    if (error == NULL)
        return fail_at(place, "this is not YAML; check brackets, quotes and indentation");
    if (error->line > 0) {
        place.line = error->line;
        place.column = error->column > 0 ? error->column : 1;
    }
    const char *what = error->msg != NULL ? error->msg : "syntax error";
    return fail_at(place,
                   cse_arena_printf(r->arena, "%s; check brackets, quotes and indentation", what));
}

static cse_status next_event(reader *r, struct fy_event **event)
{
    *event = fy_parser_parse(r->parser);
    if (*event == NULL || fy_parser_get_stream_error(r->parser)) {
        if (*event != NULL)
            fy_parser_event_free(r->parser, *event);
        *event = NULL;
        return fail_with_diagnostics(r);
    }
    return CSE_OK;
}

static cse_status node_new(reader *r, cse_yaml_kind kind, cse_place place, cse_yaml_node **node)
{
    if (++r->node_count > CSE_YAML_MAX_NODES)
        return fail_at(place, "too many values (an alias counts as a copy)");
    *node = cse_arena_alloc(r->arena, sizeof **node);
    (*node)->kind = kind;
    (*node)->place = place;
    return CSE_OK;
}

static void add_child(cse_arena *arena, cse_yaml_node *parent, cse_yaml_key key,
                      cse_yaml_node *child)
{
    if (parent->kind == CSE_YAML_MAPPING)
        cse_yaml_put(arena, parent, key, child);
    else
        cse_yaml_append(arena, parent, child);
}

static cse_status copy_node(reader *r, const cse_yaml_node *node, cse_yaml_node **copy)
{
    CSE_TRY(node_new(r, node->kind, node->place, copy));
    (*copy)->text = node->text;
    (*copy)->quoted = node->quoted;
    for (int i = 0; i < node->count; i++) {
        cse_yaml_node *child = NULL;
        CSE_TRY(copy_node(r, node->children[i], &child));
        add_child(r->arena, *copy, node->keys[i], child);
    }
    return CSE_OK;
}

static const char *token_text(reader *r, struct fy_token *token)
{
    size_t size = 0;
    const char *text = token != NULL ? fy_token_get_text(token, &size) : NULL;
    if (text == NULL)
        size = 0;
    char *copy = cse_arena_alloc(r->arena, size + 1);
    if (size > 0)
        memcpy(copy, text, size);
    return copy;
}

/* Escapes in quotes ("\0", "\x1b") make bytes that no file may have as they are: a zero would end
 * the text for all who read it, and no setting needs the others. One alone may separate columns. */
static cse_status read_text(reader *r, cse_place place, struct fy_token *token, const char **text)
{
    size_t size = 0;
    const char *given = token != NULL ? fy_token_get_text(token, &size) : NULL;
    *text = token_text(r, token);
    for (size_t i = 0; given != NULL && i < size; i++) {
        const unsigned char c = (unsigned char)given[i];
        const bool control = (c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F;
        if (c == 0 || (control && size > 1))
            return fail_at(place, cse_arena_printf(r->arena,
                                                   "the text \"%.60s\" has the control "
                                                   "character \\x%02x; only line ends and tabs "
                                                   "are accepted",
                                                   *text, (unsigned)c));
    }
    return CSE_OK;
}

static void remember_anchor(reader *r, const char *name, cse_yaml_node *node)
{
    if (name == NULL)
        return;
    CSE_GROW(r->anchors, r->anchor_count, r->anchor_capacity);
    r->anchors[r->anchor_count++] = (anchor){ name, node };
}

static cse_status read_alias(reader *r, struct fy_event *event, int depth, cse_yaml_node **node)
{
    const char *name = token_text(r, event->alias.anchor);
    for (int i = r->anchor_count - 1; i >= 0; i--) {
        if (strcmp(r->anchors[i].name, name) != 0)
            continue;
        if (depth > CSE_YAML_MAX_DEPTH / 2)
            return fail_at(place_of(r, event), "an alias makes the tree too deep");
        return copy_node(r, r->anchors[i].node, node);
    }
    return fail_at(place_of(r, event),
                   cse_arena_printf(r->arena, "*%s: no complete value before it has the anchor &%s",
                                    name, name));
}

static cse_status read_node(reader *r, struct fy_event *event, int depth, cse_yaml_node **node);

/* The key of the next pair of a mapping. */
static cse_status read_key(reader *r, const cse_yaml_node *mapping, struct fy_event *event,
                           cse_yaml_key *key)
{
    key->place = place_of(r, event);
    if (event->type != FYET_SCALAR)
        return fail_at(key->place, "a key must be a plain word");
    CSE_TRY(read_text(r, key->place, event->scalar.value, &key->text));
    for (int i = 0; i < mapping->count; i++)
        if (strcmp(mapping->keys[i].text, key->text) == 0)
            return fail_at(key->place,
                           cse_arena_printf(r->arena,
                                            "the key \"%s\" appears twice in one mapping (first "
                                            "at %s); keep one",
                                            key->text,
                                            cse_yaml_place_text(r->arena, mapping->keys[i].place)));
    return CSE_OK;
}

static cse_status read_children(reader *r, cse_yaml_node *parent, int depth)
{
    enum fy_event_type end =
        parent->kind == CSE_YAML_SEQUENCE ? FYET_SEQUENCE_END : FYET_MAPPING_END;
    for (;;) {
        struct fy_event *event = NULL;
        CSE_TRY(next_event(r, &event));
        if (event->type == end) {
            fy_parser_event_free(r->parser, event);
            return CSE_OK;
        }
        cse_yaml_key key = { NULL, parent->place };
        cse_status status = CSE_OK;
        if (parent->kind == CSE_YAML_MAPPING) {
            status = read_key(r, parent, event, &key);
            fy_parser_event_free(r->parser, event);
            CSE_TRY(status);
            CSE_TRY(next_event(r, &event));
        }
        cse_yaml_node *child = NULL;
        status = read_node(r, event, depth + 1, &child);
        fy_parser_event_free(r->parser, event);
        CSE_TRY(status);
        add_child(r->arena, parent, key, child);
    }
}

/* The node that `event` begins. */
static cse_status read_node(reader *r, struct fy_event *event, int depth, cse_yaml_node **node)
{
    cse_place place = place_of(r, event);
    if (depth > CSE_YAML_MAX_DEPTH)
        return fail_at(place, "too many levels of nesting (at most 32)");
    if (event->type == FYET_ALIAS)
        return read_alias(r, event, depth, node);
    if (event->type != FYET_SCALAR && event->type != FYET_SEQUENCE_START &&
        event->type != FYET_MAPPING_START)
        return fail_at(place, "a value is missing here");
    if (fy_event_get_tag_token(event) != NULL)
        return fail_at(place, "tags (!name) are not accepted; write the value alone");
    struct fy_token *anchor_token = fy_event_get_anchor_token(event);
    const char *anchor_name = anchor_token != NULL ? token_text(r, anchor_token) : NULL;
    if (event->type == FYET_SCALAR) {
        CSE_TRY(node_new(r, CSE_YAML_SCALAR, place, node));
        struct fy_token *token = event->scalar.value;
        CSE_TRY(read_text(r, place, token, &(*node)->text));
        (*node)->quoted = token != NULL && fy_token_scalar_style(token) != FYSS_PLAIN;
    } else {
        bool sequence = event->type == FYET_SEQUENCE_START;
        CSE_TRY(node_new(r, sequence ? CSE_YAML_SEQUENCE : CSE_YAML_MAPPING, place, node));
        CSE_TRY(read_children(r, *node, depth));
    }
    remember_anchor(r, anchor_name, *node);
    return CSE_OK;
}

/* The whole stream: one document at most. */
static cse_status read_stream(reader *r, cse_yaml_node **root)
{
    for (;;) {
        struct fy_event *event = NULL;
        CSE_TRY(next_event(r, &event));
        enum fy_event_type type = event->type;
        cse_status status = CSE_OK;
        if (type == FYET_DOCUMENT_START && *root != NULL)
            status = fail_at(place_of(r, event), "a second document begins here; keep one");
        else if (type == FYET_SCALAR || type == FYET_SEQUENCE_START || type == FYET_MAPPING_START ||
                 type == FYET_ALIAS)
            status = read_node(r, event, 0, root);
        fy_parser_event_free(r->parser, event);
        CSE_TRY(status);
        if (type == FYET_STREAM_END)
            break;
    }
    if (*root == NULL) {
        CSE_TRY(node_new(r, CSE_YAML_SCALAR, (cse_place){ r->source, 1, 1 }, root));
        (*root)->text = "";
    }
    return CSE_OK;
}

static cse_status check_bytes(reader *r, const char *text, size_t size)
{
    cse_place place = { r->source, 1, 1 };
    if (size > CSE_YAML_MAX_BYTES)
        return fail_at(place, "more than 1 MiB of YAML");
    cse_nesting where;
    if (!cse_nesting_yaml(text, size, MAX_OPEN, &where))
        return fail_at((cse_place){ r->source, where.line, where.column },
                       "too many brackets are open here; close them, or write lists by lines");
    for (size_t i = 0; i < size;) {
        unsigned char c = (unsigned char)text[i];
        size_t length = cse_utf8_length(text + i, size - i);
        if (length == 0)
            return fail_at(place, "a byte that is not UTF-8; save the text as UTF-8");
        if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F)
            return fail_at(place, "a control character; only line ends and tabs are accepted");
        if (c == '\n') {
            place.line++;
            place.column = 1;
        } else {
            place.column++;
        }
        i += length;
    }
    return CSE_OK;
}

static cse_status parse_checked(reader *r, const char *text, size_t size, cse_yaml_node **root)
{
    struct fy_diag_cfg diagnostics = { .level = FYET_ERROR, .module_mask = UINT_MAX };
    r->diagnostics = fy_diag_create(&diagnostics);
    if (r->diagnostics == NULL)
        return cse_fail(CSE_INTERNAL, "yaml: the parser cannot be created");
    fy_diag_set_collect_errors(r->diagnostics, true);
    struct fy_parse_cfg configuration = {
        .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE,
        .diag = r->diagnostics,
    };
    r->parser = fy_parser_create(&configuration);
    cse_status status = CSE_OK;
    if (r->parser == NULL || fy_parser_set_string(r->parser, text, size) != 0)
        status = cse_fail(CSE_INTERNAL, "yaml: the parser cannot be created");
    if (status == CSE_OK)
        status = read_stream(r, root);
    if (r->parser != NULL)
        fy_parser_destroy(r->parser);
    fy_diag_destroy(r->diagnostics);
    free(r->anchors);
    return status;
}

/* Again and again, while it is a bare item that was refused. */
static cse_status parse_bare_items(reader *r, const char *text, size_t size, cse_yaml_node **root)
{
    cse_text now = { 0 }, next = { 0 };
    int line = 0;
    size_t parsed = 0;
    cse_status status = parse_checked(r, text, size, root);
    while (status != CSE_OK && r->refused && cse_error_last()->place.line > line &&
           parsed < MAX_PARSED_AGAIN) {
        line = cse_error_last()->place.line;
        if (!cse_yaml_fill_bare_item(now.size > 0 ? now.data : text, now.size > 0 ? now.size : size,
                                     line, &next))
            break;
        cse_text_clear(&now);
        now = next;
        next = (cse_text){ 0 };
        parsed += now.size;
        *root = NULL;
        *r = (reader){ .arena = r->arena, .source = r->source };
        status = parse_checked(r, now.data, now.size, root);
    }
    cse_text_clear(&now);
    return status;
}

cse_status cse_yaml_parse(cse_arena *arena, const char *source, const char *text, size_t size,
                          cse_yaml_node **root)
{
    reader r = { .arena = arena, .source = cse_arena_string(arena, source) };
    *root = NULL;
    if (text == NULL || size == 0) {
        text = "";
        size = 0;
    }
    CSE_TRY(check_bytes(&r, text, size));
    /* libfyaml has no event for text without a node. */
    if (size == 0) {
        CSE_TRY(node_new(&r, CSE_YAML_SCALAR, (cse_place){ r.source, 1, 1 }, root));
        (*root)->text = "";
        return CSE_OK;
    }
    return parse_bare_items(&r, text, size, root);
}

cse_status cse_yaml_read_file(const char *path, cse_text *content)
{
    struct stat about;
    if (*path == '\0')
        return cse_fail(CSE_NO_INPUT, "the path is empty; give the path of a YAML file");
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return cse_fail(CSE_NO_INPUT, "%s: is a directory; give the path of a YAML file", path);
    FILE *file = cse_confinement_view() != NULL ? cse_open_plain_stream(path) : fopen(path, "rb");
    if (file == NULL && (errno == ENOENT || errno == ENOTDIR))
        return cse_fail(CSE_NO_INPUT, "%s: there is no such file; check the path", path);
    if (file == NULL && errno == EACCES)
        return cse_fail(CSE_PERMISSION, "%s: permission denied; make the file readable", path);
    if (file == NULL)
        return cse_fail(CSE_IO, "%s: cannot be opened: %s", path, strerror(errno));
    char buffer[8192];
    size_t size;
    cse_status status = CSE_OK;
    while ((size = fread(buffer, 1, sizeof buffer, file)) > 0 && status == CSE_OK) {
        cse_text_add_bytes(content, buffer, size);
        if (content->size > CSE_YAML_MAX_BYTES)
            status = cse_fail(CSE_CONFIG, "%s: more than 1 MiB: this is no configuration", path);
    }
    if (status == CSE_OK && ferror(file))
        status = cse_fail(CSE_IO, "%s: cannot be read: %s", path, strerror(errno));
    fclose(file);
    return status;
}

cse_status cse_yaml_parse_file(cse_arena *arena, const char *path, cse_yaml_node **root)
{
    cse_text content = { 0 };
    cse_status status = cse_yaml_read_file(path, &content);
    if (status == CSE_OK)
        status = cse_yaml_parse(arena, path, content.data, content.size, root);
    cse_text_clear(&content);
    return status;
}
