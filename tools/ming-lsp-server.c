/* ming-lsp-server: the language server on standard input and output.
 * Tests: test/e2e/lsp_check.py */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lsp/lsp.h"
#include "tools/internal.h"

/* Writes all of a message at once, so that the client need not wait. */
static void send_to_client(void *user, Str message)
{
    bool *ok = user;
    while (*ok && message.len > 0) {
        ssize_t count = write(STDOUT_FILENO, message.data, message.len);
        if (count < 0 && errno == EINTR) continue;
        *ok = count >= 0;
        if (!*ok) break;
        message.data += count;
        message.len -= (size_t)count;
    }
}

/* Until the client ends the conversation. False: it ended otherwise. */
static bool serve(const Tool *tool)
{
    static char bytes[1 << 16];
    bool can_write = true, goes_on = true;
    LspServer *server = lsp_server_create(send_to_client, &can_write);
    while (goes_on && can_write) {
        ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        goes_on = lsp_server_feed(server, (Str){bytes, (size_t)count});
    }
    bool ok = lsp_server_ended_well(server);
    lsp_server_free(server);
    if (!can_write) return tool_error(tool, "error: cannot write '-'");
    return ok || tool_error(tool, "error: the client ended the conversation without 'shutdown' and "
                                  "'exit', or sent what is no message");
}

int main(int argc, char **argv)
{
    tool_open_standard_files();
    bool stdio = true;
    const Flag flags[] = {{"stdio", FLAG_SWITCH, &stdio, NULL,
                           "Speak on standard input and output, which is always done", NULL}};
    const Tool tool = {
        .name = "ming-lsp-server",
        .summary = "ming-lsp-server: language server for .mir and .mlir",
        .usage = "[options]",
        .flags = flags,
        .flag_count = COUNT_OF(flags),
    };
    Texts inputs = {0};
    ArgsResult args = tool_parse_args(&tool, argc, argv, &inputs);
    if (args == ARGS_RUN && inputs.len > 0) {
        tool_error(&tool, "error: no file is taken; an editor starts the server");
        args = ARGS_WRONG;
    }
    vec_free(&inputs);
    bool ok = args == ARGS_DONE || (args == ARGS_RUN && serve(&tool));
    return tool_exit_status(&tool, ok);
}
