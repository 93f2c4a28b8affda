/* JSON, as it is short and rare. The session is text: a number of JSON has 63 bits. */
#include "workers/hosts/mover_place.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"

void cse_mover_place_encode(const cse_mover_place *place, cse_text *out)
{
    cse_text_add(out, "{\"link\": ");
    cse_json_add_string(out, place->link);
    cse_text_add(out, ", \"host\": %d, \"session\": \"%" PRIu64 "\", \"plain\": %s, \"key\": \"",
                 place->host, place->session, place->plain ? "true" : "false");
    for (int i = 0; i < CSE_HOST_LINK_KEY_BYTES; i++)
        cse_text_add(out, "%02x", place->key[i]);
    cse_text_add(out, "\", \"addresses\": [");
    for (int h = 0; h < place->host_count; h++) {
        cse_text_add(out, h > 0 ? ", " : "");
        cse_json_add_string(out, place->addresses[h]);
    }
    cse_text_add(out, "]}");
}

static bool read_key(const char *text, unsigned char key[CSE_HOST_LINK_KEY_BYTES])
{
    if (strlen(text) != 2 * (size_t)CSE_HOST_LINK_KEY_BYTES)
        return false;
    for (int i = 0; i < CSE_HOST_LINK_KEY_BYTES; i++)
        if (sscanf(text + 2 * i, "%2hhx", &key[i]) != 1)
            return false;
    return true;
}

static bool read_addresses(const json_t *list, cse_mover_place *place)
{
    size_t index;
    const json_t *address;
    if (json_array_size(list) < 1 || json_array_size(list) > CSE_MAX_HOSTS)
        return false;
    place->host_count = (int)json_array_size(list);
    json_array_foreach(list, index, address)
    {
        const char *text = json_string_value(address);
        if (text == NULL || strlen(text) >= sizeof place->addresses[index])
            return false;
        snprintf(place->addresses[index], sizeof place->addresses[index], "%s", text);
    }
    return place->host >= 0 && place->host < place->host_count;
}

cse_status cse_mover_place_decode(const char *text, cse_mover_place *place)
{
    const char *link = NULL, *session = NULL, *key = NULL;
    const json_t *addresses = NULL;
    int plain = 0;
    *place = (cse_mover_place){ .host = -1 };
    json_t *root = json_loads(text, 0, NULL);
    bool good = root != NULL && json_unpack(root, "{s:s, s:i, s:s, s:b, s:s, s:o}", "link", &link,
                                            "host", &place->host, "session", &session, "plain",
                                            &plain, "key", &key, "addresses", &addresses) == 0;
    good = good && strlen(link) < sizeof place->link && read_key(key, place->key) &&
           read_addresses(addresses, place);
    if (good) {
        snprintf(place->link, sizeof place->link, "%s", link);
        place->session = strtoull(session, NULL, 10);
        place->plain = plain != 0;
    }
    json_decref(root);
    return good ? CSE_OK : cse_fail(CSE_DATA, "the place of a mover cannot be read");
}
