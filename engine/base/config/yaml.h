/* YAML text as a tree whose nodes know their source positions.
 *
 * Only yaml.c uses libfyaml, as a source of events: building the tree here bounds its depth, its
 * size and the expansion of aliases. A file is parsed once; from then on its values travel as this
 * tree and as the settings that are checked against it. */
#ifndef CSE_CONFIG_YAML_H
#define CSE_CONFIG_YAML_H

#include "csengine/status.h"
#include "engine/base/arena.h"
#include "engine/base/text.h"

/* Limits against hostile text. */
enum {
    CSE_YAML_MAX_BYTES = 1 << 20,
    CSE_YAML_MAX_DEPTH = 32,
    CSE_YAML_MAX_NODES = 20000, /* aliases count as copies */
};

typedef enum cse_yaml_kind { CSE_YAML_SCALAR, CSE_YAML_SEQUENCE, CSE_YAML_MAPPING } cse_yaml_kind;

typedef struct cse_yaml_node {
    cse_yaml_kind kind;
    cse_place place;
    const char *text; /* of a scalar */
    bool quoted;      /* a scalar that is text even if it looks like a number */
    bool read;        /* its value was read; see cse_yaml_unread */
    bool replaced;    /* by a value under another name; see cse_yaml_drop_replaced */
    struct cse_yaml_node **children;
    struct cse_yaml_key *keys; /* of a mapping: one for each child */
    int count, capacity;
} cse_yaml_node;

typedef struct cse_yaml_key {
    const char *text;
    cse_place place;
} cse_yaml_key;

/* Parses one document; NULL or empty text is a null scalar. The tree lives in `arena`; `source`
 * names the text in places. Fails with CSE_CONFIG and the place: syntax, duplicate keys, keys that
 * are not scalars, tags, more than one document, bytes that are not UTF-8, or a limit above. */
cse_status cse_yaml_parse(cse_arena *arena, const char *source, const char *text, size_t size,
                          cse_yaml_node **root);

/* Adds the text of a configuration file to `content`: CSE_NO_INPUT when it is missing,
 * CSE_PERMISSION, CSE_IO, CSE_CONFIG when it is larger than any configuration. */
cse_status cse_yaml_read_file(const char *path, cse_text *content);
/* Reads a file and parses it: fails as reading it does. */
cse_status cse_yaml_parse_file(cse_arena *arena, const char *path, cse_yaml_node **root);

/* An unquoted empty, null, Null, NULL or ~. */
bool cse_yaml_is_null(const cse_yaml_node *node);

/* Borrowed child of a mapping; NULL when there is none or `node` is no mapping. */
cse_yaml_node *cse_yaml_find(const cse_yaml_node *node, const char *key);

/* New nodes, for trees that are put together from several sources. Texts are copied. */
cse_yaml_node *cse_yaml_scalar_new(cse_arena *arena, cse_place place, const char *text);
cse_yaml_node *cse_yaml_mapping_new(cse_arena *arena, cse_place place);
cse_yaml_node *cse_yaml_sequence_new(cse_arena *arena, cse_place place);
/* Adds or replaces. */
void cse_yaml_put(cse_arena *arena, cse_yaml_node *mapping, cse_yaml_key key, cse_yaml_node *child);
void cse_yaml_append(cse_arena *arena, cse_yaml_node *sequence, cse_yaml_node *child);
/* Takes a key out of a mapping, if it is there. */
void cse_yaml_remove(cse_yaml_node *mapping, const char *key);
/* Takes what is marked as replaced out of all mappings below `node`. */
void cse_yaml_drop_replaced(cse_yaml_node *node);
/* A new mapping with the children of `mapping` but those named (a NULL-terminated list). */
cse_yaml_node *cse_yaml_without(cse_arena *arena, const cse_yaml_node *mapping,
                                const char *const *keys);

/* A value written in C source: null, true, a number, a word or "quoted text", any of which is taken
 * as it stands, or what the YAML parser makes of [...] and {...}. */
cse_yaml_node *cse_yaml_literal(cse_arena *arena, cse_place place, const char *text);

/* "source:line:column", "line:column" or "source", whichever is known. In `arena`. */
const char *cse_yaml_place_text(cse_arena *arena, cse_place place);

/* One line of flow YAML that parses to the same tree. */
void cse_yaml_print(const cse_yaml_node *node, cse_text *text);
/* Lines of block YAML that parse to the same tree, for files that people go on editing. */
void cse_yaml_print_block(const cse_yaml_node *node, cse_text *text);
/* A scalar as it must be written to be read back as the same text. */
void cse_yaml_print_text(const char *scalar, cse_text *text);

/* A tree with its places as one JSON object, for another process of the same version. */
void cse_yaml_encode(const cse_yaml_node *node, cse_text *json);
/* Reads it back into `arena`. The input is not trusted: CSE_DATA for another version and for
 * anything that is no such object or exceeds a limit above. */
cse_status cse_yaml_decode(cse_arena *arena, const char *json, size_t size, cse_yaml_node **node);

/* A value that was given but never read. */
typedef struct cse_yaml_unread {
    const char *path; /* "trainer.init.loop.num_steps"; entries of lists by number */
    cse_place place;
    const cse_yaml_node *node; /* the value */
} cse_yaml_unread;

/* Lists in document order the values below `node` whose `read` is not set, into `arena`; a list of
 * scalars of which none was read is one value. Returns their number. */
int cse_yaml_list_unread(cse_arena *arena, const cse_yaml_node *node, cse_yaml_unread **list);
/* The same for all values, read or not. */
int cse_yaml_list_values(cse_arena *arena, const cse_yaml_node *node, cse_yaml_unread **list);

#endif
