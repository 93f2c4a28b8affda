/* Prints the API's description, which the typed client of the pages is made from while they are
 * built: before there is a csengine that could be asked for /openapi.json. */
#include <stdio.h>
#include <stdlib.h>

#include "dashboard/api/api.h"

int main(void)
{
    cse_api *api = NULL;
    if (cse_api_new(cse_routes, &api) != CSE_OK) {
        fprintf(stderr, "write_openapi: error: %s\n", cse_error_message());
        return EXIT_FAILURE;
    }
    json_dumpf(cse_validator_document_view(cse_api_validator_view(api)), stdout, JSON_INDENT(1));
    cse_api_destroy(&api);
    return putchar('\n') == EOF || fclose(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
