/* Messages: their frames, the life of the conversation, and which answer a request gets.
 *
 *   "Content-Length: N\r\n" … "\r\n" N bytes of JSON
 *
 * A message longer than MOST_BYTES is skipped and answered with an error. Headers that say no length
 * end the conversation, since nobody knows where the next message begins.
 * Tests: test/e2e/lsp_check.py, fuzz/fuzz_lsp.c */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ir/asm/print/print.h"
#include "lsp/internal.h"

enum {
    MOST_BYTES = 1 << 26,
    MOST_HEADER = 1 << 13,
    ERROR_PARSE = -32700,
    ERROR_REQUEST = -32600,
    ERROR_METHOD = -32601,
    ERROR_PARAMS = -32602,
    ERROR_NOT_INITIALIZED = -32002
};

typedef enum State { STATE_NEW, STATE_RUNNING, STATE_SHUT_DOWN, STATE_EXITED } State;

struct LspServer {
    void (*send)(void *user, Str message);
    void *user;
    StrBuf input;  /* not yet taken */
    uint64_t skip; /* bytes of a message that is too long */
    State state;
    bool ended_well;
    VEC(Document *) documents;
};

LspServer *lsp_server_create(void (*send)(void *user, Str message), void *user)
{
    LspServer *server = xcalloc(1, sizeof *server);
    server->send = send;
    server->user = user;
    return server;
}

void lsp_server_free(LspServer *server)
{
    if (!server) return;
    for (size_t i = 0; i < server->documents.len; i++) lsp_document_free(server->documents.data[i]);
    vec_free(&server->documents);
    strbuf_free(&server->input);
    free(server);
}

bool lsp_server_ended_well(const LspServer *server)
{
    return server->ended_well;
}

/* Takes the reference. */
static void send_message(const LspServer *server, json_t *message)
{
    StrBuf out = {0};
    char *body = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    if (!body) out_of_memory("writing an answer");
    strbuf_printf(&out, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
    server->send(server->user, strbuf_str(&out));
    strbuf_free(&out);
    free(body);
}

static void send_result(const LspServer *server, json_t *id, json_t *result)
{
    send_message(server,
                 json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result));
}

/* id: NULL where it is not known. */
static void send_error(const LspServer *server, json_t *id, int code, const char *message)
{
    send_message(server,
                 json_pack("{s:s, s:O?, s:{s:i, s:s}}", "jsonrpc", "2.0", "id",
                           id ? id : json_null(), "error", "code", code, "message", message));
}

static void publish(const LspServer *server, const Document *document)
{
    json_t *empty = json_array();
    json_t *list = document->diagnostics ? document->diagnostics : empty;
    send_message(server, json_pack("{s:s, s:s, s:{s:o, s:I, s:O}}", "jsonrpc", "2.0", "method",
                                   "textDocument/publishDiagnostics", "params", "uri",
                                   lsp_string(str_from(document->uri)), "version",
                                   (json_int_t)document->version, "diagnostics", list));
    json_decref(empty);
}

static const char *uri_of(const json_t *params)
{
    return json_string_value(json_object_get(json_object_get(params, "textDocument"), "uri"));
}

/* The index of a document, or their number. */
static size_t find_document(const LspServer *server, const char *uri)
{
    size_t i = 0;
    while (i < server->documents.len && (!uri || strcmp(server->documents.data[i]->uri, uri) != 0))
        i++;
    return i;
}

static Str string_of(const json_t *value)
{
    return (Str){json_string_value(value), json_string_length(value)};
}

static void close_document(LspServer *server, const json_t *params)
{
    size_t i = find_document(server, uri_of(params));
    if (i == server->documents.len) return;
    Document *document = server->documents.data[i];
    server->documents.data[i] = server->documents.data[--server->documents.len];
    json_decref(document->diagnostics);
    document->diagnostics = NULL;
    publish(server, document);
    lsp_document_free(document);
}

static void open_document(LspServer *server, const json_t *params)
{
    const json_t *item = json_object_get(params, "textDocument");
    const json_t *text = json_object_get(item, "text");
    const char *uri = uri_of(params);
    if (!uri || !json_is_string(text)) return;
    size_t i = find_document(server, uri);
    if (i < server->documents.len) { /* opened twice: the new one counts */
        lsp_document_free(server->documents.data[i]);
        server->documents.data[i] = server->documents.data[--server->documents.len];
    }
    Document *document = lsp_document_create(
        uri, json_integer_value(json_object_get(item, "version")), string_of(text));
    *vec_push(&server->documents) = document;
    lsp_document_parse(document);
    publish(server, document);
}

static void change(Document *document, const json_t *edit)
{
    const json_t *range = json_object_get(edit, "range"), *text = json_object_get(edit, "text");
    Str before = strbuf_str(&document->text);
    Span span = {0, before.len};
    if (!json_is_string(text)) return;
    if (json_is_object(range))
        span = (Span){lsp_offset(before, json_object_get(range, "start")),
                      lsp_offset(before, json_object_get(range, "end"))};
    lsp_document_edit(document, span, string_of(text));
}

static void change_document(LspServer *server, const json_t *params)
{
    size_t i = find_document(server, uri_of(params)), index;
    const json_t *edits = json_object_get(params, "contentChanges"), *edit;
    if (i == server->documents.len) return;
    Document *document = server->documents.data[i];
    json_array_foreach(edits, index, edit) change(document, edit);
    document->version =
        json_integer_value(json_object_get(json_object_get(params, "textDocument"), "version"));
    lsp_document_parse(document);
    publish(server, document);
}

static json_t *capabilities(void)
{
    return json_pack("{s:{s:{s:b, s:i}, s:b, s:b, s:b, s:{s:[s,s,s]}}, s:{s:s, s:s}}",
                     "capabilities", "textDocumentSync", "openClose", 1, "change", 2,
                     "hoverProvider", 1, "definitionProvider", 1, "referencesProvider", 1,
                     "completionProvider", "triggerCharacters", ".", "%", "@", "serverInfo", "name",
                     "ming-lsp-server", "version", MING_VERSION);
}

typedef enum Query {
    QUERY_HOVER,
    QUERY_COMPLETION,
    QUERY_DEFINITION,
    QUERY_REFERENCES,
    QUERIES
} Query;

static const char *const query_names[QUERIES] = {"textDocument/hover", "textDocument/completion",
                                                 "textDocument/definition",
                                                 "textDocument/references"};

static json_t *answer(const Document *document, Query query, const json_t *params)
{
    size_t offset = lsp_offset(strbuf_str(&document->text), json_object_get(params, "position"));
    const json_t *context = json_object_get(params, "context");
    switch (query) {
    case QUERY_HOVER: return lsp_hover(document, offset);
    case QUERY_COMPLETION: return lsp_complete(document, offset);
    case QUERY_DEFINITION: return lsp_definition(document, offset);
    case QUERY_REFERENCES:
    case QUERIES: break;
    }
    return lsp_references(document, offset,
                          json_is_true(json_object_get(context, "includeDeclaration")));
}

static void ask(const LspServer *server, json_t *id, const char *method, const json_t *params)
{
    Query query = 0;
    while (query < QUERIES && strcmp(method, query_names[query]) != 0) query++;
    if (query == QUERIES) {
        send_error(server, id, ERROR_METHOD, "the method is not known");
        return;
    }
    size_t i = find_document(server, uri_of(params));
    if (i == server->documents.len) {
        send_error(server, id, ERROR_PARAMS, "the document is not open");
        return;
    }
    const Document *document = server->documents.data[i];
    send_result(server, id, answer(document, query, params));
    diag_flush(document->ctx); /* frees texts of types */
}

static void request(LspServer *server, json_t *id, const char *method, const json_t *params)
{
    if (server->state == STATE_SHUT_DOWN) {
        send_error(server, id, ERROR_REQUEST, "the server is shut down");
    } else if (strcmp(method, "initialize") == 0) {
        if (server->state != STATE_NEW) {
            send_error(server, id, ERROR_REQUEST, "the server is initialized");
            return;
        }
        server->state = STATE_RUNNING;
        send_result(server, id, capabilities());
    } else if (server->state == STATE_NEW) {
        send_error(server, id, ERROR_NOT_INITIALIZED, "the server is not initialized");
    } else if (strcmp(method, "shutdown") == 0) {
        server->state = STATE_SHUT_DOWN;
        send_result(server, id, json_null());
    } else {
        ask(server, id, method, params);
    }
}

static void notify(LspServer *server, const char *method, const json_t *params)
{
    if (strcmp(method, "exit") == 0) {
        server->ended_well = server->state == STATE_SHUT_DOWN;
        server->state = STATE_EXITED;
    }
    if (server->state != STATE_RUNNING) return;
    if (strcmp(method, "textDocument/didOpen") == 0) open_document(server, params);
    if (strcmp(method, "textDocument/didChange") == 0) change_document(server, params);
    if (strcmp(method, "textDocument/didClose") == 0) close_document(server, params);
}

static void take_message(LspServer *server, Str body)
{
    json_t *message = json_loadb(body.data, body.len, JSON_ALLOW_NUL, NULL);
    if (!message) {
        send_error(server, NULL, ERROR_PARSE, "the message is no JSON in UTF-8");
        return;
    }
    json_t *id = json_object_get(message, "id");
    const char *method = json_string_value(json_object_get(message, "method"));
    const json_t *params = json_object_get(message, "params");
    bool is_answer =
        !method && (json_object_get(message, "result") || json_object_get(message, "error"));
    if (!method && !is_answer)
        send_error(server, id, ERROR_REQUEST, "the message is no request");
    else if (method && id)
        request(server, id, method, params);
    else if (method)
        notify(server, method, params);
    json_decref(message);
}

/* The number behind "Content-Length:" in headers. False: there is none. */
static bool content_length(Str headers, uint64_t *out)
{
    static const char name[] = "content-length:";
    for (size_t i = 0; i < headers.len;) {
        const char *end = memchr(headers.data + i, '\n', headers.len - i);
        Str line = {headers.data + i, end ? (size_t)(end - headers.data) - i : headers.len - i};
        i += line.len + 1;
        if (line.len <= strlen(name) || strncasecmp(line.data, name, strlen(name)) != 0) continue;
        size_t at = strlen(name);
        while (at < line.len && line.data[at] == ' ') at++;
        uint64_t length = 0;
        size_t first = at;
        for (; at < line.len && line.data[at] >= '0' && line.data[at] <= '9' && at < first + 18;
             at++)
            length = 10 * length + (uint64_t)(line.data[at] - '0');
        bool is_whole = at > first && (at == line.len || line.data[at] == '\r');
        *out = length;
        return is_whole;
    }
    return false;
}

/* Drops bytes from the begin of the input. */
static void drop(LspServer *server, size_t count)
{
    StrBuf *input = &server->input;
    memmove(input->data, input->data + count, input->len - count);
    input->len -= count;
    input->data[input->len] = '\0';
}

static bool skip(LspServer *server)
{
    size_t count = server->input.len < server->skip ? server->input.len : (size_t)server->skip;
    if (count > 0) drop(server, count);
    server->skip -= count;
    return server->skip == 0;
}

typedef enum Step { STEP_MORE, STEP_WAIT, STEP_OVER } Step;

static Step take_one(LspServer *server)
{
    Str input = strbuf_str(&server->input);
    uint64_t length;
    size_t end = 0;
    if (!skip(server)) return STEP_WAIT;
    input = strbuf_str(&server->input);
    while (end + 4 <= input.len && memcmp(input.data + end, "\r\n\r\n", 4) != 0) end++;
    if (end + 4 > input.len) return input.len > MOST_HEADER ? STEP_OVER : STEP_WAIT;
    if (!content_length((Str){input.data, end}, &length)) return STEP_OVER;
    size_t body = end + 4;
    if (length > MOST_BYTES) {
        send_error(server, NULL, ERROR_REQUEST, "the message is too long");
        drop(server, body);
        server->skip = length;
        return STEP_MORE;
    }
    if (input.len - body < length) return STEP_WAIT;
    take_message(server, (Str){input.data + body, (size_t)length});
    drop(server, body + (size_t)length);
    return server->state == STATE_EXITED ? STEP_OVER : STEP_MORE;
}

bool lsp_server_feed(LspServer *server, Str bytes)
{
    Step step = STEP_MORE;
    strbuf_add_str(&server->input, bytes);
    while (step == STEP_MORE) step = take_one(server);
    return step != STEP_OVER;
}
