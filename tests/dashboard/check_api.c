/* Requests checked against the API's description: paths are found, parameters converted, values
 * checked by their schemas. The expected errors follow from the definition of JSON Schema. */
#include "dashboard/api/api.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/api/schema.h"

static cse_api *api;

static void set_up(void)
{
    ck_assert_int_eq(cse_api_new(cse_routes, &api), CSE_OK);
}

static void tear_down(void)
{
    cse_api_destroy(&api);
    ck_assert_ptr_null(api);
}

START_TEST(paths_are_found)
{
    static const struct {
        const char *method, *path, *id;
    } rows[] = {
        { "GET", "/api/v1/jobs", "listJobs" },
        { "POST", "/api/v1/jobs", "createJob" },
        { "GET", "/api/v1/jobs/a-1", "getJob" },
        { "POST", "/api/v1/config:validate", "validateConfig" },
        { "GET", "/api/v1/jobs/a/checkpoints/7/file", "getCheckpointFile" },
        { "GET", "/metrics", "getPrometheus" },
    };
    cse_api_match match;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert(cse_api_find(api, rows[i].method, rows[i].path, &match));
        ck_assert_str_eq(match.operation->id, rows[i].id);
        cse_api_match_clear(&match);
    }
    ck_assert(cse_api_find(api, "GET", "/api/v1/jobs/x/checkpoints/12", &match));
    ck_assert_str_eq(json_string_value(json_object_get(match.path_values, "id")), "x");
    ck_assert_str_eq(json_string_value(json_object_get(match.path_values, "step")), "12");
    cse_api_match_clear(&match);
    static const char *const unknown[] = { "/",         "/api/v1",        "/api/v1/jobs/",
                                           "/api/v1/j", "/api/v1/jobs//", "/api/v1/jobs/a/b/c/d" };
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        ck_assert(!cse_api_find(api, "GET", unknown[i], &match));
    ck_assert(cse_api_find(api, "DELETE", "/api/v1/jobs", &match));
    ck_assert_ptr_null(match.operation);
    cse_text methods = { 0 };
    cse_api_methods(match.route, &methods);
    ck_assert_str_eq(methods.data, "GET, HEAD, POST");
    cse_text_clear(&methods);
    cse_api_match_clear(&match);
}
END_TEST

/* Number of faults of a JSON text against a schema, both as text. */
static size_t count_faults(const char *schema_text, const char *value_text)
{
    json_t *schema = json_loads(schema_text, 0, NULL);
    json_t *value = json_loads(value_text, JSON_DECODE_ANY, NULL), *errors = json_array();
    ck_assert_ptr_nonnull(schema);
    ck_assert_ptr_nonnull(value);
    bool fits = cse_validator_check(cse_api_validator_view(api), schema, value, "", errors);
    size_t count = json_array_size(errors);
    ck_assert(fits == (count == 0));
    json_decref(schema);
    json_decref(value);
    json_decref(errors);
    return count;
}

START_TEST(values_fit_their_schemas)
{
    static const struct {
        const char *schema, *value;
        size_t faults;
    } rows[] = {
        { "{\"type\":\"integer\",\"minimum\":1,\"maximum\":3}", "1", 0 },
        { "{\"type\":\"integer\",\"minimum\":1,\"maximum\":3}", "0", 1 },
        { "{\"type\":\"integer\",\"minimum\":1,\"maximum\":3}", "4", 1 },
        { "{\"type\":\"integer\"}", "1.5", 1 },
        { "{\"type\":\"integer\"}", "true", 1 },
        { "{\"type\":\"number\"}", "1", 0 },
        { "{\"type\":[\"string\",\"null\"]}", "null", 0 },
        { "{\"type\":[\"string\",\"null\"]}", "1", 1 },
        { "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"\\u00e9\\u4e2d\"", 0 },
        { "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"\\u00e9\"", 1 },
        { "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"abcd\"", 1 },
        { "{\"enum\":[\"a\",1,null]}", "1", 0 },
        { "{\"enum\":[\"a\",1,null]}", "\"b\"", 1 },
        { "{\"type\":\"array\",\"maxItems\":2,\"items\":{\"type\":\"integer\"}}", "[1,2]", 0 },
        { "{\"type\":\"array\",\"maxItems\":2,\"items\":{\"type\":\"integer\"}}", "[1,2,3]", 1 },
        { "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}", "[1,\"a\",null]", 2 },
        { "{\"type\":\"object\",\"required\":[\"a\",\"b\"]}", "{\"a\":1}", 1 },
        { "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},"
          "\"additionalProperties\":false}",
          "{\"a\":1,\"b\":2}", 2 },
        { "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}",
          "{\"a\":\"x\",\"b\":2}", 1 },
        { "{\"type\":\"object\",\"maxProperties\":1}", "{\"a\":1,\"b\":2}", 1 },
        { "{\"$ref\":\"#/components/schemas/Priority\"}", "\"p3\"", 0 },
        { "{\"$ref\":\"#/components/schemas/Priority\"}", "\"p4\"", 1 },
        { "{\"oneOf\":[{\"$ref\":\"#/components/schemas/Priority\"},{\"type\":\"null\"}]}", "null",
          0 },
        { "{\"oneOf\":[{\"$ref\":\"#/components/schemas/Priority\"},{\"type\":\"null\"}]}",
          "\"p4\"", 1 },
        { "{\"$ref\":\"#/components/schemas/Labels\"}", "{\"team\":\"a-b\"}", 0 },
        { "{\"$ref\":\"#/components/schemas/Labels\"}", "{\"team\":1}", 1 },
        { "{\"$ref\":\"#/components/schemas/Labels\"}", "{\"a b\":\"x\"}", 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(count_faults(rows[i].schema, rows[i].value) == rows[i].faults,
                      "%s against %s: not %zu faults", rows[i].value, rows[i].schema,
                      rows[i].faults);
}
END_TEST

START_TEST(faults_say_where)
{
    json_t *schema = json_loads("{\"$ref\":\"#/components/schemas/JobSpec\"}", 0, NULL);
    json_t *value = json_loads("{\"config\":\"a\",\"resources\":{\"cores\":-1},\"x\":1}", 0, NULL);
    json_t *errors = json_array();
    ck_assert(!cse_validator_check(cse_api_validator_view(api), schema, value, "", errors));
    ck_assert_uint_eq(json_array_size(errors), 2);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(errors, 0), "pointer")),
                     "/resources/cores");
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(errors, 1), "pointer")),
                     "/x");
    json_decref(schema);
    json_decref(value);
    json_decref(errors);
}
END_TEST

/* RFC 6901, section 5, as JSON strings: "~" and "/" in names are escaped. */
START_TEST(pointers_escape_names)
{
    json_t *schema = json_loads("{\"additionalProperties\":{\"type\":\"integer\"}}", 0, NULL);
    json_t *value = json_loads("{\"a/b\":\"x\",\"m~n\":\"x\",\"c%d\":\"x\"}", 0, NULL);
    json_t *errors = json_array();
    static const char *const wanted[] = { "/a~1b", "/m~0n", "/c%d" };
    ck_assert(!cse_validator_check(cse_api_validator_view(api), schema, value, "", errors));
    ck_assert_uint_eq(json_array_size(errors), 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_str_eq(json_string_value(json_object_get(json_array_get(errors, i), "pointer")),
                         wanted[i]);
    json_decref(schema);
    json_decref(value);
    json_decref(errors);
}
END_TEST

START_TEST(examples_fit_their_own_schemas)
{
    json_t *schemas = json_object_get(
        json_object_get(cse_validator_document_view(cse_api_validator_view(api)), "components"),
        "schemas");
    const char *name;
    json_t *schema, *example, *errors = json_array();
    size_t i, count = 0;
    json_object_foreach(schemas, name, schema)
    {
        json_array_foreach(json_object_get(schema, "examples"), i, example)
        {
            ck_assert_msg(
                cse_validator_check(cse_api_validator_view(api), schema, example, name, errors),
                "%s", name);
            count++;
        }
    }
    ck_assert_uint_gt(count, 15);
    json_decref(errors);
}
END_TEST

static const char *no_header(void *self, const char *name)
{
    (void)self;
    return strcmp(name, "Idempotency-Key") == 0 ? "k 1" : NULL;
}

/* Faults of a query of the list of jobs; `values` gets what was understood. */
static size_t check_query(const cse_api_pair *query, int count, json_t *values)
{
    cse_api_match match;
    size_t i;
    json_t *error, *errors = json_array();
    const cse_api_given given = { .query = query, .query_count = count, .header = no_header };
    ck_assert(cse_api_find(api, "GET", "/api/v1/jobs", &match));
    cse_api_check_parameters(api, &match, &given, values, errors);
    size_t faults = json_array_size(errors);
    json_array_foreach(errors, i, error)
    {
        const char *pointer = json_string_value(json_object_get(error, "pointer"));
        ck_assert_str_eq(json_string_value(json_object_get(error, "parameter")), query[0].name);
        ck_assert(pointer != NULL && (*pointer == '\0' || *pointer == '/'));
    }
    cse_api_match_clear(&match);
    json_decref(errors);
    return faults;
}

START_TEST(parameters_are_converted)
{
    json_t *values = json_object();
    const cse_api_pair good[] = { { "limit", "7" }, { "state", "RUNNING" }, { "state", "FAILED" } };
    ck_assert_uint_eq(check_query(good, 3, values), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(values, "limit")), 7);
    ck_assert_uint_eq(json_array_size(json_object_get(values, "state")), 2);
    json_object_clear(values);
    const cse_api_pair lists[] = { { "state", "RUNNING,FAILED" },
                                   { "state", "PAUSED" },
                                   { "label", "a=b,c" } };
    ck_assert_uint_eq(check_query(lists, 3, values), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(values, "state")), 3);
    ck_assert_uint_eq(json_array_size(json_object_get(values, "label")), 2);
    json_object_clear(values);
    ck_assert_uint_eq(check_query(NULL, 0, values), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(values, "limit")), 100); /* its default */
    static const cse_api_pair wrong[] = {
        { "limit", "0" },   { "limit", "1001" },        { "limit", "7x" },
        { "limit", "" },    { "limit", " 7" },          { "limit", "1e2" },
        { "state", "run" }, { "state", "RUNNING,run" }, { "label", "=x" },
        { "limitt", "7" },  { "page_token", "*" },      { "limit", "99999999999999999999" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_object_clear(values);
        ck_assert_msg(check_query(&wrong[i], 1, values) > 0, "%s=%s", wrong[i].name,
                      wrong[i].value);
    }
    const cse_api_pair twice[] = { { "limit", "7" }, { "limit", "8" } };
    ck_assert_uint_gt(check_query(twice, 2, values), 0);
    json_decref(values);
}
END_TEST

START_TEST(headers_are_parameters)
{
    cse_api_match match;
    json_t *errors = json_array(), *values = json_object();
    const cse_api_given given = { .header = no_header };
    ck_assert(cse_api_find(api, "POST", "/api/v1/jobs", &match));
    ck_assert(!cse_api_check_parameters(api, &match, &given, values, errors)); /* a blank */
    ck_assert_ptr_nonnull(cse_api_body_schema(&match, "application/json"));
    ck_assert_ptr_nonnull(cse_api_body_schema(&match, "application/yaml"));
    ck_assert_ptr_null(cse_api_body_schema(&match, "text/plain"));
    ck_assert(!match.operation->body_optional);
    cse_api_match_clear(&match);
    json_decref(errors);
    json_decref(values);
}
END_TEST

/* Whether a route of this schema text, parameter line, answer and problems can be described. */
static bool is_described(const char *schemas, const char *parameters, const char *replies,
                         const char *problems)
{
    const cse_route route = { .path = "/x/{id}",
                              .tag = "x",
                              .schemas = schemas,
                              .operations = { { .method = "GET",
                                                .id = "getX",
                                                .summary = "x",
                                                .parameters = parameters,
                                                .replies = replies,
                                                .problems = problems } } };
    const cse_route *const routes[] = { &route, NULL };
    cse_api *other = NULL;
    cse_status status = cse_api_new(routes, &other);
    ck_assert(status == CSE_OK || status == CSE_INTERNAL);
    ck_assert(status == CSE_OK || other == NULL);
    cse_api_destroy(&other);
    return status == CSE_OK;
}

START_TEST(a_wrong_descriptor_is_refused)
{
    ck_assert(is_described("A\n  b? [integer|null 0..3] ..4  # doc\n", "limit", "200 A", "503"));
    ck_assert(!is_described("A\n  b integr\n", NULL, "200 A", NULL));
    ck_assert(!is_described("A\n  b [integer\n", NULL, "200 A", NULL));
    ck_assert(!is_described("A\n  b integer surplus\n", NULL, "200 A", NULL));
    ck_assert(!is_described("A\n  b <no_such_enumeration>\n", NULL, "200 A", NULL));
    ck_assert(!is_described("A\n  b integer\n  b integer\n", NULL, "200 A", NULL));
    ck_assert(!is_described("Job\n  b integer\n", NULL, "200 Job", NULL)); /* a shared one */
    ck_assert(!is_described("A string ~[\n", NULL, "200 A", NULL));
    ck_assert(!is_described("A\n  = {\n", NULL, "200 A", NULL));
    ck_assert(!is_described(NULL, NULL, "200 NoSuchSchema", NULL));
    ck_assert(!is_described(NULL, NULL, "200 [", NULL));
    ck_assert(!is_described(NULL, "no_such_parameter", "200 Job", NULL));
    ck_assert(!is_described(NULL, NULL, "200 Job", "599"));
}
END_TEST

/* A type of the notation as the JSON Schema that is expected. */
START_TEST(types_become_json_schemas)
{
    static const struct {
        const char *type, *schema;
    } rows[] = {
        { "integer 1..20", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":20}" },
        { "number|null 0..", "{\"type\":[\"number\",\"null\"],\"minimum\":0}" },
        { "string ..8", "{\"type\":\"string\",\"maxLength\":8}" },
        { "'a'|'b'", "{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}" },
        { "'a'|null", "{\"type\":[\"string\",\"null\"],\"enum\":[\"a\",null]}" },
        { "[Job] 1..2", "{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,"
                        "\"items\":{\"$ref\":\"#/components/schemas/Job\"}}" },
        { "{Label: integer}", "{\"type\":\"object\",\"additionalProperties\":{\"type\":"
                              "\"integer\"},\"propertyNames\":{\"$ref\":"
                              "\"#/components/schemas/Label\"}}" },
        { "Job|Label", "{\"oneOf\":[{\"$ref\":\"#/components/schemas/Job\"},"
                       "{\"$ref\":\"#/components/schemas/Label\"}]}" },
        { "Job|null", "{\"oneOf\":[{\"$ref\":\"#/components/schemas/Job\"},"
                      "{\"type\":\"null\"}]}" },
        { "any", "{}" },
        { "binary", "{\"type\":\"string\",\"format\":\"binary\"}" },
        { "<log_level>", "{\"type\":\"string\",\"enum\":[\"debug\",\"info\",\"warning\","
                         "\"error\"]}" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *at = rows[i].type;
        json_t *schema = cse_schema_read_type(&at);
        json_t *expected = json_loads(rows[i].schema, 0, NULL);
        ck_assert_msg(json_equal(schema, expected), "%s", rows[i].type);
        ck_assert_str_eq(at, "");
        json_decref(schema);
        json_decref(expected);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("api");
    TCase *cases = tcase_create("description");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, paths_are_found);
    tcase_add_test(cases, values_fit_their_schemas);
    tcase_add_test(cases, faults_say_where);
    tcase_add_test(cases, pointers_escape_names);
    tcase_add_test(cases, examples_fit_their_own_schemas);
    tcase_add_test(cases, parameters_are_converted);
    tcase_add_test(cases, headers_are_parameters);
    tcase_add_test(cases, a_wrong_descriptor_is_refused);
    tcase_add_test(cases, types_become_json_schemas);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
