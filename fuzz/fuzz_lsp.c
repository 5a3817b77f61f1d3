/* Fuzz target for the language server. The first byte of the input says whether the rest are bytes of
 * a client, or a text to open: then every kind of request is made at places that follow from the
 * text, before and after an edit. Whatever is sent must be messages of JSON, and each request has one
 * answer.
 *   fuzz/run fuzz_lsp      (fuzz/run says how to configure) */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz_support.h"
#include "lsp/lsp.h"

typedef struct Client {
    LspServer *server;
    Str input;
    uint32_t state; /* of the places */
    size_t asked, answered;
    bool goes_on;
} Client;

static void on_message(void *user, Str message)
{
    Client *client = user;
    const char *body = strstr(message.data, "\r\n\r\n");
    fuzz_check(body && strncmp(message.data, "Content-Length: ", 16) == 0,
               "an answer without a header", client->input);
    body += 4;
    size_t length = message.len - (size_t)(body - message.data);
    fuzz_check(strtoull(message.data + 16, NULL, 10) == length, "an answer of another length",
               client->input);
    json_t *json = json_loadb(body, length, JSON_ALLOW_NUL, NULL);
    fuzz_check(json != NULL, "an answer that is no JSON", client->input);
    client->answered += json_is_integer(json_object_get(json, "id"));
    json_decref(json);
}

/* Takes the reference. */
static void send_json(Client *client, json_t *message)
{
    StrBuf text = {0};
    char *body = json_dumps(message, JSON_COMPACT);
    client->asked += json_object_get(message, "id") != NULL;
    strbuf_printf(&text, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
    client->goes_on = lsp_server_feed(client->server, strbuf_str(&text));
    strbuf_free(&text);
    free(body);
    json_decref(message);
}

static json_t *random_place(Client *client)
{
    client->state = client->state * 1664525u + 1013904223u;
    return json_pack("{s:i, s:i}", "line", (int)(client->state >> 24) % 40, "character",
                     (int)(client->state >> 12) % 90);
}

/* A completion, whose answer is far the longest, once. */
static void ask_everything(Client *client)
{
    static const char *const methods[] = {"textDocument/hover",      "textDocument/definition",
                                          "textDocument/references", "textDocument/completion",
                                          "textDocument/hover",      "textDocument/definition",
                                          "textDocument/references"};
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        send_json(client, json_pack("{s:i, s:s, s:{s:{s:s}, s:o}}", "id", (int)i, "method",
                                    methods[i], "params", "textDocument", "uri", "u", "position",
                                    random_place(client)));
}

static void use_text(Client *client, json_t *text)
{
    send_json(client, json_pack("{s:s, s:{s:{s:s, s:i, s:O}}}", "method", "textDocument/didOpen",
                                "params", "textDocument", "uri", "u", "version", 1, "text", text));
    ask_everything(client);
    json_t *start = random_place(client), *end = random_place(client);
    send_json(client,
              json_pack("{s:s, s:{s:{s:s, s:i}, s:[{s:{s:o, s:o}, s:s}]}}", "method",
                        "textDocument/didChange", "params", "textDocument", "uri", "u", "version",
                        2, "contentChanges", "range", "start", start, "end", end, "text", "%a"));
    ask_everything(client);
}

void fuzz_lsp(const uint8_t *data, size_t size)
{
    if (size == 0) return;
    Str rest = {(const char *)data + 1, size - 1};
    Client client = {.input = rest, .state = (uint32_t)size};
    client.server = lsp_server_create(on_message, &client);
    send_json(&client, json_pack("{s:i, s:s}", "id", 0, "method", "initialize"));
    json_t *text = data[0] % 4 == 0 ? NULL : json_stringn(rest.data, rest.len);
    if (text) {
        use_text(&client, text);
        send_json(&client, json_pack("{s:i, s:s}", "id", 1, "method", "shutdown"));
        send_json(&client, json_pack("{s:s}", "method", "exit"));
        fuzz_check(!client.goes_on && lsp_server_ended_well(client.server), "it did not end", rest);
        fuzz_check(client.asked == client.answered, "requests and answers differ in number", rest);
    } else {
        size_t half = rest.len / 2;
        client.goes_on = lsp_server_feed(client.server, (Str){rest.data, half}) &&
                         lsp_server_feed(client.server, (Str){rest.data + half, rest.len - half});
    }
    json_decref(text);
    lsp_server_free(client.server);
}
