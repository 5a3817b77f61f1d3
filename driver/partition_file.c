/* Partitions as files: an object with the lists of --from, --to and --input-shape for the tools,
 * and for the host what goes in and out of the part and which nodes stand in front of it and behind.
 * Tests: lit/driver/partition.test, lit/driver/partition-invalid.test */
#include <stdlib.h>

#include "driver/internal.h"
#include "import/import.h"
#include "ir/asm/print/print.h"

enum { FORMAT = 1, MAX_FILE_BYTES = 1 << 26 };

/* Where the nodes of the file are computed; one that depends on no input may be in several. */
enum { IN_HEAD = 1, IN_PART = 2, IN_TAIL = 4 };

/* Nodes that need nothing of the part are its head, those that need its results its tail. */
static void place_nodes(const Check *check, const Partition *part, unsigned *places)
{
    const ImportReport *report = check->report;
    bool *needs_part = xcalloc(check->count + 1, sizeof *needs_part);
    for (size_t i = 0; i < check->count; i++) {
        const NodeReport *node = &report->nodes[i];
        bool varies = false;
        needs_part[i] = part->has_layer[i];
        for (uint32_t k = 0; k < node->input_count; k++) {
            uint32_t producer = report->tensors[node->inputs[k]].producer;
            needs_part[i] |= producer < i && needs_part[producer];
        }
        for (uint32_t k = 0; k < node->output_count; k++)
            varies |= report->tensors[node->outputs[k]].varies;
        if (varies) places[i] = part->has_layer[i] ? IN_PART : needs_part[i] ? IN_TAIL : IN_HEAD;
    }
    for (size_t i = check->count; i-- > 0;)
        for (uint32_t k = 0; k < report->nodes[i].input_count; k++) {
            const TensorReport *tensor = &report->tensors[report->nodes[i].inputs[k]];
            if (!tensor->varies && tensor->producer < i) places[tensor->producer] |= places[i];
        }
    free(needs_part);
}

static void add_nodes(JsonWriter *w, const char *key, const Check *check, const unsigned *places,
                      unsigned place)
{
    json_write_line(w, 2);
    json_member_array(w, key);
    for (size_t i = 0; i < check->count; i++)
        if (places[i] & place) json_write_string(w, check->layers[i].name);
    json_end_array(w);
}

static void add_names(JsonWriter *w, const char *key, const Texts *names)
{
    json_write_line(w, 2);
    json_member_array(w, key);
    for (size_t i = 0; i < names->len; i++) json_write_string(w, str_from(names->data[i]));
    json_end_array(w);
}

/* Name, element type and shape of tensors at the border; the last two are null if not known. */
static void add_tensors(JsonWriter *w, const char *key, const Check *check, const Tensors *tensors)
{
    json_write_line(w, 2);
    json_member_array(w, key);
    for (size_t i = 0; i < tensors->len; i++) {
        const TensorReport *tensor = &check->report->tensors[tensors->data[i]];
        const Type *type = tensor->type;
        bool is_known = type && type_is_tensor(type) && type_is_static(type);
        json_write_line(w, 4);
        json_begin_object(w);
        json_member_string(w, "name", tensor->name);
        json_write_key(w, STR("type"));
        if (is_known)
            json_write_string(w, str_from(type_str(check->ctx, type_elem(type))));
        else
            json_write_null(w);
        json_write_key(w, STR("shape"));
        if (is_known) json_begin_array(w);
        for (uint32_t d = 0; is_known && d < type->u.shaped.rank; d++)
            json_write_int(w, type->u.shaped.dims[d]);
        if (is_known)
            json_end_array(w);
        else
            json_write_null(w);
        json_end_object(w);
    }
    json_write_line(w, 2);
    json_end_array(w);
}

void driver_partition_print(const Check *check, const Partition *part, const char *path,
                            StrBuf *out)
{
    JsonWriter w = {.out = out};
    unsigned *places = xcalloc(check->count + 1, sizeof *places);
    place_nodes(check, part, places);
    json_begin_object(&w);
    json_write_line(&w, 2);
    json_member_int(&w, DRIVER_PARTITION_FORMAT, FORMAT);
    json_write_line(&w, 2);
    json_member_string(&w, "model", str_from(path));
    add_names(&w, DRIVER_PARTITION_FROM, &part->from);
    add_names(&w, DRIVER_PARTITION_TO, &part->to);
    add_names(&w, DRIVER_PARTITION_SHAPES, &part->input_shapes);
    json_write_line(&w, 2);
    json_member_int(&w, "macs", part->macs);
    json_member_int(&w, "total_macs", part->total_macs);
    add_tensors(&w, "inputs", check, &part->inputs);
    add_tensors(&w, "outputs", check, &part->outputs);
    add_nodes(&w, "nodes", check, places, IN_PART);
    add_nodes(&w, "head", check, places, IN_HEAD);
    add_nodes(&w, "tail", check, places, IN_TAIL);
    json_write_line(&w, 0);
    json_end_object(&w);
    strbuf_add_char(out, '\n');
    free(places);
}

/* Reads a list of texts into the arena. False: diagnosed. */
static bool read_list(const JsonFile *file, const char *key, Arena *arena, Texts *out)
{
    const json_t *list = json_object_get(file->root, key);
    if (!json_is_array(list))
        return diag_error(file->ctx, json_file_place(file, file->root, NULL),
                          "the partition has no list '%s'", key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_string(item))
            return diag_error(file->ctx, json_file_place(file, item, list),
                              "an item of '%s' is no text", key);
        *vec_push(out) = arena_copy(arena, json_string_value(item), json_string_length(item) + 1);
    }
    return true;
}

static bool read_lists(const JsonFile *file, Arena *arena, ModelOptions *out)
{
    const json_t *format =
        json_is_object(file->root) ? json_object_get(file->root, DRIVER_PARTITION_FORMAT) : NULL;
    if (!json_is_integer(format) || json_integer_value(format) != FORMAT)
        return diag_error(file->ctx, json_file_place(file, file->root, NULL),
                          "is no partition: \"%s\" is not %d; 'ming check --partition-out' writes "
                          "one",
                          DRIVER_PARTITION_FORMAT, FORMAT);
    return read_list(file, DRIVER_PARTITION_FROM, arena, &out->from) &&
           read_list(file, DRIVER_PARTITION_TO, arena, &out->to) &&
           read_list(file, DRIVER_PARTITION_SHAPES, arena, &out->input_shapes);
}

bool driver_partition_read(Context *ctx, const char *path, Arena *arena, ModelOptions *out)
{
    JsonFile file;
    if (!json_file_read(ctx, str_from(path), "partition", MAX_FILE_BYTES, &file)) return false;
    bool ok = read_lists(&file, arena, out);
    diag_flush(ctx);
    json_file_free(&file);
    return ok;
}
