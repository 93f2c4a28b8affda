/* Names of local sockets, listening there and connecting to them. */
#include "workers/links/carrier_names.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "workers/links/host_address.h"

bool cse_carrier_token_is_right(const char *token)
{
    const size_t size = strlen(token);
    return size > 0 && size < CSE_CARRIER_TOKEN_BYTES &&
           strspn(token, "0123456789abcdefghijklmnopqrstuvwxyz-") == size;
}

void cse_carrier_name(const char *token, int host, int to, char text[CSE_HOST_LINK_ADDRESS_BYTES])
{
    if (to == CSE_CARRIER_MOVER)
        snprintf(text, CSE_HOST_LINK_ADDRESS_BYTES, "@csengine-%s-%d-mover", token, host);
    else
        snprintf(text, CSE_HOST_LINK_ADDRESS_BYTES, "@csengine-%s-%d-to-%d", token, host, to);
}

cse_status cse_carrier_listen(const char *token, int host, int to, int *listener)
{
    char name[CSE_HOST_LINK_ADDRESS_BYTES];
    cse_host_address address;
    int port;
    cse_carrier_name(token, host, to, name);
    CSE_TRY(cse_host_address_parse(name, &address));
    return cse_host_address_listen(&address, listener, &port);
}

int cse_carrier_connect(const char *token, int host, int to)
{
    char name[CSE_HOST_LINK_ADDRESS_BYTES];
    cse_host_address address;
    cse_socket_addresses found;
    cse_carrier_name(token, host, to, name);
    if (cse_host_address_parse(name, &address) != CSE_OK ||
        !cse_host_address_is_numeric(&address, &found))
        return -1;
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made >= 0 &&
        connect(made, (const struct sockaddr *)&found.addresses[0], found.sizes[0]) == 0)
        return made;
    if (made >= 0)
        close(made);
    return -1;
}
