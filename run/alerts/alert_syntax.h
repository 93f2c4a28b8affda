/* The condition of an alert as a tree, and how it is read from its text. */
#ifndef CSE_RUN_ALERTS_ALERT_SYNTAX_H
#define CSE_RUN_ALERTS_ALERT_SYNTAX_H

#include <stdbool.h>

#include "csengine/status.h"
#include "run/alerts/alert_history.h"

typedef enum cse_alert_node_kind {
    CSE_ALERT_NUMBER,
    CSE_ALERT_SERIES, /* a function of a series */
    CSE_ALERT_NEGATIVE,
    CSE_ALERT_ADD,
    CSE_ALERT_SUBTRACT,
    CSE_ALERT_MULTIPLY,
    CSE_ALERT_DIVIDE,
    /* From here on they are true or false. */
    CSE_ALERT_LESS,
    CSE_ALERT_LESS_EQUAL,
    CSE_ALERT_GREATER,
    CSE_ALERT_GREATER_EQUAL,
    CSE_ALERT_EQUAL,
    CSE_ALERT_UNEQUAL,
    CSE_ALERT_FINITE,
    CSE_ALERT_SILENCE, /* nothing of the series, or no step, for so many seconds */
    CSE_ALERT_NOT,
    CSE_ALERT_AND,
    CSE_ALERT_OR
} cse_alert_node_kind;

typedef struct cse_alert_node {
    cse_alert_node_kind kind;
    int left, right; /* nodes; -1: none */
    double number;   /* of NUMBER; seconds of SILENCE */
    int series;      /* of SERIES and SILENCE; -1: steps */
    cse_alert_function function;
    int window; /* 0: all points, or the last one */
} cse_alert_node;

enum {
    CSE_ALERT_BYTES = 1000,   /* of a text */
    CSE_ALERT_WINDOW = 10000, /* points that a function looks back at most */
    CSE_ALERT_NODES = 256,
    CSE_ALERT_SERIES_MOST = 32,
    CSE_ALERT_NAME_BYTES = 128
};

typedef struct cse_alert_tree {
    cse_alert_node nodes[CSE_ALERT_NODES];
    int count, root;
    char series[CSE_ALERT_SERIES_MOST][CSE_ALERT_NAME_BYTES];
    int series_count;
} cse_alert_tree;

/* "mean", ... */
const char *cse_alert_function_name(cse_alert_function function);

/* CSE_USAGE with what is wrong and where. */
cse_status cse_alert_tree_parse(const char *text, cse_alert_tree *tree);

#endif
