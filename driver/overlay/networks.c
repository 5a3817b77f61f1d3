/* Models as networks of the sa dialect, for one array at a time: the sizes of buffers do not change them,
 * so that these are tried without converting anything again. */
#include <stdlib.h>
#include <string.h>

#include "driver/overlay/internal.h"
#include "ir/asm/print/print.h"

static const char *type_name(uint32_t bits, bool is_unsigned)
{
    static const char *const names[2][SA_MOST_PLANES + 1] = {{"", "i1", "i2", "i3"},
                                                             {"", "ui1", "ui2", "ui3"}};
    if (bits > SA_MOST_PLANES) return bits == 8 ? "i8" : "i16";
    return names[is_unsigned][bits];
}

const char *overlay_search_act_name(const SaOverlay *size)
{
    return type_name(size->act_bits, size->act_is_unsigned);
}

const char *overlay_search_weight_name(const SaOverlay *size)
{
    return type_name(size->weight_bits, false);
}

/* Of "i8" or "ui2". */
static uint32_t bits_of(const char *type)
{
    return (uint32_t)strtoul(type + strcspn(type, "0123456789"), NULL, 10);
}

void overlay_search_set_types(SaOverlay *size, const char *act, const char *weight)
{
    size->act_bits = bits_of(act);
    size->act_is_unsigned = act[0] == 'u';
    size->weight_bits = bits_of(weight);
}

void overlay_search_pipeline(const SaOverlay *size, const char *rest, StrBuf *out)
{
    strbuf_add_c(out, "builtin.module(func.func(split-batch),convert-linalg-to-sa{");
    overlay_search_print_sizes(size, ' ', out);
    strbuf_printf(out, "},merge-sa-pools%s)", rest);
}

void overlay_search_print_sizes(const SaOverlay *size, char separator, StrBuf *out)
{
    for (size_t i = 0; i < SA_OVERLAY_PARAMS; i++) {
        uint32_t value;
        memcpy(&value, (const char *)size + sa_overlay_params[i].offset, sizeof value);
        if (sa_param_is_optional(i) && value == 1) continue;
        strbuf_printf(out, "%s=%u%c", sa_overlay_params[i].name, value, separator);
    }
    strbuf_printf(out, "act=%s%cweight=%s", overlay_search_act_name(size), separator,
                  overlay_search_weight_name(size));
}

static Op *find_network(const Op *module)
{
    FOR_EACH_INNER(op, module)
        if (op->def == SA(NETWORK)) return op;
    return NULL;
}

void overlay_search_free_networks(const OverlayRequest *request, SearchNetworks *networks)
{
    for (size_t i = 0; i < request->model_count; i++)
        if (networks->modules[i]) op_erase(networks->modules[i]);
    *networks = (SearchNetworks){0};
}

bool overlay_search_convert(const OverlayRequest *request, const SaOverlay *size, bool tells,
                            SearchNetworks *out)
{
    StrBuf pipeline = {0};
    DiagHold hold;
    bool ok = true;
    *out = (SearchNetworks){0};
    overlay_search_pipeline(size, "", &pipeline);
    diag_hold_begin(&hold, request->ctx);
    for (size_t i = 0; ok && i < request->model_count; i++) {
        out->modules[i] = op_clone(request->models[i].module, NULL);
        ok = driver_run_passes(out->modules[i], strbuf_str(&pipeline));
        out->networks[i] = ok ? find_network(out->modules[i]) : NULL;
        ok = ok && out->networks[i];
    }
    diag_hold_end(&hold);
    if (!ok && tells) diag_hold_report(&hold);
    diag_hold_free(&hold);
    if (!ok) overlay_search_free_networks(request, out);
    strbuf_free(&pipeline);
    return ok;
}
