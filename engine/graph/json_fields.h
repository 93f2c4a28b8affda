/* Structs as JSON objects and back, by a table of their fields, so that writer and reader agree. */
#ifndef CSE_GRAPH_JSON_FIELDS_H
#define CSE_GRAPH_JSON_FIELDS_H

#include <jansson.h>
#include <stddef.h>

#include "engine/graph/graph.h"

/* The C type of a field and its form in JSON. */
typedef enum cse_field_type {
    CSE_FIELD_INT,   /* int, int32_t or an enum; a number */
    CSE_FIELD_UINT,  /* uint32_t; a number */
    CSE_FIELD_LEVEL, /* uint8_t that holds the number plus 1; 0: left out */
    CSE_FIELD_INT64, /* a number */
    CSE_FIELD_BOOL,
    CSE_FIELD_TEXT,
    CSE_FIELD_DTYPE,  /* its name */
    CSE_FIELD_SHAPE,  /* an array of sizes */
    CSE_FIELD_NODE,   /* cse_node *; its position in the graph, -1 for NULL */
    CSE_FIELD_DOUBLE, /* a hexadecimal float in a string: exact, and JSON has no infinities */
} cse_field_type;

typedef struct cse_field {
    const char *key; /* NULL ends a table */
    cse_field_type type;
    size_t offset;
    int64_t low, high; /* of numbers; `low` -1 for a NODE that may be NULL */
    bool optional;     /* left out when 0, false, NULL or empty, and read as that */
} cse_field;

/* Writes the fields into an object that was begun with "{". Nodes are written as the position that
 * their `scratch` holds. */
void cse_fields_write(const cse_field *fields, const void *record, cse_text *out);

/* "key": with a comma before it where one belongs; and lists of positions and of numbers. */
void cse_json_key(cse_text *out, const char *key);
void cse_json_positions(cse_text *out, cse_node *const nodes[], int count);
void cse_json_integers(cse_text *out, const int64_t integers[], int count);

/* State of reading a graph file: the graph so far, and the first problem. */
typedef struct cse_field_reader {
    cse_graph *graph;
    cse_status status;
} cse_field_reader;

/* Keeps "graph file: WHAT is missing or wrong", if it is the first problem. */
void cse_field_wrong(cse_field_reader *reader, const char *what);

/* Fills the fields of `record`; a wrong field is reported to `reader` and stays 0. Texts are copied
 * to the graph's arena. */
void cse_fields_read(cse_field_reader *reader, const cse_field *fields, const json_t *object,
                     void *record);

/* The node at a position read from the file; NULL, and a problem, when there is none. */
cse_node *cse_field_node(cse_field_reader *reader, const json_t *position);

double cse_field_double(cse_field_reader *reader, const json_t *value);

#endif
