/* ming check MODEL --profile=x.npy: what numbers its tensors hold, instead of what compiles.
 * Tests: lit/driver/profile.test */
#include "dialects/dialects.h"
#include "driver/profile/profile.h"
#include "driver/run/run.h"
#include "ir/asm/print/print.h"
#include "tools/internal.h"

static bool print_profile(const Profile *profile, int64_t frames, bool as_json)
{
    StrBuf text = {0};
    (as_json ? profile_print_json : profile_print_text)(profile, frames, &text);
    fwrite(text.data, 1, text.len, stdout);
    strbuf_free(&text);
    return true;
}

static bool profile_module(const Tool *tool, Op *module, const Texts *files, bool as_json)
{
    const DriverErrors errors = tool_errors(tool);
    FunctionRun run = {
        .func = driver_find_function(module, NULL, errors), .errors = errors, .jobs = 1};
    Profile *profile = run.func ? profile_create(run.func) : NULL;
    if (profile) run.watch = profile_watch(profile);
    bool ok = profile && run_begin(&run) && driver_ports_assign(&run.args, files) &&
              driver_ports_read(&run.args) && run_frames(&run) &&
              print_profile(profile, run.args.frames, as_json);
    run_free(&run);
    profile_free(profile);
    return ok;
}

bool tool_profile(const Tool *tool, const char *path, Str bytes, const ModelOptions *model,
                  const Texts *files, bool as_json)
{
    Context *ctx = context_create();
    dialects_register_all(ctx);
    diag_show_op(ctx, false);
    Op *module = driver_load_model(ctx, path, bytes, model);
    bool ok = module && profile_module(tool, module, files, as_json);
    diag_flush(ctx);
    if (module) op_erase(module);
    context_destroy(ctx);
    return ok;
}
