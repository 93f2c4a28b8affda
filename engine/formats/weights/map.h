/* Maps: how another program names and lays out the weights of a model, and its settings. A map is
 * data, a YAML file of the folder maps; docs/weights.md describes it.
 *
 * "theirs" are the names in the other program's files, "ours" those of the model here. Each rule
 * works in both directions. */
#ifndef CSE_WEIGHTS_MAP_H
#define CSE_WEIGHTS_MAP_H

#include <jansson.h>
#include <string.h>

#include "engine/base/config/yaml.h"
#include "engine/base/text.h"
#include "engine/formats/weights/map_fused.h"
#include "engine/formats/weights/weights.h"

enum { CSE_MAP_PARTS = 4, CSE_MAP_NAMES = 4, CSE_MAP_LAYERS = 4096 };

/* One setting that both sides have, or that one side must have with a certain value. */
typedef struct cse_map_fact {
    /* The first is written; the others are read as well. A dot leads into an object or mapping. */
    const char *theirs[CSE_MAP_NAMES], *ours[CSE_MAP_NAMES];
    int their_names, our_names;
    const cse_yaml_node *our_default, *their_default; /* where it is not given */
    const cse_yaml_node *fixed;                       /* the one value that the map holds for */
    const cse_yaml_node *written;                     /* theirs: written, not read */
    /* {their value: our value, or several of which the first is written}. */
    const cse_yaml_node *values;
    /* NULL, or square (theirs: 8, ours: [8, 8]), list (theirs: [a], ours: a), count (theirs: {0: a,
     * 1: b}, ours: 2), numbers (both a list), period (theirs: [full_attention, sliding_attention,
     * sliding_attention, full_attention, ...] of all layers, ours: 3), every_other
     * (map_every_other.c), missing_weight (theirs is the name of a weight, ours whether they lack
     * it), given (theirs is whether ours is not null), inverse_root, yarn_attention,
     * longrope_attention (map_numbers.c), layers, but_every or factors (map_layers.c), elements
     * (map_elements.c). */
    const char *form;
    const char *times;            /* ours is theirs times this fact of theirs; NULL: theirs */
    const cse_yaml_node *missing; /* form layers, and `needs`: map_layers.c */
    const char *needs;
    bool unwritten; /* ours alone: the model's default, which its settings need not say; theirs:
                       never written */
    const cse_yaml_node *least;   /* the least number that the map holds for */
    bool omitted;                 /* theirs: not written where it is their default */
    const cse_yaml_node *implied; /* {weight of theirs: value} where it is not given */
    const cse_yaml_node *null_is; /* their value where null is given; NULL: as where there is none,
                                     if that is null or a formula, else null is refused */
    const cse_yaml_node *where;   /* {fact of theirs: values}: read by their program only there */
    const cse_yaml_node *except;  /* the same, where it is not read */
    const char *none_is;          /* their value that stands for null of ours; NULL: null does */
    const char *told;             /* what is told where it is written: what of it is not computed */
    const char *same_as; /* missing_weight: one with the elements of this weight is missing, too */
    const char *fraction_of; /* theirs is a fraction of this fact of theirs, or of a quotient
                                     of two, A/B; ours is the number, rounded down */
} cse_map_fact;

/* A key of their facts that no fact has, or several: what it may be, and why. */
typedef struct cse_map_key {
    const cse_yaml_node *names; /* a name, or a list; a star at the end is any end */
    const cse_yaml_node *only;  /* the values that the map holds for; NULL: any, it is harmless */
    const char *because;
    bool kept;                      /* written again where the weights become theirs again */
    const cse_yaml_node *otherwise; /* what is written where there is nothing to be kept, since
                                       their default would say more than is known; NULL: nothing */
    bool either;                    /* at most one of the names may be given */
} cse_map_key;

typedef struct cse_map_rule {
    const char *theirs; /* with at most one *, which stands for the number of a layer */
    const char *stack;  /* their fact of how many matrices ours has, one behind the other: a second
                           * of theirs stands for the number of one; NULL: ours is one matrix */
    const char *ours[CSE_MAP_PARTS];
    int parts;   /* more than one: rows of theirs, after it was transposed, in equal parts */
    bool within; /* the parts are of each matrix of a stack, not of the whole */
    bool also;   /* another form of weights that other rules have as well: read, never written */
    bool transpose;
    const char *rotary; /* their fact that says how many heads the rows belong to; NULL: not rotated
                         */
    bool is_fused;      /* ours are queries, keys and values, in the layout `fused` */
    cse_fused_layout fused;
    const char *heads, *key_heads; /* of a fused weight: their facts, or numbers */
    int squeeze;                   /* so many first dimensions, of size 1, are theirs alone */
    int unsqueeze;                 /* and so many may be missing there */
    double plus;                   /* each element of theirs is ours and this number */
    bool roll;                     /* their first row is our last */
    bool optional;
    const char *unless;         /* the rule holds where this fact of theirs is not true */
    const cse_yaml_node *where; /* {fact of theirs: values}: the rule holds only there */
    const char *layers;         /* their fact of how many layers there are; NULL: the map's */
    bool drop;                  /* theirs alone, and of no use here */
    const char *counter;        /* of a drop: written as an int64 0 where there is this weight */
    const char *frequencies;    /* of a drop: those of a rotation, which their fact of its base must
                                make; NULL: any values */
    const char *tied;           /* theirs alone: another name of this weight */
    bool no_prefix;
} cse_map_rule;

typedef struct cse_map {
    const char *source;           /* for messages */
    const char *model;            /* ours */
    const char *kind;             /* hugging_face or gguf */
    const cse_yaml_node *selects; /* facts of theirs by which the map is chosen */
    const cse_yaml_node *begins;  /* those by which it is where a model of ours begins with theirs;
                                     NULL: no others */
    const cse_yaml_node *follows; /* {fact of another kind's origin: values}: this map is taken for
                                     a model that came from there, if it holds; NULL: none */
    const char *prefix;           /* of their names, which may lack it; NULL: none */
    const cse_yaml_node *bare;    /* {fact of theirs: values} with which names are written without
                                     the prefix; NULL: never */
    const cse_yaml_node *older_ends; /* ends of their names, and what older files have in their
                                        place; NULL: none */
    const char *layers;              /* their fact that says how many there are */
    const char *head_size;   /* their fact of the rows of a head; NULL: what rows there are */
    const char *rotary_size; /* their fact of the channels of a head that are rotated, its first
                                ones; NULL: all */
    const cse_yaml_node *rope_factors; /* {weight, channels, base, length}: a weight that scales the
                                          rotation, and their facts that it goes by; NULL: none */
    const cse_yaml_node *ours_only;  /* {setting of ours: values}: theirs computes as if it had one
                                       of these; of maps that have a fact of it, that decides */
    const cse_yaml_node *leaves_out; /* weights of ours that theirs has no place for, and does not
                                        compute with; NULL: none */
    const cse_yaml_node
        *without; /* rules of the map that this one is like, by their names, which it
                                     has not; NULL: it has all */
    const cse_yaml_node *root;
    cse_map_fact *facts;
    int fact_count;
    cse_map_rule *rules;
    int rule_count;
    cse_map_key *keys;
    int key_count;
    int own_key_count;      /* the first ones are its own */
    int before_shared_keys; /* its own and those of the map that it is like */
} cse_map;

/* A map in the text of a YAML file; it lives in the arena. CSE_CONFIG, with the place. */
cse_status cse_map_parse(cse_arena *arena, const char *source, const char *text, cse_map **map);
/* A file, or the name of a map that csengine brings. */
cse_status cse_map_load(cse_arena *arena, const char *name, cse_map **map);

/* The map of a kind that their facts select, and that of a model of ours. Of several the one with
 * the most facts is taken, but before all one for `model`, which begins with these weights (NULL:
 * none does). CSE_DATA, with those that there are. */
cse_status cse_map_for_theirs(cse_arena *arena, const char *kind, const json_t *facts,
                              const char *model, cse_map **map);
/* Of several maps for the model one that holds for its settings is taken, and of those the one that
 * `origin` (facts of theirs, or NULL) selects. */
typedef struct cse_map_wanted {
    const char *kind, *model;
    const cse_yaml_node *settings; /* ours; NULL: not known */
    const json_t *origin;
} cse_map_wanted;
cse_status cse_map_for_model(cse_arena *arena, const cse_map_wanted *wanted, cse_map **map);

/* ---- keys ---- */

/* Every key of their facts is one that the map has, with a value that it holds for. CSE_DATA, with
 * the name of one that is not, and why. */
cse_status cse_map_check_keys(const cse_map *map, cse_arena *arena, const json_t *facts);
/* No setting of ours says what their program cannot compute. CSE_DATA, with its name. */
cse_status cse_map_check_ours(const cse_map *map, cse_arena *arena, const cse_yaml_node *settings);
/* Those of the keys that are kept; json_decref(). */
json_t *cse_map_kept(const cse_map *map, const json_t *facts);
/* Between GGUF's facts of the tokens that begin, end and fill a text and transformers' words for
 * them, bos_token_id, eos_token_id and pad_token_id: from their facts, or to them. The token that
 * fills a text is our setting where there is one, and else what the file said that they came from,
 * for a folder, too. */
void cse_map_token_ids(const cse_map *map, const json_t *facts, json_t *config);
void cse_map_put_token_ids(const cse_map *map, const json_t *origin, const cse_yaml_node *settings,
                           json_t *facts);
/* Adds to their facts what was kept (NULL: nothing). */
void cse_map_add_kept(const cse_map *map, const json_t *kept, json_t *facts);

/* ---- facts ---- */

/* Puts among their facts what facts of the form missing_weight ask. */
cse_status cse_map_note_weights(const cse_map *map, cse_weights *weights, json_t *facts);

/* Their facts as our settings, a mapping with one key, the model's name. CSE_DATA: a fact has a
 * value that the map does not hold for, or one that it needs is missing. */
cse_status cse_map_settings(const cse_map *map, cse_arena *arena, const json_t *facts,
                            cse_yaml_node **settings);
/* Our settings (those of the model alone) as their facts; json_decref(*facts). */
cse_status cse_map_facts(const cse_map *map, cse_arena *arena, const cse_yaml_node *settings,
                         json_t **facts);
/* The model of a configuration's text: its name, and its settings as a mapping. CSE_DATA. */
cse_status cse_map_model_section(cse_arena *arena, const char *configuration, const char **model,
                                 cse_yaml_node **settings);
/* A configuration that has nothing but this model: {trainer: {init: {model: ...}}}. */
cse_yaml_node *cse_map_configuration(cse_arena *arena, const char *model,
                                     const cse_yaml_node *settings);
/* A scalar of a map, or the first of its list. */
const char *cse_map_first_of(const cse_yaml_node *values);
/* Whether two scalars have the same value: as numbers, or else as texts. */
bool cse_map_equal(const char *one, const char *other);
/* Whether facts of theirs have the values that a mapping asks for; NULL: nothing is asked. */
bool cse_map_holds(const cse_map *map, cse_arena *arena, const json_t *facts,
                   const cse_yaml_node *where);
/* Whether a fact of theirs is true, by its default where it is not given. */
bool cse_map_is_true(const cse_map *map, cse_arena *arena, const json_t *facts, const char *name);
/* The pattern of a rule with the number of a layer for its star; whether a name is of it. */
const char *cse_map_expand(cse_arena *arena, const char *pattern, int layer);
bool cse_map_matches(const char *pattern, const char *name);
const char *cse_map_without_prefix(const cse_map *map, const char *name);
/* The name with its end of one age in the other; NULL: it has none that changed. */
const char *cse_map_of_other_age(const cse_map *map, cse_arena *arena, const char *name,
                                 bool to_older);
/* Why a weight of theirs has no place under these facts, as the end of a sentence: the fact that a
 * rule for it asks for; "": there is no such rule. */
const char *cse_map_left_because(const cse_map *map, cse_arena *arena, const json_t *facts,
                                 const char *name);
/* An integer among their facts, or its default; of digits: that number; -1: there is none. */
int64_t cse_map_integer(const cse_map *map, const json_t *facts, const char *name);

/* Kinds of attention by layers as true or false, and back, for so many layers; NULL: neither. */
const char *cse_map_every_other(const json_t *value);
json_t *cse_map_every_other_list(bool every_other, int64_t layers);

/* ---- factors of a rotation (map.h's rope_factors) ---- */

/* Puts among their facts how their weight of factors scales the rotation. CSE_DATA. */
cse_status cse_map_note_rope(const cse_map *map, cse_weights *weights, json_t *facts);
/* The weight that such facts make; no factors: none is needed. CSE_DATA. */
typedef struct cse_map_rope {
    const char *name;
    float *factors; /* in the arena */
    int count;
} cse_map_rope;
cse_status cse_map_make_rope(const cse_map *map, cse_arena *arena, const json_t *facts,
                             cse_map_rope *rope);
/* Whether a weight of theirs that is left out holds the frequencies that its rule asks for: their
 * program computes with it, not with the fact. CSE_DATA. */
cse_status cse_map_check_frequencies(const cse_map *map, const cse_map_rule *rule,
                                     const json_t *facts, cse_weights *weights, int index);
/* Takes them out of what is written as facts. */
void cse_map_forget_rope(json_t *facts);

/* ---- facts that are weights of theirs (form: elements) ---- */

/* Puts their elements among their facts. CSE_DATA. */
cse_status cse_map_note_elements(const cse_map *map, cse_weights *weights, json_t *facts);
/* Whether a weight of theirs is such a fact. */
bool cse_map_is_numbers(const cse_map *map, const char *name);
/* The elements that a fact makes; no list: none. CSE_DATA. */
typedef struct cse_map_numbers {
    float *list; /* in the arena */
    int64_t count;
} cse_map_numbers;
cse_status cse_map_make_numbers(const cse_map *map, const cse_map_fact *fact, cse_arena *arena,
                                const json_t *facts, cse_map_numbers *numbers);
/* Takes them out of what is written as facts, and those of the form missing_weight. */
void cse_map_forget_elements(const cse_map *map, json_t *facts);
/* Tells what their program does not compute of the facts that it is given, and which weights of
 * ours are left out. */
void cse_map_tell(const cse_map *map, const json_t *facts, const cse_weights *ours,
                  cse_text *notice);

/* ---- weights ---- */

/* The names that tied weights are missing under are those of the weight that is there. */
void cse_map_name_tied(const cse_map *map, const json_t *facts, cse_weights *weights);
/* Matrices of one stack get one type of floats, float32 where they have several. */
void cse_map_even_stacks(const cse_map *map, cse_weights **weights);
/* The same weights under our names, or under theirs. The result owns `*from`. CSE_DATA: one is
 * missing, left over, or of a shape that a rule does not fit; `*from` stays the caller's. */
cse_status cse_map_to_ours(const cse_map *map, const json_t *facts, cse_weights **from,
                           cse_weights **to);
cse_status cse_map_to_theirs(const cse_map *map, const json_t *facts, cse_weights **from,
                             cse_weights **to);
/* The map for some of a model's weights: none is missing, and none is made without another one. The
 * rules are in `arena`, which the weights that are mapped by it must not outlive. */
cse_map cse_map_of_some(cse_arena *arena, const cse_map *map);

/* ---- names ---- */

/* The map of a kind for the model of these weights of ours, and their facts; `name`: a file or a
 * map of csengine, NULL: found. json_decref(*facts). CSE_DATA: they do not say their model. */
cse_status cse_map_for_weights(cse_weights *weights, const char *kind, const char *name,
                               cse_map **map, json_t **facts);
/* Whether a pattern with a star for a number is this name. */
bool cse_map_is_name(const char *pattern, const char *name);
/* The map for a model and names or ends of names of its modules there (a list; else nothing is
 * asked): of several that hold for the model the first choice, unless another one alone has all the
 * names. CSE_DATA: there is none. json_decref(*facts). */
cse_status cse_map_for_targets(cse_arena *arena, const cse_map_wanted *wanted,
                               const cse_yaml_node *targets, cse_map **map, json_t **facts);
/* Whether the map has a module of theirs with this name, or with this end of one after a dot. */
bool cse_map_has_module(const cse_map *map, const char *end);
/* The rule of a weight of theirs, with or without the prefix; NULL: there is none. */
const cse_map_rule *cse_map_rule_of(const cse_map *map, const char *theirs);
/* Their names of weights of ours, of a model with these facts; in `arena`. */
typedef struct cse_map_names cse_map_names;
const cse_map_names *cse_map_names_new(cse_arena *arena, const cse_map *map, const json_t *facts);
/* NULL: there is none. *rule: that they go by. */
const char *cse_map_names_of(const cse_map_names *names, const char *ours,
                             const cse_map_rule **rule);
/* Whether a weight of theirs is [in, out], where ours is [out, in]. */
bool cse_map_turns(const cse_map *map, const char *theirs);

/* ---- for the files of this part ---- */

/* A fact that is a list there and here: its text for our settings (NULL: it is not said), and its
 * value for theirs. CSE_DATA. */
static inline bool cse_map_is_list(const cse_map_fact *fact)
{
    return fact->form != NULL &&
           (strcmp(fact->form, "layers") == 0 || strcmp(fact->form, "factors") == 0 ||
            strcmp(fact->form, "but_every") == 0 || strcmp(fact->form, "elements") == 0);
}
typedef struct cse_map_sides {
    const cse_map *map;
    cse_arena *arena;
    const json_t *facts;           /* theirs; to theirs: those that there are so far */
    const cse_yaml_node *settings; /* ours; to ours: those that there are so far */
} cse_map_sides;
cse_status cse_map_take_list(const cse_map_sides *sides, const cse_map_fact *fact,
                             const char **text);
cse_status cse_map_give_list(const cse_map_sides *sides, const cse_map_fact *fact, json_t **value);
/* A number in the other side's unit; NULL: it has none there. */
bool cse_map_is_converted(const cse_map_fact *fact);
const char *cse_map_convert(const cse_map_sides *sides, const cse_map_fact *fact, const char *text,
                            bool to_ours);
/* What a formula of our settings fixes, =root(NAME); NULL: there is none. */
const char *cse_map_fixed_text(cse_arena *arena, const cse_map_fact *fact,
                               const cse_yaml_node *settings);
/* Whether a text is the scalar of a map, or one of its list. */
bool cse_map_is_among(const cse_yaml_node *values, const char *text);
/* As it stands in a file, for messages. */
const char *cse_map_list_of(cse_arena *arena, const cse_yaml_node *values);
/* A fact under a name, in which a dot may lead into an object, or to an entry of a list; NULL:
 * there is none. */
const json_t *cse_map_their_value(const json_t *facts, const char *name);
/* *same: two weights have the same elements. */
cse_status cse_map_same_elements(cse_weights *weights, int one, int other, bool *same);
/* A JSON scalar as text, an empty list or object as "[]" or "{}"; NULL for others. */
const char *cse_map_json_text(cse_arena *arena, const json_t *value);
/* A scalar or list of a map as JSON; json_decref(). */
json_t *cse_map_json_of(const cse_yaml_node *node);

/* The maps that csengine brings, and the lists of keys that maps of a kind share, by the name of
 * the kind; written by autogen.sh. */
typedef struct cse_map_text {
    const char *name, *text;
} cse_map_text;
extern const cse_map_text cse_map_texts[], cse_map_key_texts[];

#endif
