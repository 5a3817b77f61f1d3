/* Import of the bytes of an ONNX file as a module: the messages around the graph, and what all
 * sources of the importer share. The first error ends the import.
 * Tests: test/unit/import/import_test.c, lit/import */
#include "dialects/builtin/builtin.h"
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "import/import.h"
#include "import/internal.h"
#include "ir/asm/print/print.h"
#include "ir/verify/verify.h"

enum { MAX_OPSET = 25, MAX_FUNCTION_NAME = 64 };

const Ident *import_ident(Importer *im, const char *name)
{
    return ident_get(im->ctx, import_text(name));
}

const Attr *import_loc(Importer *im, Str name)
{
    return loc_name(ident_get(im->ctx, name), im->place);
}

void import_node_name(const Importer *im, const Onnx__NodeProto *node, size_t index, StrBuf *out)
{
    Str name = import_text(node->name);
    strbuf_add_str(out, im->scope->prefix);
    if (name.len > 0)
        strbuf_add_str(out, name);
    else
        strbuf_printf(out, "%s_%zu", node->op_type ? node->op_type : "node", index);
}

bool import_error(Importer *im, const char *what, Str name)
{
    StrBuf text = {0};
    strbuf_add_c(&text, what);
    strbuf_add_char(&text, ' ');
    strbuf_add_quoted(&text, name);
    strbuf_add_char(&text, ' ');
    strbuf_add_str(&text, strbuf_str(&im->why));
    diag_error(im->ctx, im->file, "%s", text.data);
    strbuf_free(&text);
    return false;
}

bool import_why_name(Importer *im, const char *before, Str name, const char *after)
{
    strbuf_add_c(&im->why, before);
    strbuf_add_quoted(&im->why, name);
    strbuf_add_c(&im->why, after);
    return false;
}

/* A tensor at which the imported part begins: an argument takes its place. */
static bool define_start(Importer *im, const Ident *name, const Value *value)
{
    if (ptrmap_has(&im->scope->values, name)) return true;
    if (!type_is_static(value->type)) {
        import_why_name(im, "defines ", name->str, ", whose shape is not known; give it");
        return strbuf_fail(&im->why, ", as in --input-shape=%.*s:1x3x32x32", STR_ARG(name->str));
    }
    Value *start = import_typed_argument(im, name, import_argument(im, name, value->type));
    if (start) ptrmap_put(&im->scope->values, name, start);
    return start != NULL;
}

bool import_define(Importer *im, const Ident *name, Value *value)
{
    if (name->str.len == 0) {
        strbuf_add_c(&im->why, "has no name");
        return false;
    }
    if (!im->scope->outer && ptrmap_has(&im->cut.starts, name))
        return define_start(im, name, value);
    if (ptrmap_has(&im->scope->values, name))
        return import_why_name(im, "defines the value ", name->str, ", which is defined before");
    ptrmap_put(&im->scope->values, name, value);
    return true;
}

/* Letters, digits and single underscores, starting with a letter: what every later stage can use as
 * an identifier. */
static void function_name(Str graph, StrBuf *out)
{
    for (size_t i = 0; i < graph.len && out->len < MAX_FUNCTION_NAME; i++) {
        char c = graph.data[i];
        bool is_digit = c >= '0' && c <= '9';
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (is_digit && out->len == 0) strbuf_add_c(out, "net_");
        if (is_digit || is_letter)
            strbuf_add_char(out, c);
        else if (out->len > 0 && out->data[out->len - 1] != '_')
            strbuf_add_char(out, '_');
    }
    while (out->len > 0 && out->data[out->len - 1] == '_') out->data[--out->len] = '\0';
    if (out->len == 0) strbuf_add_c(out, "network");
}

static bool find_opset(Importer *im, int64_t *out)
{
    bool found = false;
    for (size_t i = 0; i < im->model->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *opset = im->model->opset_import[i];
        Str domain = import_text(opset->domain);
        if (domain.len > 0 && !str_eq(domain, STR("ai.onnx"))) continue;
        found = true;
        *out = opset->version;
        if (opset->version < 1 || opset->version > MAX_OPSET)
            return diag_error(im->ctx, im->file, "opset %lld is not supported; 1 to %d are",
                              (long long)opset->version, MAX_OPSET);
    }
    return found || diag_error(im->ctx, im->file, "the model imports no opset of ONNX");
}

/* An empty module with the function; both are found again by op_parent. */
static Op *make_module(Importer *im)
{
    im->b = (Builder){.ctx = im->ctx, .loc = im->file};
    Op *module = build(&im->b, BUILTIN(MODULE), NULL, 0, NULL, 0, NULL, 0);
    im->b.block = region_add_block(op_region(module, 0));
    StrBuf name = {0};
    function_name(import_text(im->graph->name), &name);
    im->func = func_build(&im->b, strbuf_str(&name), type_function(im->ctx, NULL, 0, NULL, 0));
    strbuf_free(&name);
    im->b.block = region_add_block(op_region(im->func, 0));
    return module;
}

static Op *import_model(Importer *im, const Onnx__ModelProto *model)
{
    ImportScope scope = {.prefix = STR("")};
    im->model = model;
    im->graph = model->graph;
    if (!model->graph) {
        diag_error(im->ctx, im->file, "the model has no graph");
        return NULL;
    }
    scope.nodes = im->graph->node;
    scope.node_count = im->graph->n_node;
    im->scope = &scope;
    if (im->options->report) import_report_begin(im);
    if (!find_opset(im, &scope.opset)) return NULL;
    Op *module = make_module(im);
    bool ok = import_graph(im) && verify_op(module);
    ptrmap_free(&scope.values);
    if (ok) return module;
    op_erase(module);
    return NULL;
}

static void importer_free(Importer *im)
{
    ptrmap_free(&im->shapes);
    ptrmap_free(&im->types);
    ptrmap_free(&im->arguments);
    ptrmap_free(&im->infos);
    ptrmap_free(&im->unknown);
    ptrmap_free(&im->kept);
    ptrmap_free(&im->cut.names);
    ptrmap_free(&im->cut.starts);
    vec_free(&im->cut.ends);
    arena_free(&im->arena);
    strbuf_free(&im->why);
    vec_free(&im->arg_attrs);
}

static void *take(void *user, size_t size)
{
    (void)user;
    return xmalloc(size);
}

static void give(void *user, void *memory)
{
    (void)user;
    free_ptr(&memory);
}

Op *import_onnx(Context *ctx, Str bytes, Str file_name, const ImportOptions *options)
{
    static const ImportOptions no_options = {.folder = {NULL, 0}};
    Importer im = {.ctx = ctx,
                   .options = options ? options : &no_options,
                   .file = loc_file(ctx, ident_get(ctx, file_name), 0, 0)};
    im.place = im.file;
    arena_init(&im.arena);
    Op *module = NULL;
    ProtobufCAllocator allocator = {.alloc = take, .free = give};
    if (!import_wire_check(bytes, &onnx__model_proto__descriptor, &im.why)) {
        diag_error(ctx, im.file, "not an ONNX file: %s", im.why.data);
    } else {
        Onnx__ModelProto *model =
            onnx__model_proto__unpack(&allocator, bytes.len, (const uint8_t *)bytes.data);
        if (model)
            module = import_model(&im, model);
        else
            diag_error(ctx, im.file, "not an ONNX file");
        onnx__model_proto__free_unpacked(model, &allocator);
    }
    diag_flush(ctx);
    importer_free(&im);
    return module;
}
