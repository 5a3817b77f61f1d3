/* A language server for .mir and .mlir (LSP 3.17): diagnostics, hover, completion, definition and
 * references, by the parser and the tables of ops. It knows no files and no descriptors: bytes of a
 * client go in, bytes for it come out.
 *
 *   lsp_server_feed ─▶ messages ─▶ documents (parsed at each change) ─▶ answers ─▶ send
 *
 * A client is trusted in nothing: bytes that are no message are answered with an error or end the
 * conversation. tools/ming-lsp-server.c connects it with standard input and output.
 * Tests: test/e2e/lsp_check.py, fuzz/fuzz_lsp.c */
#ifndef MING_LSP_LSP_H
#define MING_LSP_LSP_H

#include "ir/support/support.h"

typedef struct LspServer LspServer;

/* send: gets whole messages with their headers. */
LspServer *lsp_server_create(void (*send)(void *user, Str message), void *user);
void lsp_server_free(LspServer *server);
/* Takes the next bytes of a client, cut anywhere. False: the conversation is over. */
bool lsp_server_feed(LspServer *server, Str bytes) MUST_CHECK;
/* Whether it ended as it should: by `exit` after `shutdown`. */
bool lsp_server_ended_well(const LspServer *server);

#endif
