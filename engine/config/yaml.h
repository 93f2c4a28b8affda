/* YAML text as a tree whose every node knows where it stands.
 *
 * libfyaml is used by yaml.c alone, as a source of events: the tree is our own, so that depth,
 * size and the expansion of aliases are bounded whatever the text holds, and so that a piece of
 * a tree can be printed and parsed again without losing the places its values came from (see
 * cse_yaml_print_with_origins). */
#ifndef CSE_CONFIG_YAML_H
#define CSE_CONFIG_YAML_H

#include "csengine/status.h"
#include "engine/base/arena.h"
#include "engine/base/text.h"

/* What hostile text is stopped at. */
enum {
    CSE_YAML_MAX_BYTES = 1 << 20,
    CSE_YAML_MAX_DEPTH = 32,
    CSE_YAML_MAX_NODES = 20000, /* aliases count as what they stand for */
};

typedef enum cse_yaml_kind { CSE_YAML_SCALAR, CSE_YAML_SEQUENCE, CSE_YAML_MAPPING } cse_yaml_kind;

/* Where something was written: "configs/x.yaml" 3:5. Line 0: known only by its source ("--
 * seed"). */
typedef struct cse_yaml_place {
    const char *source; /* "" for text given inline */
    int line, column;   /* from 1 */
} cse_yaml_place;

typedef struct cse_yaml_node {
    cse_yaml_kind kind;
    cse_yaml_place place;
    const char *text; /* of a scalar */
    bool quoted;      /* a scalar that is text whatever it looks like */
    struct cse_yaml_node **children;
    struct cse_yaml_key *keys; /* of a mapping: one for each child */
    int count, capacity;
} cse_yaml_node;

typedef struct cse_yaml_key {
    const char *text;
    cse_yaml_place place;
} cse_yaml_key;

/* Parses one document; NULL or empty text is a null scalar. The tree lives in `arena`; `source`
 * names the text in places. Fails with CSE_CONFIG, "source:line:column: ...": syntax, duplicate
 * keys, keys that are not scalars, tags, more than one document, bytes that are not UTF-8, or a
 * bound above. */
cse_status cse_yaml_parse(cse_arena *arena, const char *source, const char *text, size_t size,
                          cse_yaml_node **root);

/* Reads a file and parses it: CSE_NO_INPUT when it is missing, CSE_PERMISSION, CSE_IO. */
cse_status cse_yaml_parse_file(cse_arena *arena, const char *path, cse_yaml_node **root);

/* An unquoted empty, null, Null, NULL or ~. */
bool cse_yaml_is_null(const cse_yaml_node *node);

/* Borrowed child of a mapping; NULL when there is none or `node` is no mapping. */
cse_yaml_node *cse_yaml_find(const cse_yaml_node *node, const char *key);

/* New nodes, for trees that are put together from several sources. */
cse_yaml_node *cse_yaml_mapping_new(cse_arena *arena, cse_yaml_place place);
/* Adds or replaces. */
void cse_yaml_put(cse_arena *arena, cse_yaml_node *mapping, cse_yaml_key key, cse_yaml_node *child);

/* "source:line:column", "line:column" or "source", whichever is known. In `arena`. */
const char *cse_yaml_place_text(cse_arena *arena, cse_yaml_place place);

/* One line of flow YAML that parses to the same tree. */
void cse_yaml_print(const cse_yaml_node *node, cse_text *text);
/* Lines of block YAML that parse to the same tree. */
void cse_yaml_print_block(const cse_yaml_node *node, cse_text *text);
/* A scalar as it must be written to be read back as the same text. */
void cse_yaml_print_text(const char *scalar, cse_text *text);
/* The same line, then a comment with the place of every node in order. cse_yaml_parse reads that
 * comment, so that a section handed on as text still reports errors at the lines of its file. */
void cse_yaml_print_with_origins(const cse_yaml_node *node, cse_text *text);

#endif
